// The extents of a file that changed while reclaim moved what is committed of it.
#pragma once

#include <optional>
#include <vector>

#include "file/extent_list.h"

namespace zenfs {

// Where a file's extents begin to differ from the committed ones.
struct ExtentChange {
  std::uint64_t from = ~std::uint64_t{0};  // file offset; all ones: nowhere
  // What of the file's last extent in front of it stays, as it was before anything was written behind it: it ends at
  // `from`. Nothing if `from` is 0.
  std::optional<Extent> before;

  bool any() const { return from != ~std::uint64_t{0}; }
};

// `moved`, the committed extents at their new places, up to `change`, and `own`, the file's, from there on. Both hold the
// same bytes in front of it, divided anywhere. What `change` divides of either gets its checksum from those of what
// stands before in both lists; nothing is read. It has none if one of these is not known.
struct SplicedExtents {
  std::vector<Extent> all;
  std::optional<Extent> before;  // for the ExtentChange as it is now
};
[[nodiscard]] SplicedExtents SpliceExtents(const std::vector<Extent>& moved, const std::vector<Extent>& own,
                                           const ExtentChange& change, const Geometry& geometry);

}  // namespace zenfs
