// The places of the bytes of one framed file: pieces in file order, found by binary search.
//
// Threads: no lock; the lock of the file guards it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

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

}  // namespace zenfs
