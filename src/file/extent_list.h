// Extents of a file in order, without gaps: cutting, joining, picking a part. Pure functions.
#pragma once

#include <algorithm>
#include <functional>
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

// The extent that holds file offset `offset`; behind the end: the end. O(log n); `compare` is for tests that count.
template <typename Extents, typename Compare = std::ranges::less>
auto FindExtent(const Extents& extents, std::uint64_t offset, Compare compare = {}) {
  return std::ranges::upper_bound(extents, offset, std::move(compare), &Extent::end);
}

// Adds `extent`, which begins where the list ends; joins it with the last one if it continues that on the
// device, within one zone, and checksums are known of both or of none.
void AppendExtent(std::vector<Extent>& extents, const Extent& extent, const Geometry& geometry);

// Drops what lies at `end` and behind. An extent that is cut has the checksum `cut_crc` from then on.
void CutExtents(std::vector<Extent>& extents, std::uint64_t end, KnownCrc cut_crc = std::nullopt);

// The part that covers file bytes [from, to), cut to these bounds; what is cut has no checksum. `from` is a multiple of
// the block size.
[[nodiscard]] std::vector<Extent> ClipExtents(const std::vector<Extent>& extents, std::uint64_t from,
                                              std::uint64_t to);

}  // namespace zenfs
