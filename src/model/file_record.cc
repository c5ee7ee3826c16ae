#include "model/file_record.h"

#include <algorithm>

namespace zenfs {

std::size_t FileRecord::FindExtent(std::uint64_t offset) const {
  const auto behind = std::ranges::upper_bound(extents, offset, {}, &Extent::file_offset);
  if (behind == extents.begin()) return extents.size();
  const auto candidate = behind - 1;
  return offset < candidate->end() ? static_cast<std::size_t>(candidate - extents.begin()) : extents.size();
}

}  // namespace zenfs
