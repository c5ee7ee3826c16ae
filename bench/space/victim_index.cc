#include "victim_index.h"

#include <algorithm>

namespace zenfs::space {
namespace {

bool MayBeVictim(const ZoneState& state) {
  return state.phase == ZonePhase::kFull && state.live != 0 && state.live < state.capacity &&
         state.uncommitted == 0;
}

}  // namespace

void VictimIndex::Update(ZoneId zone, const ZoneState& state) {
  Place place{.filled = state.filled};
  if (MayBeVictim(state)) {
    place.share = static_cast<std::int32_t>(
        std::min<std::uint64_t>(state.live / (state.capacity / kShares + 1), kShares - 1));
  }
  Place& known = places_[zone.value];
  if (known.share == place.share && known.filled == place.filled) return;
  if (known.share >= 0) shares_[static_cast<std::size_t>(known.share)].erase(Key(known.filled, zone.value));
  if (place.share >= 0) shares_[static_cast<std::size_t>(place.share)].insert(Key(place.filled, zone.value));
  known = place;
}

void VictimIndex::AppendCandidates(std::vector<ZoneId>& zones) const {
  for (const auto& share : shares_) {
    if (!share.empty()) zones.push_back(ZoneId(share.begin()->second));
  }
}

}  // namespace zenfs::space
