// The places of the bytes of one framed file (pieces, in a FrameIndex), and reads of these bytes from the device.
//
//   ReadPieces      bytes as they are
//   ReadFrames      bytes of frames; verifies each frame as a whole
//   ReadFrame       one whole frame, verified
//   ReadSyncBlock   one whole frame in a sync block, verified; its writer may replace it meanwhile
//
// Adjacent frames are read with one command.
//
// Threads: the reads have no state. FrameIndex has no lock: its owner guards it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <span>
#include <utility>
#include <vector>

#include "base/aligned_buffer.h"
#include "base/bytes.h"
#include "base/status.h"
#include "device/zoned_device.h"
#include "format/frame.h"
#include "model/file_record.h"
#include "model/units.h"

namespace zenfs {

// `sequence` 0: an extent. `damaged`: the frame cannot be found or read; its bytes are lost.
struct Piece {
  std::uint64_t file_offset = 0;
  std::uint64_t length = 0;
  DeviceOffset place;
  std::uint64_t sequence = 0;
  std::uint64_t frame_bytes = 0;  // device bytes of the whole frame, with header and padding
  bool damaged = false;
  bool in_sync_block = false;  // ScannedFrame::in_sync_block
  std::uint64_t skipped = 0;   // payload bytes of the frame in front of `place`; another frame has them too

  std::uint64_t end() const { return file_offset + length; }
};

// Pieces in file order, found by binary search.
class FrameIndex {
 public:
  // Adds a piece that begins at end().
  void Append(const Piece& piece) { pieces_.push_back(piece); }
  // Removes all bytes from `offset` on; shortens the piece that holds it.
  void CutAt(std::uint64_t offset);
  // The bytes of piece `i` are now in another frame. The range of bytes stays the same.
  void Replace(std::size_t i, const Piece& piece) { pieces_[i] = piece; }
  // Replaces all pieces that end at or before `offset` (a piece boundary) by `pieces`.
  void ReplaceBelow(std::uint64_t offset, std::vector<Piece> pieces);

  // Returns the index of the piece that holds `offset`, or size() if none does. O(log n). Tests count the
  // calls of `compare`.
  template <typename Compare = std::ranges::less>
  std::size_t Find(std::uint64_t offset, Compare compare = {}) const {
    if (offset >= end()) return pieces_.size();
    const auto after = std::ranges::upper_bound(pieces_, offset, std::move(compare), &Piece::file_offset);
    return static_cast<std::size_t>(after - pieces_.begin()) - 1;
  }
  const Piece& operator[](std::size_t i) const { return pieces_[i]; }
  std::size_t size() const { return pieces_.size(); }
  std::uint64_t end() const { return pieces_.empty() ? 0 : pieces_.back().end(); }
  const std::vector<Piece>& pieces() const { return pieces_; }

 private:
  std::vector<Piece> pieces_;
};

struct PieceRead {
  DeviceOffset place;  // need not be on a block boundary; all bytes are in one zone
  ByteSpan into;
};
// Fills `parts`, which are pieces of file `id` in file order. Errors: those of the reads.
[[nodiscard]] Status ReadPieces(ZonedDevice& device, FileId id, std::span<const PieceRead> parts);

// Bytes of a frame to read.
struct FrameRead {
  Piece piece;         // not damaged, not in a sync block
  FrameSeed seed;      // of the zone of the piece
  std::uint64_t from;  // file offset, in the piece
  ByteSpan into;       // ends in the piece
};
// Fills `parts`, which are frames of file `owner` in file order. Reads and verifies the whole frames, adjacent ones with one
// command. Errors: those of the reads; kCorruption, with zone and byte, if a frame is not there or not intact.
[[nodiscard]] Status ReadFrames(ZonedDevice& device, FileId owner, std::span<const FrameRead> parts);

// Reads the frame of `piece`, which belongs to file `owner`, into `buffer`: header and payload. `seed`: of its zone. `buffer` is
// empty and has room for piece.frame_bytes. Errors: those of the read; kCorruption if the frame is not there, or not intact.
[[nodiscard]] Status ReadFrame(ZonedDevice& device, const FrameSeed& seed, FileId owner, const Piece& piece,
                               AlignedBuffer& buffer);

// The same for a frame in a sync block (wal/zrwa_sync_blocks.h). The block may hold a later version of the frame, which has the
// bytes of `piece` too. Returns the header of what it holds. Errors: those of the read; kBusy if the block does not hold the frame.
[[nodiscard]] Result<FrameHeader> ReadSyncBlock(ZonedDevice& device, const FrameSeed& seed, FileId owner,
                                                const Piece& piece, AlignedBuffer& buffer);

}  // namespace zenfs
