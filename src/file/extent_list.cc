#include "file/extent_list.h"

#include <algorithm>

#include "base/assert.h"

namespace zenfs {

void AppendExtent(std::vector<Extent>& extents, const Extent& extent, const Geometry& geometry) {
  ZENFS_ASSERT(extent.file_offset == ExtentsEnd(extents) && extent.length != 0);
  if (!extents.empty()) {
    Extent& last = extents.back();
    if (last.place + last.length == extent.place && IsMultiple(last.length, geometry.block_size) &&
        geometry.ZoneOf(last.place) == geometry.ZoneOf(extent.place) &&
        last.crc.has_value() == extent.crc.has_value()) {
      if (last.crc) last.crc = Crc32cWhole(*last.crc, *extent.crc, extent.length);
      last.length += extent.length;
      return;
    }
  }
  extents.push_back(extent);
}

void CutExtents(std::vector<Extent>& extents, std::uint64_t end, KnownCrc cut_crc) {
  while (!extents.empty() && extents.back().file_offset >= end) extents.pop_back();
  if (extents.empty() || extents.back().end() <= end) return;
  extents.back().length = end - extents.back().file_offset;
  extents.back().crc = cut_crc;
}

std::vector<Extent> ClipExtents(const std::vector<Extent>& extents, std::uint64_t from, std::uint64_t to) {
  ZENFS_ASSERT(from <= to);
  std::vector<Extent> part;
  auto it = FindExtent(extents, from);
  for (; it != extents.end() && it->file_offset < to; ++it) {
    Extent piece = *it;
    if (piece.file_offset < from) {
      const std::uint64_t skipped = from - piece.file_offset;
      piece = {from, piece.place + skipped, piece.length - skipped};
    }
    if (piece.end() > to) {
      piece.length = to - piece.file_offset;
      piece.crc.reset();
    }
    part.push_back(piece);
  }
  return part;
}

}  // namespace zenfs
