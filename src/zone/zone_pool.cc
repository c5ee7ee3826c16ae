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
    z.live += OccupiedBytes(extent, setup_.geometry.block_size);
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
