#include "wal/frame_index.h"

#include <algorithm>

namespace zenfs {

void FrameIndex::CutAt(std::uint64_t offset) {
  while (!pieces_.empty() && pieces_.back().file_offset >= offset) pieces_.pop_back();
  if (!pieces_.empty() && pieces_.back().end() > offset) {
    pieces_.back().length = offset - pieces_.back().file_offset;
  }
}

void FrameIndex::ReplaceBelow(std::uint64_t offset, std::vector<Piece> pieces) {
  const auto keep = std::ranges::find_if(pieces_, [&](const Piece& p) { return p.end() > offset; });
  pieces.insert(pieces.end(), keep, pieces_.end());
  pieces_ = std::move(pieces);
}

}  // namespace zenfs
