#include "zone/data_writers.h"

#include <algorithm>

#include "base/assert.h"

namespace zenfs {

TakenZone DataWriters::Take(ClaimState& claim, Lifetime lifetime, WritePurpose purpose, SteadyTime now,
                            std::uint64_t wanted, std::uint64_t most) {
  const bool data = purpose == WritePurpose::kData;
  if (!parts_.slots.MayWrite(purpose)) {
    // Often the collector writes. Data that also lacks room waits for the room: that is what its deadline is about.
    return data && !parts_.room.HasBlockForData(claim.promised) ? NoBlock(claim)
                                                                : TakenZone{.outcome = TakeOutcome::kWait};
  }
  if (data && !parts_.room.Promise(claim.promised, wanted)) {
    const TakenZone none = NoRoom();
    // The room is too small for the whole write and will not grow, so use the rest.
    if (none.outcome != TakeOutcome::kNoSpace || !parts_.room.HasBlockForData(claim.promised)) return none;
  }
  if (claim.held) {
    const ZoneState& z = parts_.table[claim.zone];
    if (z.incarnation == claim.incarnation && z.phase == ZonePhase::kActive) {
      if (z.writer) return {.outcome = TakeOutcome::kWait};
      return Begin(claim.zone, claim, lifetime, purpose, most);
    }
    LeaveZone(claim);
  }
  // If there are fewer empty zones than the log keeps, the reset zone would go to the log, and data would gain nothing.
  if (parts_.empty.size_after_resets() == parts_.empty.kept_for_log()) {
    phases_.ResetOneWorthwhileActive();  // removes the room of that zone until the reset is done
  }
  if (data && !parts_.room.HasBlockForData(claim.promised)) return NoBlock(claim);
  const ZoneChoice choice =
      ChooseZone(parts_.table, parts_.active, lifetime, UseOfEmpty(purpose, now), *parts_.setup.placement);
  switch (choice.kind) {
    case ZoneChoice::Kind::kActive: return Begin(choice.zone, claim, lifetime, purpose, most);
    case ZoneChoice::Kind::kEmpty: return Begin(phases_.Activate(), claim, lifetime, purpose, most);
    case ZoneChoice::Kind::kWait: return {.outcome = TakeOutcome::kWait};
    case ZoneChoice::Kind::kNothing: break;
  }
  const TakenZone none = NothingUsable(claim, purpose, now);
  // Two writers that keep their promises while they wait would wait for each other forever.
  if (none.outcome == TakeOutcome::kWaitForReclaim) parts_.room.ReleasePromise(claim.promised);
  return none;
}

EmptyZoneUse DataWriters::UseOfEmpty(WritePurpose purpose, SteadyTime now) const {
  if (!parts_.slots.MayActivate(purpose) || now < open_again_at_) return EmptyZoneUse::kNone;
  if (parts_.empty.HasSpare()) return EmptyZoneUse::kPreferred;
  const bool takes_from_log = purpose == WritePurpose::kReclaim && !parts_.empty.empty();
  return takes_from_log ? EmptyZoneUse::kLastResort : EmptyZoneUse::kNone;
}

// The promise ends first: a writer must not wait for its own.
TakenZone DataWriters::NoBlock(ClaimState& claim) {
  parts_.room.ReleasePromise(claim.promised);
  return NoRoom();
}

TakenZone DataWriters::NoRoom() {
  if (parts_.empty.pending_resets() == 0) phases_.ResetWorthwhileActives();
  return {.outcome = parts_.reclaim.AfterReclaim(WritePurpose::kData)};
}

TakenZone DataWriters::NothingUsable(const ClaimState& claim, WritePurpose purpose, SteadyTime now) const {
  const bool slot_to_come = parts_.slots.MayActivate(purpose) || !parts_.jobs.idle();
  const bool zone_to_come = purpose == WritePurpose::kReclaim ? parts_.empty.size_after_resets() != 0
                                                              : parts_.empty.WillHaveSpare();
  if (zone_to_come && slot_to_come) {
    return {.outcome = TakeOutcome::kWait,
            .retry_at = now < open_again_at_ ? open_again_at_ : SteadyTime::max()};
  }
  return {.outcome = parts_.reclaim.AfterReclaim(purpose, claim.promised)};
}

TakenZone DataWriters::Begin(ZoneId zone, ClaimState& claim, Lifetime lifetime, WritePurpose purpose,
                             std::uint64_t most) {
  std::uint64_t room = std::min(parts_.table[zone].room(), most);
  if (purpose == WritePurpose::kData) room = parts_.room.Grant(claim.promised, room);
  parts_.table.Change(zone, [&](ZoneState& z) {
    if (z.Unused()) z.lifetime = lifetime;
    z.writer = true;
    z.granted = purpose == WritePurpose::kData ? room : 0;
    if (!claim.held) ++z.claims;
  });
  parts_.slots.BeginWriter();
  ZENFS_ASSERT(room != 0 && room <= parts_.table[zone].room());
  ZENFS_ASSERT(purpose == WritePurpose::kReclaim || parts_.room.HeadroomIsFree());
  ZENFS_ASSERT(parts_.Sound());
  const ZoneState& z = parts_.table[zone];
  claim = {zone, z.incarnation, true, claim.promised};
  return {TakeOutcome::kTaken, zone, z.written, room, {}};
}

void DataWriters::LeaveZone(ClaimState& claim) {
  if (claim.held && parts_.table[claim.zone].incarnation == claim.incarnation) {
    ZENFS_ASSERT(parts_.table[claim.zone].claims != 0);
    parts_.table.Change(claim.zone, [](ZoneState& z) { --z.claims; });
  }
  claim = {.promised = claim.promised};
}

void DataWriters::Unclaim(ClaimState& claim) {
  LeaveZone(claim);
  if (claim.promised != 0) TakeBackPromise(claim);
}

void DataWriters::TakeBackPromise(ClaimState& claim) {
  parts_.room.ReleasePromise(claim.promised);
  parts_.reclaim.NoteChange();
}

void DataWriters::Wrote(ZoneId zone, std::uint64_t bytes) {
  ZENFS_ASSERT(parts_.table[zone].writer && bytes <= parts_.table[zone].room());
  const std::uint64_t granted = std::min(bytes, parts_.table[zone].granted);
  parts_.room.ReleaseGrant(granted);
  parts_.data_written += bytes;
  parts_.table.Change(zone, [&](ZoneState& z) {
    z.written += bytes;
    z.granted -= granted;
    z.uncommitted += bytes;
    ++z.pins;
  });
  if (parts_.table[zone].room() == 0) phases_.EndZone(zone, ZonePhase::kFull, true);
  ZENFS_ASSERT(parts_.Sound());
}

Code DataWriters::WriteFailed(ZoneId zone, Code code, const std::optional<ZoneInfo>& info, SteadyTime now) {
  ZENFS_ASSERT(parts_.table[zone].writer);
  const bool untouched =
      info && info->condition != ZoneCondition::kFull && info->condition != ZoneCondition::kReadOnly &&
      info->condition != ZoneCondition::kOffline && info->WrittenBytes() == parts_.table[zone].written;
  if (code == Code::kBusy && untouched) {
    if (parts_.table[zone].written == 0) open_again_at_ = now + kBusyPause;
    return Code::kBusy;
  }
  if (code == Code::kZoneFull || (info && info->condition == ZoneCondition::kFull)) {
    phases_.EndZone(zone, ZonePhase::kFull, info && !IsActive(info->condition));
    return Code::kZoneFull;
  }
  const bool offline = info && info->condition == ZoneCondition::kOffline;
  phases_.EndZone(zone, offline ? ZonePhase::kUnusable : ZonePhase::kRetired,
                  info && !IsActive(info->condition));
  // After kBusy the caller would try again, without an end.
  return code == Code::kBusy ? Code::kIo : code;
}

void DataWriters::EndWriter(ZoneId zone) {
  ZENFS_ASSERT(parts_.table[zone].writer);
  parts_.room.ReleaseGrant(parts_.table[zone].granted);
  parts_.table.Change(zone, [](ZoneState& z) {
    z.writer = false;
    z.granted = 0;
  });
  parts_.slots.EndWriter();
  parts_.reclaim.NoteChange();
  phases_.Settle(zone);
  ZENFS_ASSERT(parts_.Sound());
}

}  // namespace zenfs
