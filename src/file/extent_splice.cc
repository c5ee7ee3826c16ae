#include "file/extent_splice.h"

#include <algorithm>
#include <span>

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
