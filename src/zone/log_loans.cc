#include "zone/log_loans.h"

#include "base/assert.h"

namespace zenfs {

void LogLoans::Adopt(ZoneId zone) {
  if (!parts_.table.Has(zone)) return;
  parts_.table.Change(zone, [&](ZoneState& z) {
    parts_.SlotsOf(zone).Free(z);
    z.phase = ZonePhase::kLog;
  });
  parts_.EmptyOf(zone).CountLogZone();
}

TakenZone LogLoans::Take(LogLoan loan) {
  const bool borrow = loan == LogLoan::kBorrow;
  const bool apart = parts_.log_apart();
  EmptyZones& empty = apart ? parts_.log_empty : parts_.empty;
  if (loan == LogLoan::kAhead && empty.log_share_reduced()) return {.outcome = TakeOutcome::kWait};
  const SlotBudget& slots = apart ? parts_.log_slots : parts_.slots;
  // Zones that an earlier mount left active use the log's slot until they are reset or finished.
  if (slots.exceeded() && !parts_.jobs.idle()) return {.outcome = TakeOutcome::kWait};
  const bool there_is_one = borrow ? empty.HasForMount() : !empty.empty();
  const bool spares_headroom = borrow || apart || parts_.room.SparesHeadroomForLog();
  if (!there_is_one || !spares_headroom) {
    if (apart) return {.outcome = parts_.reclaim.AfterLogReclaim()};
    if (empty.pending_resets() == 0) phases_.ResetUnusedActives();
    return {.outcome = parts_.reclaim.AfterReclaim(WritePurpose::kData)};
  }
  const ZoneId zone = Lend(empty);
  ZENFS_ASSERT(borrow || apart || parts_.room.HeadroomIsFree());
  ZENFS_ASSERT(parts_.Sound());
  return {TakeOutcome::kTaken, zone, 0, parts_.table[zone].capacity, {}};
}

std::vector<ZoneId> LogLoans::TakeMore(std::size_t most) {
  std::vector<ZoneId> zones;
  EmptyZones& empty = parts_.empty;
  while (zones.size() < most && !empty.empty() && parts_.room.SparesHeadroomForLog() &&
         (empty.kept_for_log() != 0 || phases_.HasRoom())) {
    zones.push_back(Lend(empty));
    ZENFS_ASSERT(parts_.room.HeadroomIsFree());
  }
  ZENFS_ASSERT(parts_.Sound());
  return zones;
}

ZoneId LogLoans::Lend(EmptyZones& empty) {
  const ZoneId zone = empty.Allocate();
  parts_.table.Change(zone, [](ZoneState& z) { z.phase = ZonePhase::kLog; });
  empty.CountLogZone();
  return zone;
}

void LogLoans::Return(ZoneId zone) {
  if (!parts_.table.Has(zone) || parts_.table[zone].phase != ZonePhase::kLog) return;
  parts_.EmptyOf(zone).DiscountLogZone();
  parts_.reclaim.NoteChange();
  parts_.table.Change(zone, [&](ZoneState& z) {
    z.phase = ZonePhase::kFull;
    z.from_log = true;
    parts_.SlotsOf(zone).Hold(z);  // it may still be active in the device
  });
  if (parts_.table[zone].Unused()) {
    phases_.Settle(zone);
  } else {
    phases_.QueueFinish(zone);  // frees the slot, because a reader may pin the zone for a long time
  }
  ZENFS_ASSERT(parts_.Sound());
}

}  // namespace zenfs
