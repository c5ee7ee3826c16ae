#include "wal/append_places.h"

#include <algorithm>

namespace zenfs {

bool AppendPlaces::Take(DeviceOffset at, std::uint64_t bytes, DeviceOffset reserved_to) {
  const Range range{at, at + bytes};
  if (range.from < from_ || range.to > reserved_to) return false;
  const auto next = std::ranges::find_if(taken_, [&](const Range& other) { return other.to > range.from; });
  if (next != taken_.end() && next->from < range.to) return false;
  taken_.insert(next, range);
  std::size_t joined = 0;
  for (; joined < taken_.size() && taken_[joined].from == from_; ++joined) from_ = taken_[joined].to;
  taken_.erase(taken_.begin(), taken_.begin() + static_cast<std::ptrdiff_t>(joined));
  return true;
}

}  // namespace zenfs
