#include "file/extent_list.h"

#include <algorithm>
#include <span>

#include "base/assert.h"
#include "base/crc32c.h"

namespace zenfs {
namespace {

// Returns the checksum of the bytes of all `extents`.
KnownCrc CrcOfAll(std::span<const Extent> extents) {
  std::uint32_t crc = 0;
  for (const Extent& extent : extents) {
    if (!extent.crc) return std::nullopt;
    crc = Crc32cWhole(crc, *extent.crc, extent.length);
  }
  return crc;
}

KnownCrc CrcOfBack(KnownCrc whole, KnownCrc front, std::uint64_t back_length) {
  if (!whole || !front) return std::nullopt;
  return Crc32cBack(*whole, *front, back_length);
}

// Returns the checksum of the file's bytes in front of the change.
KnownCrc CrcBefore(const std::vector<Extent>& own, const Extent& last) {
  std::vector<Extent> before(own.begin(), FindExtent(own, last.file_offset));
  before.push_back(last);
  return CrcOfAll(before);
}

}  // namespace

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

SplicedExtents SpliceExtents(const std::vector<Extent>& moved, const std::vector<Extent>& own,
                             const ExtentChange& change, const Geometry& geometry) {
  SplicedExtents spliced{.all = ClipExtents(moved, 0, change.from), .before = {}};
  if (change.before && !spliced.all.empty() && !spliced.all.back().crc) {
    Extent& last = spliced.all.back();
    const std::span<const Extent> in_front(spliced.all.begin(), spliced.all.end() - 1);
    last.crc = CrcOfBack(CrcBefore(own, *change.before), CrcOfAll(in_front), last.length);
  }
  if (!spliced.all.empty()) spliced.before = spliced.all.back();
  for (Extent extent : ClipExtents(own, change.from, ExtentsEnd(own))) {
    // An extent that began in front of the change was cut here.
    const auto whole = FindExtent(own, extent.file_offset);
    if (whole->file_offset < extent.file_offset && change.before)
      extent.crc = CrcOfBack(whole->crc, change.before->crc, extent.length);
    AppendExtent(spliced.all, extent, geometry);
  }
  return spliced;
}

}  // namespace zenfs
