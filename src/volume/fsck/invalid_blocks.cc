#include "volume/fsck/invalid_blocks.h"

#include <algorithm>

namespace zenfs {

void InvalidBlocks::Add(Place place) {
  const bool counts = behind_frame_ || first_.empty() || first_.back().zone != place.zone;
  behind_frame_ = false;
  if (counts) first_.push_back(place);
}

void InvalidBlocks::Add(Place place, const FrameHeader& header) {
  Add(place);
  if (headers_.size() < kHeadersKept) headers_.try_emplace({header.owner, header.file_offset}, place);
}

std::optional<InvalidBlocks::Place> InvalidBlocks::Claiming(FileId owner, std::uint64_t from,
                                                            std::uint64_t to) const {
  const auto found = headers_.lower_bound({owner.value, from});
  if (found == headers_.end() || found->first >= std::pair(owner.value, to)) return std::nullopt;
  return found->second;
}

std::optional<InvalidBlocks::Place> InvalidBlocks::Behind(Place place) const {
  const auto found = std::ranges::upper_bound(first_, place);
  if (found == first_.end() || found->zone != place.zone) return std::nullopt;
  return *found;
}

std::optional<InvalidBlocks::Place> InvalidBlocks::First() const {
  return first_.empty() ? std::nullopt : std::optional(first_.front());
}

}  // namespace zenfs
