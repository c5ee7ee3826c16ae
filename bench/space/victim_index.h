// The zones among which the best victim is, so that a search does not look at all zones of a large device.
//
// ZenFS looks at every zone for each victim (reclaim/reclaimer.cc). Among full zones with as many live bytes the oldest one
// is the best victim. So this keeps zones by their live bytes, in kShares shares of a zone's capacity, and offers the oldest
// zone of each share. The victim's live bytes differ from the best choice by less than a share.
//
// Cost: Update is O(log zones), Candidates O(kShares). Threads: for one thread.
#pragma once

#include <array>
#include <cstdint>
#include <set>
#include <utility>
#include <vector>

#include "zone/zone_states.h"

namespace zenfs::space {

class VictimIndex {
 public:
  static constexpr std::size_t kShares = 512;

  explicit VictimIndex(std::size_t zones) : places_(zones) {}

  // Call this after each change of the zone.
  void Update(ZoneId zone, const ZoneState& state);
  // Adds full zones with live and dead bytes.
  void AppendCandidates(std::vector<ZoneId>& zones) const;

 private:
  using Key = std::pair<std::uint64_t, std::uint32_t>;  // when the zone was filled, its number
  struct Place {
    std::int32_t share = -1;  // none
    std::uint64_t filled = 0;
  };

  std::array<std::set<Key>, kShares> shares_;
  std::vector<Place> places_;
};

}  // namespace zenfs::space
