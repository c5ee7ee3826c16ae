// Merges the extents of an open file that has uncommitted changes with its committed extents, which reclaim moved.
#pragma once

#include <optional>
#include <vector>

#include "file/extent_list.h"

namespace zenfs {

// The file offset from which on the extents of a file differ from the committed ones.
struct ExtentChange {
  std::uint64_t from = ~std::uint64_t{0};  // all ones: no difference
  // The file's last extent in front of `from`. It ends at `from`, even if later writes made the extent longer. Empty if
  // `from` is 0.
  std::optional<Extent> before;

  bool any() const { return from != ~std::uint64_t{0}; }
};

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
