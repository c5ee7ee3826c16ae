// Which zone a write gets. In this order:
//   1. the zone it claimed, if that has room, even if that means to wait for another's short write there
//   2. an active zone of a fitting lifetime that no other file claims
//   3. an empty zone, if a slot is free and the log keeps its reserve
//   4. an active zone of an acceptable lifetime that no other file claims
//   5. an active zone that others claim: the best match, then the fewest claims
//   6. any active zone with room
//   7. wait, as long as a reset, a finish, a writer or reclaim may still make room; else no space
// Before all that, data waits if it would take what reclaim needs to go on.
// An active zone is never given up for lack of a match: data of another lifetime goes in first.
#include <algorithm>
#include <tuple>

#include "base/bytes.h"
#include "zone/zone_pool.h"

namespace zenfs {
namespace {

// The share of an active zone that must be written, and dead, for a reset to be worth it: with less, files that come
// and go would have it reset again and again.
constexpr std::uint64_t kWorthAReset = 16;

}  // namespace

ZonePool::Taken ZonePool::TakeForData(Claim& claim, Lifetime lifetime, WritePurpose purpose, SteadyTime now) {
  if (writers_ >= std::max(setup_.plan.open_data, 1U)) return Untaken(Outcome::kWait);
  if (purpose == WritePurpose::kData && RoomForData() < setup_.geometry.block_size) return NoRoomForData();
  if (claim.held) {
    const ZoneState& z = table_[claim.zone];
    if (z.life == claim.life && z.phase == ZonePhase::kActive) {
      if (z.writer) return Untaken(Outcome::kWait);
      return Take(claim.zone, claim, lifetime, purpose);
    }
    Unclaim(claim);
  }
  ResetOneIfShort();  // which takes the room of that zone away for now
  if (purpose == WritePurpose::kData && RoomForData() < setup_.geometry.block_size) return NoRoomForData();
  const Candidates found = FindActive(lifetime);
  if (found.free && found.free->match <= Match::kGood) {
    return Take(found.free->zone, claim, lifetime, purpose);
  }
  if (MayOpenZone(now)) return Take(OpenEmpty(lifetime), claim, lifetime, purpose);
  if (found.free && found.free->match == Match::kAcceptable) {
    return Take(found.free->zone, claim, lifetime, purpose);
  }
  if (found.claimed && (!found.free || found.claimed->match < Match::kPoor)) {
    // Another file's write is short; going elsewhere would mix lifetimes for good.
    if (found.claimed->busy) return Untaken(Outcome::kWait);
    return Take(found.claimed->zone, claim, lifetime, purpose);
  }
  if (found.free) return Take(found.free->zone, claim, lifetime, purpose);
  return NothingUsable(purpose, now);
}

// What can be written without a reset: in active zones, and in empty ones that the log does not keep.
std::uint64_t ZonePool::RoomBesideLog() const {
  const std::size_t pool_zones = empty_.size() + pending_resets_;
  const std::uint64_t a_zone = pool_zones == 0 ? 0 : table_.totals().pool / pool_zones;
  const std::size_t spare = empty_.size() - std::min(empty_.size(), KeptForLog());
  return table_.totals().room + spare * a_zone;
}

// Of that, what data may take that was not granted yet.
std::uint64_t ZonePool::RoomForData() const {
  const std::uint64_t taken = setup_.reclaim_room + granted_;
  const std::uint64_t room = setup_.reclaim_room == 0 ? ~std::uint64_t{0} : RoomBesideLog();
  return room - std::min(room, taken);
}

ZonePool::Taken ZonePool::NoRoomForData() {
  if (granted_ != 0) return Untaken(Outcome::kWait);  // most writers take less than they were granted
  if (pending_resets_ == 0) {
    const std::vector<ZoneId> active = active_;
    for (const ZoneId zone : active) {
      const ZoneState& z = table_[zone];
      if (z.Unused() && !z.job && z.written >= z.capacity / kWorthAReset) QueueReset(zone);
    }
  }
  return Idle() ? AfterReclaim(WritePurpose::kData) : Untaken(Outcome::kWait);
}

ZonePool::Candidates ZonePool::FindActive(Lifetime lifetime) const {
  // Fuller zones first among equals, so that zones get filled one after the other.
  const auto better = [](const Candidate& a, const Candidate& b) {
    return std::tuple(a.match, a.busy, a.claims, a.room) < std::tuple(b.match, b.busy, b.claims, b.room);
  };
  Candidates found;
  for (const ZoneId zone : active_) {
    const ZoneState& z = table_[zone];
    Candidate candidate{zone, MatchOf(z.lifetime, lifetime), z.writer, z.claims, z.room()};
    // What is dead has no lifetime: the zone takes that of its next file.
    if (z.Unused() && candidate.match > Match::kGood) candidate.match = Match::kGood;
    auto& best = z.claims == 0 && !z.writer ? found.free : found.claimed;
    if (!best || better(candidate, *best)) best = candidate;
  }
  return found;
}

bool ZonePool::MayOpenZone(SteadyTime now) const {
  return slots_used_ < setup_.plan.data && HasSpare(empty_.size()) && now >= open_again_at_;
}

ZoneId ZonePool::OpenEmpty(Lifetime lifetime) {
  const ZoneId zone = empty_.front();
  empty_.pop_front();
  table_.Change(zone, [&](ZoneState& z) {
    z.phase = ZonePhase::kActive;
    z.lifetime = lifetime;
    HoldSlot(z);
  });
  active_.push_back(zone);
  return zone;
}

ZonePool::Taken ZonePool::Take(ZoneId zone, Claim& claim, Lifetime lifetime, WritePurpose purpose) {
  std::uint64_t room = table_[zone].room();
  if (purpose == WritePurpose::kData) {
    room = std::min(room, RoundDown(RoomForData(), setup_.geometry.block_size));
    granted_ += room;
  }
  table_.Change(zone, [&](ZoneState& z) {
    if (z.Unused()) z.lifetime = lifetime;
    z.writer = true;
    z.granted = purpose == WritePurpose::kData ? room : 0;
    if (!claim.held) ++z.claims;
  });
  ++writers_;
  const ZoneState& z = table_[zone];
  claim = {zone, z.life, true};
  return {Outcome::kTaken, zone, z.written, room, {}};
}

void ZonePool::Unclaim(Claim& claim) {
  if (claim.held && table_[claim.zone].life == claim.life) {
    table_.Change(claim.zone, [](ZoneState& z) { --z.claims; });
  }
  claim = {};
}

// No active zone has room that could be had now or after a writer is done.
ZonePool::Taken ZonePool::NothingUsable(WritePurpose purpose, SteadyTime now) const {
  const bool slot_to_come = slots_used_ < setup_.plan.data || !Idle();
  if (HasSpare(empty_.size() + pending_resets_) && slot_to_come && setup_.plan.data != 0) {
    Taken wait = Untaken(Outcome::kWait);
    if (now < open_again_at_) wait.retry_at = open_again_at_;
    return wait;
  }
  return AfterReclaim(purpose);
}

ZonePool::Taken ZonePool::AfterReclaim(WritePurpose purpose) const {
  if (purpose == WritePurpose::kData && setup_.reclaim_room != 0 &&
      found_nothing_ != ReclaimUrgency::kUrgent) {
    return Untaken(Outcome::kWaitForReclaim);
  }
  return Untaken(table_.totals().pinned_dead != 0 ? Outcome::kWaitForPins : Outcome::kNoSpace);
}

std::optional<ReclaimNeed> ZonePool::NeedOfReclaim() const {
  if (setup_.reclaim_room == 0 || found_nothing_ == ReclaimUrgency::kUrgent) return std::nullopt;
  if (waiting_for_reclaim_ != 0) return ReclaimNeed{ReclaimUrgency::kUrgent, RoomBesideLog()};
  if (found_nothing_ == ReclaimUrgency::kLow) return std::nullopt;
  const std::size_t few = KeptForLog() + std::max<std::size_t>(2, table_.size() / 32);
  if (empty_.size() + pending_resets_ >= few) return std::nullopt;
  return ReclaimNeed{ReclaimUrgency::kLow, RoomBesideLog()};
}

void ZonePool::ReclaimFoundNothing(ReclaimUrgency urgency) {
  if (found_nothing_ != ReclaimUrgency::kUrgent) found_nothing_ = urgency;
}

// With no empty zone left for data, the written part of a dead active zone is worth a reset; but not if the
// reserve of the log would swallow the zone.
void ZonePool::ResetOneIfShort() {
  if (empty_.size() + pending_resets_ != KeptForLog()) return;
  for (const ZoneId zone : active_) {
    const ZoneState& z = table_[zone];
    if (z.Unused() && !z.job && z.written >= z.capacity / kWorthAReset) {
      QueueReset(zone);
      return;
    }
  }
}

void ZonePool::ResetDeadActives() {
  const std::vector<ZoneId> active = active_;
  for (const ZoneId zone : active) {
    if (table_[zone].Unused() && !table_[zone].job) QueueReset(zone);
  }
}

ZonePool::Taken ZonePool::TakeForLog() {
  // Zones left active by an earlier mount sit in the slots of others until they are reset or finished.
  if (slots_used_ > setup_.plan.data && !Idle()) return Untaken(Outcome::kWait);
  if (empty_.empty()) {
    if (pending_resets_ == 0) ResetDeadActives();
    if (pending_resets_ != 0) return Untaken(Outcome::kWait);
    // Not for reclaim: the log is asked for zones before there is one, while a volume is being mounted, and a sync does
    // not wait for data to be moved.
    return Untaken(table_.totals().pinned_dead != 0 ? Outcome::kWaitForPins : Outcome::kNoSpace);
  }
  const ZoneId zone = empty_.front();
  empty_.pop_front();
  table_.Change(zone, [](ZoneState& z) { z.phase = ZonePhase::kLog; });
  ++log_zones_;
  return {Outcome::kTaken, zone, 0, table_[zone].capacity, {}};
}

}  // namespace zenfs
