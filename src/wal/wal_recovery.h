// Recovery of the log: what a mount, a reader, a check and a repair find in the log zones after a crash.
//
//   ScanLogZone   zone -> frames: those whose CRC fits the allocation of the zone
//   ReplayLog     record of a file, frames of the file -> places of its bytes, open window, lost bytes
//   EpochCheck    frames -> are commits of the metadata log lost?
//
// A reader beside a writer repeats the first two for what is new (wal/log_tails.h). A mount calls them from
// Recovery::ReplayLogs (volume/mount/recovery.cc).
//
// Threads: functions on values, no state; ZoneWindow: one at a time.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/aligned_buffer.h"
#include "base/uuid.h"
#include "device/read_or_zeros.h"
#include "device/zoned_device.h"
#include "format/frame.h"
#include "model/edit.h"
#include "model/file_record.h"
#include "wal/frame_read.h"

namespace zenfs {

// --- scan ---

struct ScannedFrame {
  std::uint64_t owner = 0;
  std::uint64_t epoch = 0;
  std::uint64_t sequence = 0;
  std::uint64_t file_offset = 0;
  std::uint64_t stable_sequence = 0;
  std::uint16_t time = 0;    // FrameHeader::time
  std::uint64_t length = 0;  // payload
  DeviceOffset payload;
  std::uint64_t device_bytes = 0;
  ZoneId zone;
  bool in_sync_block = false;  // its writer may replace it (wal/zrwa_sync_blocks.h)
};

// Bytes behind the write pointer of a log zone that may hold frames: 0 unless it is a sync zone (wal/zrwa_sync_blocks.h). The
// mark in the metadata decides. The report decides too, for metadata that a repair has rebuilt without the mark.
[[nodiscard]] std::uint64_t SyncBytes(const Geometry& geometry, const LogZone& zone, const ZoneInfo& info);
// kNotSupported if a sync zone may hold frames that this device cannot read.
[[nodiscard]] Status CheckSyncZonesReadable(const ZonedDevice& device,
                                            const std::map<ZoneId, LogZone>& zones);

// True if a writer can have made the frame: its sequence is not 0, its stable_sequence is lower, and no
// number exceeds the limit of the format.
[[nodiscard]] bool IsPossible(const ScannedFrame& frame);
// True if the numbers of the frame are also far below that limit. Only then may conclusions rest on this
// frame alone, or new numbers continue from its numbers.
[[nodiscard]] bool IsCredible(const ScannedFrame& frame);

// Finds the frames in an allocated log zone. All blocks that are not a frame, including unreadable ones, are skipped one by one.
// Passes the log-data frames of `zone` to `found`, in the order of their places; those in sync blocks too. Frames of other kinds,
// from earlier versions, are skipped. `info` is the device's report of the zone. There are no errors: a
// zone that cannot be read has no frames. The scan begins at byte `from` of the zone and returns the end of
// the last frame found (or `from`). A caller that passes this value to the next scan, when the zone has
// grown, finds each frame once. `passed_over`, if given, gets each block that is not a frame: its byte in
// the zone and the result of the parser, which has the header as read if the frame is damaged. Of many known zeros
// (ZonedDevice::KnownZeros) it gets only the first block.
std::uint64_t ScanLogZone(ZonedDevice& device, const Uuid& volume, const LogZone& zone, const ZoneInfo& info,
                          const std::function<void(const ScannedFrame&)>& found, std::uint64_t from = 0,
                          const std::function<void(std::uint64_t, const ParsedFrame&)>& passed_over = {});

// --- replay ---

// Lost bytes [from, to) of a framed file.
struct LogDamage {
  FileId file;
  std::uint64_t from = 0;
  std::uint64_t to = 0;
  std::uint64_t sequence = 0;  // of a frame that had some of these bytes
  // The end of the last frame found before them, else the start of the next one; none if no frame was
  // found.
  std::optional<DeviceOffset> near;

  friend bool operator==(const LogDamage&, const LogDamage&) = default;
};
// One sentence. `file`: the name of the file for users, "file 7 (/a.log)".
[[nodiscard]] std::string DamageText(const LogDamage& damage, std::string_view file);
// One sentence about a log zone that is offline. `device`: name of the device.
[[nodiscard]] std::string OfflineLogText(std::string_view device, ZoneId zone);

struct ReplayedLog {
  FrameIndex index;                       // extents, then frames
  std::map<ZoneId, std::uint64_t> zones;  // device bytes of this file's frames, by zone
  std::optional<LogWindow> open_window;   // frames behind the last seal; a read-write mount seals them
  std::vector<LogDamage> damage;          // reads of these bytes fail
  // Time of the last append, from the last frame of the open window, else from the record. Seconds since
  // 1970.
  std::uint64_t mtime_seconds = 0;
};

// Rebuilds a framed file from its record and the frames that a scan found.
//
// Windows and epochs decide which frames count (model/file_record.h), never their place. Within a window,
// frames that overlap agree in the bytes they share, so either may be taken. They overlap if a failed write
// was repeated and split in another way.
//
// `frames`: all frames whose owner is the file, in any order. Frames that no writer can have made are
// ignored. `epoch`: the committed epoch of the volume.
[[nodiscard]] ReplayedLog ReplayLog(const FileRecord& record, std::uint64_t epoch,
                                    std::vector<ScannedFrame> frames);

// --- epoch check ---

// Detects lost commits: the metadata log commits an epoch before the first frame of that epoch is written.
// So a frame of a later epoch than the metadata log knows proves that commits are lost. This finds even the
// loss of the last commit, which alone looks like a commit that a power loss interrupted. A value.
class EpochCheck {
 public:
  void See(const ScannedFrame& frame) {
    if (IsCredible(frame) && frame.epoch > epoch_) {
      epoch_ = frame.epoch;
      zone_ = frame.zone;
      place_ = frame.payload;
    }
  }

  // True if a frame has a later epoch than `known`, the epoch of the metadata log.
  bool SawBehind(std::uint64_t known) const { return epoch_ > known; }
  // One sentence. Call this only if SawBehind.
  std::string Text(std::uint64_t known) const;
  // Zone and place of the first frame seen of the latest epoch.
  ZoneId zone() const { return zone_; }
  DeviceOffset place() const { return place_; }

 private:
  std::uint64_t epoch_ = 0;
  ZoneId zone_;
  DeviceOffset place_;
};

// --- reading ahead ---

// A view of the written part of one zone that moves forward, for ScanLogZone. It reads ahead: several pieces are in flight
// while the caller looks at the one before, so a scan costs the time of the device or of the caller, whichever is longer. It
// begins with one small piece and reads more at once as the caller goes on, up to the next known zeros, so it costs little
// where there is little to see.
//
// A block that cannot be read has random bytes here, so that no frame with it is valid (device-assumptions 1).
//
// Ownership: the device outlives it.
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
