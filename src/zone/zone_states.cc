#include "zone/zone_states.h"

#include <algorithm>

namespace zenfs {

void ZoneTable::Count(const ZoneState& state, int sign) {
  // Unsigned arithmetic wraps: adding the negated value subtracts.
  const auto add = [sign](std::uint64_t& sum, std::uint64_t bytes) {
    ZENFS_ASSERT(sign > 0 || sum >= bytes);
    sum += sign > 0 ? bytes : 0 - bytes;
  };
  const std::uint64_t capacity = state.capacity;
  const std::uint64_t live = std::min(state.live, capacity);
  switch (state.phase) {
    case ZonePhase::kMetadata: add(totals_.metadata, capacity); return;
    case ZonePhase::kEmpty:
    case ZonePhase::kDead: add(state.for_log ? totals_.log_pool : totals_.pool, capacity); return;
    case ZonePhase::kLog: add(totals_.log, capacity - live); break;
    case ZonePhase::kActive: {
      const std::uint64_t written = std::max(std::min(state.written, capacity), live);
      add(totals_.garbage, written - live);
      add(totals_.room, capacity - written);
      break;
    }
    case ZonePhase::kFull:
      add(totals_.garbage, capacity - live);
      if (IsNearlyDead(live, capacity) && state.uncommitted == 0 && !state.distrusted)
        add(totals_.nearly_dead, 1);
      if (live == 0 && state.pins != 0 && state.uncommitted < capacity) add(totals_.pinned_dead, 1);
      break;
    case ZonePhase::kConventional: return;
    case ZonePhase::kUnusable:
    case ZonePhase::kRetired: add(totals_.lost, capacity - live); break;
  }
  add(totals_.live, live);
}

std::string_view PhaseName(ZonePhase phase) {
  switch (phase) {
    case ZonePhase::kUnusable: return "unusable";
    case ZonePhase::kConventional: return "conventional";
    case ZonePhase::kMetadata: return "metadata";
    case ZonePhase::kLog: return "log";
    case ZonePhase::kEmpty: return "empty";
    case ZonePhase::kActive: return "active";
    case ZonePhase::kFull: return "full";
    case ZonePhase::kDead: return "dead";
    case ZonePhase::kRetired: return "retired";
  }
  return "unknown";
}

}  // namespace zenfs
