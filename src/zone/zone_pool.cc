#include "zone/zone_pool.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <functional>
#include <utility>

#include "base/assert.h"
#include "base/bytes.h"

namespace zenfs {
namespace {

ZonePhase PhaseOf(const ZoneInfo& info) {
  if (info.type == ZoneType::kConventional) return ZonePhase::kConventional;
  if (info.type != ZoneType::kSequentialRequired) return ZonePhase::kUnusable;
  switch (info.condition) {
    case ZoneCondition::kEmpty: return ZonePhase::kEmpty;
    case ZoneCondition::kImplicitlyOpen:
    case ZoneCondition::kExplicitlyOpen:
    case ZoneCondition::kClosed: return ZonePhase::kActive;
    case ZoneCondition::kFull: return ZonePhase::kFull;
    case ZoneCondition::kReadOnly: return ZonePhase::kRetired;
    case ZoneCondition::kOffline:
    case ZoneCondition::kNotWritePointer: break;
  }
  return ZonePhase::kUnusable;
}

// A dead active zone is reset early only if at least 1/16 of it is written. Otherwise short-lived files would cause
// resets of the same zone again and again.
constexpr std::uint64_t kWorthAReset = 16;

struct ZoneCounts {
  std::size_t active = 0, empty = 0, dead = 0, slots = 0, writers = 0;
  std::uint64_t granted = 0;  // bytes
};

// Of two devices that of the log has the spare (log_empty).
EmptyZones::LogShare ShareOf(const ZonePool::Setup& setup) {
  EmptyZones::LogShare share = setup.log;
  share.spare = setup.plan.sync_zone && setup.geometry.log_zones == 0 ? EmptyZones::kSpareForMount : 0;
  return share;
}

}  // namespace

// --- mount ---

ZonePool::ZonePool(const Setup& setup, std::span<const ZoneInfo> report,
                   std::span<const ZoneId> metadata_zones)
    : setup_(setup),
      table_(report.size()),
      slots_(setup_.plan),
      empty_(ShareOf(setup_)),
      log_slots_(PlanReturnedLogSlots(setup_.geometry)),
      account_(table_, empty_, setup_.geometry.block_size, setup_.headroom),
      demand_({.table = table_,
               .empty = empty_,
               .log_empty = log_apart() ? &log_empty_ : nullptr,
               .room = account_,
               .jobs = jobs_,
               .reclaims = setup_.reclaims}) {
  AdoptReport(report, metadata_zones);
}

void ZonePool::AdoptReport(std::span<const ZoneInfo> report, std::span<const ZoneId> metadata_zones) {
  for (const ZoneInfo& info : report) {
    table_.Change(info.id, [&](ZoneState& z) {
      z.phase = PhaseOf(info);
      // Conventional zones are not used and do not count in the totals.
      z.capacity = info.type == ZoneType::kSequentialRequired ? info.capacity : 0;
      z.written = std::min(RoundUp(info.WrittenBytes(), setup_.geometry.block_size), z.capacity);
      z.for_log = setup_.geometry.OnLogDevice(info.id);
      if (z.phase == ZonePhase::kActive) SlotsOf(info.id).Hold(z);
    });
  }
  for (const ZoneId zone : metadata_zones) {
    if (!table_.Has(zone)) continue;
    table_.Change(zone, [&](ZoneState& z) {
      slots_.Release(z);  // the metadata log has slots of its own
      z.phase = ZonePhase::kMetadata;
    });
  }
}

void ZonePool::AdoptLogZone(ZoneId zone) {
  ZENFS_ASSERT(!started_);
  if (!table_.Has(zone)) return;
  table_.Change(zone, [&](ZoneState& z) {
    SlotsOf(zone).Release(z);
    z.phase = ZonePhase::kLog;
  });
  EmptyOf(zone).CountLogZone();
}

void ZonePool::AdoptExtent(const Extent& extent, Lifetime lifetime) {
  ZENFS_ASSERT(!started_);
  const ZoneId zone = setup_.geometry.ZoneOf(extent.place);
  if (!table_.Has(zone)) return;
  table_.Change(zone, [&](ZoneState& z) {
    z.live += BlocksOf(extent, setup_.geometry.block_size).bytes;
    if (extent.place.value < z.first_adopted) {
      z.first_adopted = extent.place.value;
      z.lifetime = lifetime;
    }
  });
}

void ZonePool::Start() {
  ZENFS_ASSERT(!started_);
  started_ = true;
  std::vector<ZoneId> partly_written;
  for (std::uint32_t i = 0; i < table_.size(); ++i) {
    const ZoneId zone(i);
    const ZoneState& z = table_[zone];
    if (z.phase == ZonePhase::kEmpty) {
      // Live data in an empty zone is damage, which check reports. New data there would be read in its place.
      if (z.live != 0) {
        table_.Change(zone, [](ZoneState& s) { s.phase = ZonePhase::kRetired; });
      } else {
        EmptyOf(zone).Add(zone);
      }
    } else if (z.phase == ZonePhase::kActive && (z.live != 0 || z.pins != 0 || setup_.read_only)) {
      partly_written.push_back(zone);
    }
  }
  AdoptActive(std::move(partly_written));
  for (std::uint32_t i = 0; i < table_.size() && !setup_.read_only; ++i) {
    const ZoneState& z = table_[ZoneId(i)];
    if ((z.phase == ZonePhase::kActive || z.phase == ZonePhase::kFull) && z.Unused()) QueueReset(ZoneId(i));
  }
}

// Keeps the zones with the most room active and finishes the others. More zones than the plan allows can be active, for
// example after the limits of the device were lowered.
void ZonePool::AdoptActive(std::vector<ZoneId> zones) {
  std::ranges::sort(zones, std::ranges::greater(),
                    [&](ZoneId zone) { return std::pair(table_[zone].room(), zone); });
  for (const ZoneId zone : zones) {
    const ZoneState& z = table_[zone];
    const bool keep = z.room() != 0 && !z.for_log && active_.size() < setup_.plan.data;
    if (keep || setup_.read_only) {
      active_.push_back(zone);
    } else {
      table_.Change(zone, [](ZoneState& full) { full.phase = ZonePhase::kFull; });
      QueueFinish(zone);
    }
  }
}

// --- allocation for data and copies ---

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

// --- allocation for the log ---

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

// --- allocation for the metadata log ---

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
  if (started_) empty_.Add(zone);  // Start adds all that are empty
  demand_.NoteChange();
  ZENFS_ASSERT(Sound());
}

// --- from empty to full ---

ZoneId ZonePool::Activate() {
  const ZoneId zone = empty_.Allocate();
  table_.Change(zone, [&](ZoneState& z) {
    z.phase = ZonePhase::kActive;
    slots_.Hold(z);
  });
  active_.push_back(zone);
  ZENFS_ASSERT(!slots_.exceeded());
  return zone;
}

void ZonePool::EndZone(ZoneId zone, ZonePhase phase, bool slot_free) {
  DropFromActive(zone);
  demand_.NoteChange();
  ++filled_;
  table_.Change(zone, [&](ZoneState& z) {
    z.phase = phase;
    z.filled = filled_;
    if (phase == ZonePhase::kFull) z.written = z.capacity;
    if (slot_free) slots_.Release(z);
  });
  if (!slot_free) QueueFinish(zone);
}

bool ZonePool::FinishActive(ZoneId zone) {
  const ZoneState& z = table_[zone];
  if (z.phase != ZonePhase::kActive || z.writer || z.job) return false;
  EndZone(zone, ZonePhase::kFull, false);
  return true;
}

void ZonePool::QueueFinish(ZoneId zone) {
  table_.Change(zone, [](ZoneState& z) { z.job = true; });
  jobs_.Push({.zone = zone, .kind = ZoneJob::Kind::kFinish});
}

void ZonePool::DropFromActive(ZoneId zone) { std::erase(active_, zone); }

// --- the bytes that somebody needs ---

void ZonePool::AddLive(std::span<const Extent> extents) {
  for (const Extent& extent : extents) {
    const ZoneId zone = setup_.geometry.ZoneOf(extent.place);
    if (!table_.Has(zone)) continue;
    const std::uint64_t bytes = OccupiedBytes(extent, setup_.geometry.block_size);
    const bool settles = table_[zone].uncommitted != 0 && table_[zone].uncommitted <= bytes;
    table_.Change(zone, [&](ZoneState& z) {
      z.live += bytes;
      // An extent that is committed again, longer, counts in full here, so `bytes` may exceed the uncommitted ones.
      z.uncommitted -= std::min(bytes, z.uncommitted);
    });
    if (settles) demand_.NoteChange();
  }
}

void ZonePool::RemoveLive(std::span<const Extent> extents) {
  if (!extents.empty()) demand_.NoteChange();
  for (const Extent& extent : extents) {
    const ZoneId zone = setup_.geometry.ZoneOf(extent.place);
    if (!table_.Has(zone)) continue;
    const std::uint64_t bytes = OccupiedBytes(extent, setup_.geometry.block_size);
    if (bytes > table_[zone].live) Distrust(zone, bytes);
    table_.Change(zone, [&](ZoneState& z) { z.live -= std::min(bytes, z.live); });
    Settle(zone);
  }
  ZENFS_ASSERT(Sound());
}

// More bytes were removed than were live, so the live bytes of the zone are unknown and it is never reset. Damaged
// metadata may cause this, so it is an error, not a failed assertion.
void ZonePool::Distrust(ZoneId zone, std::uint64_t bytes) {
  const std::uint64_t live = table_[zone].live;
  table_.Change(zone, [](ZoneState& z) { z.distrusted = true; });
  health_.Update(Fail(
      Error(Code::kCorruption,
            fmt::format(
                "zone {}: {} bytes were deleted where only {} were counted as live; nothing more is written",
                zone.value, bytes, live))
          .Advise("unmount, run zenfs check, and report this if it finds no damage")));
}

void ZonePool::Pin(ZoneId zone) {
  ZENFS_ASSERT(table_.Has(zone));
  table_.Change(zone, [](ZoneState& z) { ++z.pins; });
}

bool ZonePool::Unpin(ZoneId zone) {
  const ZoneState& z = table_[zone];
  ZENFS_ASSERT(z.pins != 0);
  // The end of a read in a zone with live data, for example by reclaim itself, must not void the verdict.
  const bool changes = z.pins == 1 && (z.live == 0 || z.uncommitted != 0);
  table_.Change(zone, [](ZoneState& s) {
    --s.pins;
    if (s.pins == 0) s.uncommitted = 0;  // nobody can commit it any more
  });
  if (changes) demand_.NoteChange();
  const bool last = z.pins == 0;
  if (last) Settle(zone);
  ZENFS_ASSERT(Sound());
  return last;
}

// --- from full to empty ---

void ZonePool::Settle(ZoneId zone) {
  const ZoneState& z = table_[zone];
  if (!started_ || setup_.read_only || z.job || !z.Unused()) return;
  if (z.phase == ZonePhase::kFull) {
    QueueReset(zone);
  } else if (z.phase == ZonePhase::kActive && z.written == 0) {
    DropFromActive(zone);
    table_.Change(zone, [&](ZoneState& s) {
      s.phase = ZonePhase::kEmpty;
      s.lifetime = Lifetime::kNotSet;
      s.claims = 0;
      ++s.incarnation;
      slots_.Release(s);
    });
    empty_.ReleaseUnwritten(zone);
  } else if (z.phase == ZonePhase::kActive && z.written > z.capacity / 2) {
    QueueReset(zone);
  }
}

bool ZonePool::IsUnusedActive(ZoneId zone) const {
  const ZoneState& z = table_[zone];
  return z.Unused() && !z.job;
}

bool ZonePool::IsWorthAReset(ZoneId zone) const {
  const ZoneState& z = table_[zone];
  return IsUnusedActive(zone) && z.written >= z.capacity / kWorthAReset;
}

void ZonePool::ResetUnusedActives() {
  const std::vector<ZoneId> active = active_;
  for (const ZoneId zone : active) {
    if (IsUnusedActive(zone)) QueueReset(zone);
  }
}

void ZonePool::ResetWorthwhileActives() {
  const std::vector<ZoneId> active = active_;
  for (const ZoneId zone : active) {
    if (IsWorthAReset(zone)) QueueReset(zone);
  }
}

void ZonePool::ResetOneWorthwhileActive() {
  const auto zone = std::ranges::find_if(active_, [this](ZoneId active) { return IsWorthAReset(active); });
  if (zone != active_.end()) QueueReset(*zone);
}

void ZonePool::QueueReset(ZoneId zone) {
  if (jobs_.resets_stopped()) return;
  if (table_[zone].phase == ZonePhase::kActive) DropFromActive(zone);
  const bool from_log = table_[zone].from_log;
  table_.Change(zone, [](ZoneState& z) {
    z.phase = ZonePhase::kDead;
    z.job = true;
    z.claims = 0;
    ++z.incarnation;
  });
  const ZoneState& z = table_[zone];
  jobs_.Push({.zone = zone,
              .kind = from_log ? ZoneJob::Kind::kResetIfWritten : ZoneJob::Kind::kReset,
              .can_wait = !z.holds_slot && !z.for_log,
              .queued = SteadyNow()});
  EmptyOf(zone).BeginReset();
}

void ZonePool::UnqueueReset(ZoneId zone) {
  ZENFS_ASSERT(table_[zone].phase == ZonePhase::kDead);
  EmptyOf(zone).EndReset();
  const ZoneState& was = table_[zone];
  const bool active = was.holds_slot && was.room() != 0 && !was.from_log && !was.for_log;
  table_.Change(zone, [&](ZoneState& z) {
    z.job = false;
    z.phase = active ? ZonePhase::kActive : ZonePhase::kFull;
    z.from_log = z.from_log || z.for_log;  // it may still be active in the device
  });
  if (active) active_.push_back(zone);
}

void ZonePool::StopResets() {
  for (const ZoneId zone : jobs_.StopResets()) UnqueueReset(zone);
}

// --- jobs ---

std::optional<ZoneJob> ZonePool::NextJob() {
  while (!jobs_.empty()) {
    const ZoneJob job = jobs_.Pop();
    if (job.kind == ZoneJob::Kind::kFinish || table_[job.zone].Unused()) {
      ZENFS_ASSERT(table_[job.zone].job);
      jobs_.Begin();
      written_before_job_ = data_written_;
      return job;
    }
    UnqueueReset(job.zone);  // it was pinned, or got live data, after it was queued
  }
  return std::nullopt;
}

void ZonePool::JobDone(const ZoneJob& job, const ZoneJobOutcome& outcome) {
  ZENFS_ASSERT(table_[job.zone].job);
  jobs_.End();
  const bool offline = outcome.info && outcome.info->condition == ZoneCondition::kOffline;
  const bool reset = job.kind != ZoneJob::Kind::kFinish;
  if (reset) wrote_during_reset_ = data_written_ != written_before_job_;
  table_.Change(job.zone, [&](ZoneState& z) {
    z.job = false;
    // Also after a failure. If the device still counts the zone as active, a later write gets kBusy and waits; a slot
    // that is never freed would be worse.
    SlotsOf(job.zone).Release(z);
    if (!outcome.ok && outcome.refused && !offline) {
      // The zone keeps its phase and is reset once it is dead.
    } else if (!outcome.ok) {
      z.phase = offline ? ZonePhase::kUnusable : ZonePhase::kRetired;
    } else if (reset) {
      z.phase = ZonePhase::kEmpty;
      z.capacity = outcome.info->capacity;
      z.written = 0;
      z.uncommitted = 0;
      z.lifetime = Lifetime::kNotSet;
      z.from_log = false;
    }
  });
  demand_.NoteChange();
  if (reset) EmptyOf(job.zone).EndReset();
  if (reset && outcome.ok) EmptyOf(job.zone).Add(job.zone);
  if (account_.SparesLogShare()) empty_.RestoreLogShare();
  Settle(job.zone);
  ZENFS_ASSERT(Sound());
}

void ZonePool::PutOffReset(const ZoneJob& job) {
  jobs_.End();
  table_.Change(job.zone, [&](ZoneState& z) { SlotsOf(job.zone).Release(z); });
  if (jobs_.resets_stopped()) {
    UnqueueReset(job.zone);
  } else {
    jobs_.Push({.zone = job.zone, .kind = job.kind, .can_wait = true, .queued = job.queued});
  }
  demand_.NoteChange();
  ZENFS_ASSERT(Sound());
}

bool ZonePool::ResetsCanWait() const {
  return wrote_during_reset_ && !jobs_.empty() && jobs_.can_wait() && HasRoom();
}

bool ZonePool::HasRoom() const {
  const std::size_t few = empty_.few(table_.size());
  return empty_.size() > few && account_.ForData(0) >= few * account_.MeanZone();
}

// --- reports ---

ZoneStatus ZonePool::Zone(ZoneId zone) const {
  const ZoneState& z = table_[zone];
  return {.id = zone,
          .phase = z.phase,
          .lifetime = z.lifetime,
          .capacity = z.capacity,
          .written = z.written,
          .live = z.live,
          .uncommitted = z.uncommitted,
          .age = filled_ - z.filled,
          .pins = z.pins,
          .incarnation = z.incarnation};
}

std::vector<ZoneStatus> ZonePool::Zones() const {
  std::vector<ZoneStatus> zones;
  zones.reserve(table_.size());
  for (std::uint32_t i = 0; i < table_.size(); ++i) zones.push_back(Zone(ZoneId(i)));
  return zones;
}

std::vector<std::string> ZonePool::Check() const {
  std::vector<std::string> broken;
  const auto expect = [&]<typename... Values>(bool holds, fmt::format_string<Values...> text,
                                              Values&&... values) {
    if (!holds) broken.push_back(fmt::format(text, std::forward<Values>(values)...));
  };
  ZoneCounts count;
  for (std::uint32_t i = 0; i < table_.size(); ++i) {
    const ZoneState& z = table_.Peek(ZoneId(i));
    count.active += z.phase == ZonePhase::kActive;
    count.empty += z.phase == ZonePhase::kEmpty;
    count.dead += z.phase == ZonePhase::kDead;
    count.slots += z.holds_slot;
    count.writers += z.writer;
    count.granted += z.granted;
    const bool listed = std::ranges::find(active_, ZoneId(i)) != active_.end();
    expect(listed == (z.phase == ZonePhase::kActive), "zone {} is {} but {} in the list of active zones", i,
           PhaseName(z.phase), listed ? "is" : "is not");
    expect(z.phase != ZonePhase::kActive || setup_.read_only || (z.holds_slot && z.room() != 0),
           "active zone {} has no slot or no room", i);
    expect(!z.holds_slot || z.phase == ZonePhase::kActive || z.job || z.from_log,
           "zone {} ({}) holds a slot without need", i, PhaseName(z.phase));
    expect(z.phase != ZonePhase::kDead || z.job, "dead zone {} has no reset queued", i);
    expect(z.phase != ZonePhase::kEmpty || (z.written == 0 && z.live == 0 && z.pins == 0),
           "empty zone {} is not empty", i);
    expect(z.phase != ZonePhase::kActive || !z.for_log || setup_.read_only,
           "zone {} is the log's, but data writes it", i);
    expect(z.written <= z.capacity, "zone {} is written beyond its capacity", i);
    expect(!z.writer || z.phase == ZonePhase::kActive || z.phase == ZonePhase::kFull ||
               z.phase == ZonePhase::kRetired || z.phase == ZonePhase::kUnusable,
           "zone {} has a writer and is {}", i, PhaseName(z.phase));
    expect(z.pins != 0 || z.uncommitted == 0, "zone {} has uncommitted bytes and no pin", i);
  }
  expect(count.active == active_.size(), "the list of active zones contains a zone twice");
  expect(count.empty == empty_.all() + log_empty_.all(), "the list of empty zones is wrong");
  expect(count.dead == empty_.pending_resets() + log_empty_.pending_resets(),
         "the count of pending resets is wrong");
  expect(count.slots == slots_.used() + log_slots_.used(), "the count of slots is wrong");
  expect(count.writers == slots_.writers(), "the count of writers is wrong");
  expect(count.granted == account_.granted(), "the sum of granted room is wrong");
  expect(account_.promised() == 0 || setup_.headroom != 0, "room is promised without a headroom");
  return broken;
}

bool ZonePool::Sound() const {
  if (!started_) return true;
  for (const ZoneId zone : active_) {
    [[maybe_unused]] const ZoneState& z = table_.Peek(zone);
    ZENFS_ASSERT(z.phase == ZonePhase::kActive);
    ZENFS_ASSERT(setup_.read_only || (z.holds_slot && z.room() != 0));
    ZENFS_ASSERT(z.granted <= account_.granted());
  }
  ZENFS_ASSERT(setup_.read_only || active_.size() <= slots_.used());
  if (!std::has_single_bit(++sound_calls_)) return true;
  const std::vector<std::string> broken = Check();
  if (!broken.empty()) FailAssertion("zone pool: " + broken.front() + "\n");
  return true;
}

}  // namespace zenfs
