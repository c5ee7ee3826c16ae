// Chooses the zone for a write, in this order:
//   1. the claimed zone, if it has room; waits for another file's write there
//   2. an unclaimed active zone with the best or a good match of lifetimes
//   3. an empty zone, if a slot is free and the log keeps its reserve
//   4. an unclaimed active zone with an acceptable match
//   5. an active zone that other files claim, with the best match, then the fewest claims; waits for a write there
//   6. any unclaimed active zone
//   7. for copies of live data only: an empty zone that is kept for the log
//   8. wait while a reset, a finish, a writer or reclaim may make room; otherwise no space
// Before step 1, data waits if its write would take from the headroom.
// An active zone is filled with data of another lifetime rather than finished early.
#include <algorithm>
#include <tuple>
#include <utility>

#include "base/assert.h"
#include "base/bytes.h"
#include "zone/zone_pool.h"

namespace zenfs {
namespace {

// A dead active zone is reset early only if at least 1/16 of it is written. Otherwise short-lived files would cause
// resets of the same zone again and again.
constexpr std::uint64_t kWorthAReset = 16;
// Reclaim runs at full speed once data can write less than this number of zones. Waiting longer would save copies,
// because more data dies meanwhile, but a compaction that waits for a whole zone loses more.
constexpr std::uint64_t kZonesAhead = 1;

}  // namespace

ZonePool::Taken ZonePool::TakeForData(Claim& claim, Lifetime lifetime, WritePurpose purpose, SteadyTime now,
                                      std::uint64_t wanted) {
  const bool own_writer = purpose == WritePurpose::kReclaim && setup_.plan.reclaim_has_slot();
  if (writers_ >= setup_.plan.open_data + (own_writer ? 1 : 0)) return Untaken(Outcome::kWait);
  const bool data = purpose == WritePurpose::kData;
  if (data && !Promise(claim, wanted)) {
    const Taken none = NoRoomForData();
    // The room is too small for the whole write and will not grow, so use the rest.
    if (none.outcome != Outcome::kNoSpace || RoomFor(claim) < setup_.geometry.block_size) return none;
  }
  if (claim.held) {
    const ZoneState& z = table_[claim.zone];
    if (z.incarnation == claim.incarnation && z.phase == ZonePhase::kActive) {
      if (z.writer) return Untaken(Outcome::kWait);
      return Take(claim.zone, claim, lifetime, purpose);
    }
    LeaveZone(claim);
  }
  ResetOneIfShort();  // removes the room of that zone until the reset is done
  if (data && RoomFor(claim) < setup_.geometry.block_size) {
    VoidPromise(claim);
    return NoRoomForData();
  }
  const Candidates found = FindActive(lifetime);
  if (found.free && found.free->match <= Match::kGood) {
    return Take(found.free->zone, claim, lifetime, purpose);
  }
  if (MayOpenZone(purpose, now)) return Take(OpenEmpty(lifetime), claim, lifetime, purpose);
  if (found.free && found.free->match == Match::kAcceptable) {
    return Take(found.free->zone, claim, lifetime, purpose);
  }
  if (found.claimed && (!found.free || found.claimed->match < Match::kPoor)) {
    // Waiting for another file's write is short; another zone would mix lifetimes permanently.
    if (found.claimed->busy) return Untaken(Outcome::kWait);
    return Take(found.claimed->zone, claim, lifetime, purpose);
  }
  if (found.free) return Take(found.free->zone, claim, lifetime, purpose);
  if (purpose == WritePurpose::kReclaim && HasSlot(purpose) && !empty_.empty() && now >= open_again_at_) {
    return Take(OpenEmpty(lifetime), claim, lifetime, purpose);
  }
  const Taken none = NothingUsable(claim, purpose, now);
  // Two writers that keep their promises while they wait would wait for each other forever.
  if (none.outcome == Outcome::kWaitForReclaim) VoidPromise(claim);
  return none;
}

bool ZonePool::Promise(Claim& claim, std::uint64_t wanted) {
  // The promised room may be gone, because a zone failed or the log keeps one more.
  if (RoomFor(claim) < setup_.geometry.block_size) VoidPromise(claim);
  // At most the headroom; nothing if there is none.
  const std::uint64_t want = std::min(wanted, setup_.headroom);
  const std::uint64_t least = std::max<std::uint64_t>(want, setup_.geometry.block_size);
  if (claim.promised >= least) return true;
  if (claim.promised + RoomFor({}) < least) return claim.promised != 0;
  if (want > claim.promised) promised_ += want - std::exchange(claim.promised, want);
  return true;
}

void ZonePool::TakeBackPromise(Claim& claim) {
  VoidPromise(claim);
  NoteChange();
}

// The mean capacity of zones in the pool; the device may have changed some capacities.
std::uint64_t ZonePool::MeanZone() const {
  const std::size_t pool_zones = empty_.size() + pending_resets_;
  return pool_zones == 0 ? 0 : table_.totals().pool / pool_zones;
}

// Bytes that can be written without a reset, less the bytes that are granted or promised to data.
std::uint64_t ZonePool::RoomForCopies() const {
  const std::uint64_t room = table_.totals().room + empty_.size() * MeanZone();
  return room - std::min(room, granted_ + promised_);
}

// Bytes that can be written without a reset, in active zones and in empty zones that are not kept for the log.
std::uint64_t ZonePool::RoomBesideLog() const {
  const std::size_t spare = empty_.size() - std::min(empty_.size(), KeptForLog());
  return table_.totals().room + spare * MeanZone();
}

// Bytes that a writer of data may take: its promised bytes, or, without a promise, all bytes beyond the headroom that
// are not granted or promised. If zones failed since the promise, less than the promise may be left.
std::uint64_t ZonePool::RoomFor(const Claim& claim) const {
  if (setup_.headroom == 0) return ~std::uint64_t{0};
  const std::uint64_t room = RoomBesideLog();
  const std::uint64_t free = room - std::min(room, setup_.headroom + granted_ + promised_ - claim.promised);
  return claim.promised != 0 ? std::min(free, claim.promised) : free;
}

ZonePool::Taken ZonePool::NoRoomForData() {
  if (pending_resets_ == 0) {
    const std::vector<ZoneId> active = active_;
    for (const ZoneId zone : active) {
      const ZoneState& z = table_[zone];
      if (z.Unused() && !z.job && z.written >= z.capacity / kWorthAReset) QueueReset(zone);
    }
  }
  return AfterReclaim(WritePurpose::kData);
}

ZonePool::Candidates ZonePool::FindActive(Lifetime lifetime) const {
  // Among equals the fullest zone comes first, so that zones are filled one after the other.
  const auto better = [](const Candidate& a, const Candidate& b) {
    return std::tuple(a.match, a.busy, a.claims, a.room) < std::tuple(b.match, b.busy, b.claims, b.room);
  };
  Candidates found;
  for (const ZoneId zone : active_) {
    const ZoneState& z = table_[zone];
    Candidate candidate{zone, MatchOf(z.lifetime, lifetime), z.writer, z.claims, z.room()};
    // An unused zone takes the lifetime of its next file, so it fits any.
    if (z.Unused() && candidate.match > Match::kGood) candidate.match = Match::kGood;
    auto& best = z.claims == 0 && !z.writer ? found.free : found.claimed;
    if (!best || better(candidate, *best)) best = candidate;
  }
  return found;
}

bool ZonePool::HasSlot(WritePurpose purpose) const {
  const bool own = purpose == WritePurpose::kReclaim && setup_.plan.reclaim_has_slot();
  return slots_used_ < setup_.plan.data + (own ? 1 : 0);
}

bool ZonePool::MayOpenZone(WritePurpose purpose, SteadyTime now) const {
  return HasSlot(purpose) && HasSpare(empty_.size()) && now >= open_again_at_;
}

ZoneId ZonePool::OpenEmpty(Lifetime lifetime) {
  ZENFS_ASSERT(!empty_.empty());
  const ZoneId zone = empty_.front();
  empty_.pop_front();
  table_.Change(zone, [&](ZoneState& z) {
    z.phase = ZonePhase::kActive;
    z.lifetime = lifetime;
    HoldSlot(z);
  });
  active_.push_back(zone);
  ZENFS_ASSERT(slots_used_ <= setup_.plan.data + (setup_.plan.reclaim_has_slot() ? 1 : 0));
  return zone;
}

ZonePool::Taken ZonePool::Take(ZoneId zone, Claim& claim, Lifetime lifetime, WritePurpose purpose) {
  std::uint64_t room = table_[zone].room();
  if (purpose == WritePurpose::kData) {
    const std::uint64_t allowed = RoundDown(RoomFor(claim), setup_.geometry.block_size);
    room = std::min(room, allowed);
    granted_ += room;
    const std::uint64_t left = claim.promised == 0 ? 0 : allowed - room;
    ZENFS_ASSERT(left <= claim.promised && claim.promised - left <= promised_);
    promised_ -= claim.promised - left;
    claim.promised = left;
  }
  table_.Change(zone, [&](ZoneState& z) {
    if (z.Unused()) z.lifetime = lifetime;
    z.writer = true;
    z.granted = purpose == WritePurpose::kData ? room : 0;
    if (!claim.held) ++z.claims;
  });
  ++writers_;
  ZENFS_ASSERT(room != 0 && room <= table_[zone].room());
  ZENFS_ASSERT(writers_ <= setup_.plan.open_data + (setup_.plan.reclaim_has_slot() ? 1 : 0));
  ZENFS_ASSERT(purpose == WritePurpose::kReclaim || HeadroomIsFree());
  ZENFS_ASSERT(Sound());
  const ZoneState& z = table_[zone];
  claim = {zone, z.incarnation, true, claim.promised};
  return {Outcome::kTaken, zone, z.written, room, {}};
}

void ZonePool::LeaveZone(Claim& claim) {
  if (claim.held && table_[claim.zone].incarnation == claim.incarnation) {
    ZENFS_ASSERT(table_[claim.zone].claims != 0);
    table_.Change(claim.zone, [](ZoneState& z) { --z.claims; });
  }
  claim = {.promised = claim.promised};
}

void ZonePool::Unclaim(Claim& claim) {
  LeaveZone(claim);
  if (claim.promised != 0) TakeBackPromise(claim);
}

// No active zone can be used, now or after a writer ends.
ZonePool::Taken ZonePool::NothingUsable(const Claim& claim, WritePurpose purpose, SteadyTime now) const {
  const bool slot_to_come = HasSlot(purpose) || !Idle();
  const bool zone_to_come = purpose == WritePurpose::kReclaim ? empty_.size() + pending_resets_ != 0
                                                              : HasSpare(empty_.size() + pending_resets_);
  if (zone_to_come && slot_to_come) {
    Taken wait = Untaken(Outcome::kWait);
    if (now < open_again_at_) wait.retry_at = open_again_at_;
    return wait;
  }
  return AfterReclaim(purpose, claim.promised);
}

// Copies do not wait for reclaim, because they are reclaim.
ZonePool::Taken ZonePool::AfterReclaim(WritePurpose purpose, std::uint64_t own_promise) const {
  const std::uint64_t with_others = granted_ + promised_ - own_promise;
  if (setup_.reclaims && purpose == WritePurpose::kData) {
    const bool nothing_comes = VerdictHolds(ReclaimUrgency::kUrgent) && !verdict_->pending && Idle();
    // Other writers may return granted or promised room, since most use less.
    if (!nothing_comes || with_others != 0) return Untaken(Outcome::kWaitForReclaim);
    return Untaken(Outcome::kNoSpace);
  }
  if (!Idle() || (with_others != 0 && purpose == WritePurpose::kData)) return Untaken(Outcome::kWait);
  return Untaken(table_.totals().pinned_dead != 0 ? Outcome::kWaitForPins : Outcome::kNoSpace);
}

std::optional<ReclaimUrgency> ZonePool::Urgency() const {
  const std::uint64_t to_come = RoomForCopies() + pending_resets_ * MeanZone();
  if (waiting_for_reclaim_ != 0 || to_come < setup_.headroom) return ReclaimUrgency::kUrgent;
  const std::uint64_t for_data = RoomFor({}) + pending_resets_ * MeanZone();
  if (setup_.headroom != 0 && for_data < kZonesAhead * setup_.headroom) return ReclaimUrgency::kAhead;
  const std::size_t few = KeptForLog() + std::max<std::size_t>(2, table_.size() / 32);
  if (setup_.headroom != 0 && empty_.size() + pending_resets_ < few) return ReclaimUrgency::kLow;
  if (tidy_asked_) return ReclaimUrgency::kTidy;
  return std::nullopt;
}

bool ZonePool::VerdictHolds(ReclaimUrgency urgency) const {
  return verdict_ && verdict_->version == version_ && verdict_->urgency >= urgency;
}

std::optional<ReclaimNeed> ZonePool::NeedOfReclaim() const {
  if (!setup_.reclaims) return std::nullopt;
  const std::optional<ReclaimUrgency> urgency = Urgency();
  if (!urgency || VerdictHolds(*urgency)) return std::nullopt;
  return ReclaimNeed{*urgency, RoomForCopies(), setup_.headroom, version_};
}

void ZonePool::ForgetPendingVerdict() {
  if (verdict_ && verdict_->pending) verdict_.reset();
}

// Resets one unused active zone if exactly the zones that are kept for the log are empty. If there are fewer, the reset
// zone would go to the log's reserve and data would gain nothing.
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

// Unless it borrows, the log takes a zone only if the headroom stays whole; otherwise it waits for reclaim, like data.
ZonePool::Taken ZonePool::TakeForLog(bool borrow) {
  // Zones that an earlier mount left active use the log's slot until they are reset or finished.
  const std::uint32_t slots = setup_.plan.data + (setup_.plan.reclaim_has_slot() ? 1 : 0);
  if (slots_used_ > slots && !Idle()) return Untaken(Outcome::kWait);
  const bool spares_headroom = borrow || RoomForCopies() >= setup_.headroom + MeanZone();
  if (empty_.empty() || !spares_headroom) {
    if (pending_resets_ == 0) ResetDeadActives();
    return AfterReclaim(WritePurpose::kData);
  }
  const ZoneId zone = empty_.front();
  empty_.pop_front();
  table_.Change(zone, [](ZoneState& z) { z.phase = ZonePhase::kLog; });
  ++log_zones_;
  ZENFS_ASSERT(borrow || HeadroomIsFree());
  ZENFS_ASSERT(Sound());
  return {Outcome::kTaken, zone, 0, table_[zone].capacity, {}};
}

}  // namespace zenfs
