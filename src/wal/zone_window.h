// A view of the written part of one zone that moves forward. It reads ahead: several pieces are in flight while the caller
// looks at the one before, so a scan costs the time of the device or of the caller, whichever is longer. It begins with one small
// piece and reads more at once as the caller goes on, up to the next known zeros, so it costs little where there is little to see.
//
// A block that cannot be read has random bytes here, so that no frame with it is valid (device-assumptions 1).
//
// Ownership: the device outlives it. Threads: one at a time.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/aligned_buffer.h"
#include "device/read_or_zeros.h"
#include "device/zoned_device.h"

namespace zenfs {

class ZoneWindow {
 public:
  // Bytes [from, end) of the zone that begins at `start`. `from` and `end` are multiples of the block size.
  ZoneWindow(ZonedDevice& device, DeviceOffset start, std::uint64_t from, std::uint64_t end);
  ~ZoneWindow();
  ZoneWindow(const ZoneWindow&) = delete;
  ZoneWindow& operator=(const ZoneWindow&) = delete;

  // Returns at least `needed` bytes from byte `at` on, or all bytes up to the end: none if that has come nearer than `at`. `at` is
  // never lower than in the call before; it may be far behind all that was shown. The view is valid until the next call.
  ByteView From(std::uint64_t at, std::uint64_t needed);
  // Comes nearer if the zone can't be read any more.
  std::uint64_t end() const { return end_; }

 private:
  static constexpr std::uint64_t kPieceBytes = 1 << 20;
  static constexpr std::size_t kPieces = 4;

  struct Piece {
    AlignedBuffer bytes;
    std::uint64_t begin = 0;
    IoRequest request;
    bool asked = false;  // for bytes that are not in the window yet
    bool read = false;
  };

  std::uint64_t window_end() const { return begin_ + buffer_.size(); }
  // Drops the bytes before `at` and adds the next piece. Precondition: `at` is in the window or its end.
  void Extend(std::uint64_t at);
  // Starts to read the next pieces into those of the first `count` that are free, in order. Known zeros are not read ahead, because
  // the caller passes over them: only for the first piece, if the window `wants` it.
  void ReadAhead(std::size_t count, bool wants);
  void StartRead(Piece& piece);
  // Waits for at least so many of the pieces in flight.
  void Collect(std::size_t min_count);
  // The read of the piece has ended. After an error, reads its blocks one by one.
  void End(Piece& piece, const Status& status);

  ZonedDevice& device_;
  const DeviceOffset start_;
  std::uint64_t end_;
  std::uint64_t begin_;  // of the window
  AlignedBuffer buffer_;
  std::uint64_t ahead_;  // end of the pieces that were asked for
  bool extended_ = false;
  std::uint64_t next_bytes_ = kScanStepBytes;  // of the next piece
  std::array<Piece, kPieces> pieces_;
  std::size_t oldest_ = 0;  // the piece behind the window
  std::vector<IoRequest*> done_;
  // Null if one piece is all. The last member, because its destructor waits for reads into the pieces.
  std::unique_ptr<IoQueue> queue_;
};

}  // namespace zenfs
