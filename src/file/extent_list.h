// Lists of extents in file order without gaps: searches, appends, cuts and splices. Pure functions.
#pragma once

#include <algorithm>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "device/geometry.h"
#include "model/file_record.h"

namespace zenfs {

// File offset behind the last extent.
inline std::uint64_t ExtentsEnd(const std::vector<Extent>& extents) {
  return extents.empty() ? 0 : extents.back().end();
}

// Returns the extent that contains file offset `offset`, or end() if there is none. Costs O(log n). Tests count the
// calls of `compare`.
template <typename Extents, typename Compare = std::ranges::less>
auto FindExtent(const Extents& extents, std::uint64_t offset, Compare compare = {}) {
  return std::ranges::upper_bound(extents, offset, std::move(compare), &Extent::end);
}

// Calls `visit(place, offset, length)` for each piece of the file's bytes [offset, offset + length) that lies in one extent.
// Returns the end of the last one before a gap.
template <typename Extents, typename Visit>
std::uint64_t ForEachPiece(const Extents& extents, std::uint64_t offset, std::uint64_t length,
                           const Visit& visit) {
  const std::uint64_t end = offset + length;
  for (auto it = FindExtent(extents, offset); offset < end; ++it) {
    if (it == extents.end() || it->file_offset > offset) break;
    const std::uint64_t n = std::min(end, it->end()) - offset;
    visit(it->place + (offset - it->file_offset), offset, n);
    offset += n;
  }
  return offset;
}

// Appends `extent`, which begins at the end of the list. Joins it with the last extent if both are adjacent on the
// device, are in one zone, and either both have checksums or none has.
void AppendExtent(std::vector<Extent>& extents, const Extent& extent, const Geometry& geometry);

// Removes all bytes from file offset `end` on. An extent that is cut gets the checksum `cut_crc`.
void CutExtents(std::vector<Extent>& extents, std::uint64_t end, KnownCrc cut_crc = std::nullopt);

// Returns the extents of file bytes [from, to). Extents that are cut at a bound have no checksum. `from` is a
// multiple of the block size.
[[nodiscard]] std::vector<Extent> ClipExtents(const std::vector<Extent>& extents, std::uint64_t from,
                                              std::uint64_t to);

// The file offset from which on the extents of a file differ from the committed ones.
struct ExtentChange {
  std::uint64_t from = ~std::uint64_t{0};  // all ones: no difference
  // The file's last extent in front of `from`. It ends at `from`, even if later writes made the extent longer. Empty if
  // `from` is 0.
  std::optional<Extent> before;

  bool any() const { return from != ~std::uint64_t{0}; }
};

// Merges the extents of an open file that has uncommitted changes with its committed extents, which reclaim moved.
// Returns `moved`, the committed extents at their new places, up to `change.from`, and `own`, the extents of the
// file, from there on. Both lists contain the same bytes up to `change.from`, but may be divided differently. The
// checksum of an extent that is cut at `change.from` is calculated from the extents in front of it in both lists,
// without reads. It has none if one of these checksums is unknown.
struct SplicedExtents {
  std::vector<Extent> all;
  std::optional<Extent> before;  // the new value of ExtentChange::before
};
[[nodiscard]] SplicedExtents SpliceExtents(const std::vector<Extent>& moved, const std::vector<Extent>& own,
                                           const ExtentChange& change, const Geometry& geometry);

}  // namespace zenfs
