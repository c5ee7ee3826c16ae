// Which zone and how much room data, copies, the log and the metadata log get, and how they release them.
#include "zone/zone_allocation.h"

#include <algorithm>

#include "base/assert.h"
#include "zone/zone_pool.h"

namespace zenfs {

// --- data and copies ---

ZoneAllocation ZonePool::AllocateData(ClaimState& claim, Lifetime lifetime, WritePurpose purpose,
                                      SteadyTime now, std::uint64_t wanted, std::uint64_t most) {
  const bool data = purpose == WritePurpose::kData;
  if (!slots_.MayWrite(purpose)) {
    // Often the collector writes. Data that also lacks room waits for the room: that is what its deadline is about.
    return data && !account_.HasBlockForData(claim.promised)
               ? NoBlock(claim)
               : ZoneAllocation{.outcome = AllocationOutcome::kWait};
  }
  if (data && !account_.Promise(claim.promised, wanted)) {
    const ZoneAllocation none = NoRoom();
    // The room is too small for the whole write and will not grow, so use the rest.
    if (none.outcome != AllocationOutcome::kNoSpace || !account_.HasBlockForData(claim.promised)) return none;
  }
  if (claim.held) {
    const ZoneState& z = table_[claim.zone];
    if (z.incarnation == claim.incarnation && z.phase == ZonePhase::kActive) {
      if (z.writer) return {.outcome = AllocationOutcome::kWait};
      return BeginWriter(claim.zone, claim, lifetime, purpose, most);
    }
    LeaveZone(claim);
  }
  // If there are fewer empty zones than the log keeps, the reset zone would go to the log, and data would gain nothing.
  if (empty_.size_after_resets() == empty_.kept_for_log()) {
    ResetOneWorthwhileActive();  // removes the room of that zone until the reset is done
  }
  if (data && !account_.HasBlockForData(claim.promised)) return NoBlock(claim);
  const ZoneChoice choice =
      ChooseZone(table_, active_, lifetime, UseOfEmpty(purpose, now), *setup_.placement);
  switch (choice.kind) {
    case ZoneChoice::Kind::kActive: return BeginWriter(choice.zone, claim, lifetime, purpose, most);
    case ZoneChoice::Kind::kEmpty: return BeginWriter(Activate(), claim, lifetime, purpose, most);
    case ZoneChoice::Kind::kWait: return {.outcome = AllocationOutcome::kWait};
    case ZoneChoice::Kind::kNothing: break;
  }
  const ZoneAllocation none = NothingUsable(claim, purpose, now);
  // Two writers that keep their promises while they wait would wait for each other forever.
  if (none.outcome == AllocationOutcome::kWaitForReclaim) account_.ReleasePromise(claim.promised);
  return none;
}

EmptyZoneUse ZonePool::UseOfEmpty(WritePurpose purpose, SteadyTime now) const {
  if (!slots_.MayActivate(purpose) || now < open_again_at_) return EmptyZoneUse::kNone;
  if (empty_.HasSpare()) return EmptyZoneUse::kPreferred;
  const bool takes_from_log = purpose == WritePurpose::kReclaim && !empty_.empty();
  return takes_from_log ? EmptyZoneUse::kLastResort : EmptyZoneUse::kNone;
}

// The promise ends first: a writer must not wait for its own.
ZoneAllocation ZonePool::NoBlock(ClaimState& claim) {
  account_.ReleasePromise(claim.promised);
  return NoRoom();
}

ZoneAllocation ZonePool::NoRoom() {
  if (empty_.pending_resets() == 0) ResetWorthwhileActives();
  return {.outcome = demand_.AfterReclaim(WritePurpose::kData)};
}

ZoneAllocation ZonePool::NothingUsable(const ClaimState& claim, WritePurpose purpose, SteadyTime now) const {
  const bool slot_to_come = slots_.MayActivate(purpose) || !jobs_.idle();
  const bool zone_to_come =
      purpose == WritePurpose::kReclaim ? empty_.size_after_resets() != 0 : empty_.WillHaveSpare();
  if (zone_to_come && slot_to_come) {
    return {.outcome = AllocationOutcome::kWait,
            .retry_at = now < open_again_at_ ? open_again_at_ : SteadyTime::max()};
  }
  return {.outcome = demand_.AfterReclaim(purpose, claim.promised)};
}

ZoneAllocation ZonePool::BeginWriter(ZoneId zone, ClaimState& claim, Lifetime lifetime, WritePurpose purpose,
                                     std::uint64_t most) {
  std::uint64_t room = std::min(table_[zone].room(), most);
  if (purpose == WritePurpose::kData) room = account_.Grant(claim.promised, room);
  table_.Change(zone, [&](ZoneState& z) {
    if (z.Unused()) z.lifetime = lifetime;
    z.writer = true;
    z.granted = purpose == WritePurpose::kData ? room : 0;
    if (!claim.held) ++z.claims;
  });
  slots_.BeginWriter();
  ZENFS_ASSERT(room != 0 && room <= table_[zone].room());
  ZENFS_ASSERT(purpose == WritePurpose::kReclaim || account_.HeadroomIsFree());
  ZENFS_ASSERT(Sound());
  const ZoneState& z = table_[zone];
  claim = {zone, z.incarnation, true, claim.promised};
  return {AllocationOutcome::kAllocated, zone, z.written, room, {}};
}

void ZonePool::Wrote(ZoneId zone, std::uint64_t bytes) {
  ZENFS_ASSERT(table_[zone].writer && bytes <= table_[zone].room());
  const std::uint64_t granted = std::min(bytes, table_[zone].granted);
  account_.ReleaseGrant(granted);
  data_written_ += bytes;
  table_.Change(zone, [&](ZoneState& z) {
    z.written += bytes;
    z.granted -= granted;
    z.uncommitted += bytes;
    ++z.pins;
  });
  if (table_[zone].room() == 0) EndZone(zone, ZonePhase::kFull, true);
  ZENFS_ASSERT(Sound());
}

Code ZonePool::WriteFailed(ZoneId zone, Code code, const std::optional<ZoneInfo>& info, SteadyTime now) {
  ZENFS_ASSERT(table_[zone].writer);
  const bool untouched =
      info && info->condition != ZoneCondition::kFull && info->condition != ZoneCondition::kReadOnly &&
      info->condition != ZoneCondition::kOffline && info->WrittenBytes() == table_[zone].written;
  if (code == Code::kBusy && untouched) {
    if (table_[zone].written == 0) open_again_at_ = now + kBusyPause;
    return Code::kBusy;
  }
  if (code == Code::kZoneFull || (info && info->condition == ZoneCondition::kFull)) {
    EndZone(zone, ZonePhase::kFull, info && !IsActive(info->condition));
    return Code::kZoneFull;
  }
  const bool offline = info && info->condition == ZoneCondition::kOffline;
  EndZone(zone, offline ? ZonePhase::kUnusable : ZonePhase::kRetired, info && !IsActive(info->condition));
  // After kBusy the caller would try again, without an end.
  return code == Code::kBusy ? Code::kIo : code;
}

void ZonePool::ReleaseWriter(ZoneId zone) {
  ZENFS_ASSERT(table_[zone].writer);
  account_.ReleaseGrant(table_[zone].granted);
  table_.Change(zone, [](ZoneState& z) {
    z.writer = false;
    z.granted = 0;
  });
  slots_.ReleaseWriter();
  demand_.NoteChange();
  Settle(zone);
  ZENFS_ASSERT(Sound());
}

void ZonePool::LeaveZone(ClaimState& claim) {
  if (claim.held && table_[claim.zone].incarnation == claim.incarnation) {
    ZENFS_ASSERT(table_[claim.zone].claims != 0);
    table_.Change(claim.zone, [](ZoneState& z) { --z.claims; });
  }
  claim = {.promised = claim.promised};
}

void ZonePool::ReleaseClaim(ClaimState& claim) {
  LeaveZone(claim);
  if (claim.promised != 0) ReleasePromise(claim);
}

void ZonePool::ReleasePromise(ClaimState& claim) {
  account_.ReleasePromise(claim.promised);
  demand_.NoteChange();
}

// --- the log ---

ZoneAllocation ZonePool::AllocateLogZone(LogZonePurpose purpose) {
  const bool mounting = purpose == LogZonePurpose::kMount;
  const bool apart = log_apart();
  EmptyZones& empty = LogEmpty();
  if (purpose == LogZonePurpose::kAhead && empty.log_share_reduced())
    return {.outcome = AllocationOutcome::kWait};
  const SlotBudget& slots = apart ? log_slots_ : slots_;
  // Zones that an earlier mount left active use the log's slot until they are reset or finished.
  if (slots.exceeded() && !jobs_.idle()) return {.outcome = AllocationOutcome::kWait};
  const bool there_is_one = mounting ? empty.HasForMount() : !empty.empty();
  const bool spares_headroom = mounting || apart || account_.SparesHeadroomForLog();
  if (!there_is_one || !spares_headroom) {
    if (apart) return {.outcome = demand_.AfterLogReclaim()};
    if (empty.pending_resets() == 0) ResetUnusedActives();
    return {.outcome = demand_.AfterReclaim(WritePurpose::kData)};
  }
  const ZoneId zone = NewLogZone(empty);
  ZENFS_ASSERT(mounting || apart || account_.HeadroomIsFree());
  ZENFS_ASSERT(Sound());
  return {AllocationOutcome::kAllocated, zone, 0, table_[zone].capacity, {}};
}

std::vector<ZoneId> ZonePool::AllocateMoreLogZones(std::size_t most) {
  std::vector<ZoneId> zones;
  while (zones.size() < most && !empty_.empty() && account_.SparesHeadroomForLog() &&
         (empty_.kept_for_log() != 0 || HasRoom())) {
    zones.push_back(NewLogZone(empty_));
    ZENFS_ASSERT(account_.HeadroomIsFree());
  }
  ZENFS_ASSERT(Sound());
  return zones;
}

ZoneId ZonePool::NewLogZone(EmptyZones& empty) {
  const ZoneId zone = empty.Allocate();
  table_.Change(zone, [](ZoneState& z) { z.phase = ZonePhase::kLog; });
  empty.CountLogZone();
  return zone;
}

void ZonePool::ReleaseLogZone(ZoneId zone) {
  if (!table_.Has(zone) || table_[zone].phase != ZonePhase::kLog) return;
  EmptyOf(zone).DiscountLogZone();
  demand_.NoteChange();
  table_.Change(zone, [&](ZoneState& z) {
    z.phase = ZonePhase::kFull;
    z.from_log = true;
    SlotsOf(zone).Hold(z);  // it may still be active in the device
  });
  if (table_[zone].Unused()) {
    Settle(zone);
  } else {
    QueueFinish(zone);  // frees the slot, because a reader may pin the zone for a long time
  }
  ZENFS_ASSERT(Sound());
}

// --- the metadata log ---

std::vector<ZoneId> ZonePool::AllocateMetadataZones(std::size_t count) {
  std::vector<ZoneId> zones;
  const bool spare = empty_.size() >= count + empty_.all_kept_for_log() &&
                     account_.ForData(0) >= count * account_.MeanZone();
  while (spare && zones.size() < count) {
    zones.push_back(empty_.Allocate());
    table_.Change(zones.back(), [](ZoneState& z) { z.phase = ZonePhase::kMetadata; });
  }
  ZENFS_ASSERT(Sound());
  return zones;
}

void ZonePool::ReleaseMetadataZone(ZoneId zone) {
  if (!table_.Has(zone)) return;
  ZENFS_ASSERT(table_[zone].phase == ZonePhase::kMetadata);
  table_.Change(zone, [](ZoneState& z) {
    z.phase = ZonePhase::kEmpty;
    z.written = 0;
    z.claims = 0;
    ++z.incarnation;
  });
  empty_.Add(zone);
  demand_.NoteChange();
  ZENFS_ASSERT(Sound());
}

}  // namespace zenfs
