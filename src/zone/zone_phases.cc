#include "zone/zone_phases.h"

#include <algorithm>
#include <functional>
#include <utility>

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

}  // namespace

void ZonePhases::AdoptReport(std::span<const ZoneInfo> report, std::span<const ZoneId> metadata_zones) {
  for (const ZoneInfo& info : report) {
    parts_.table.Change(info.id, [&](ZoneState& z) {
      z.phase = PhaseOf(info);
      // Conventional zones are not used and do not count in the totals.
      z.capacity = info.type == ZoneType::kSequentialRequired ? info.capacity : 0;
      z.written = std::min(RoundUp(info.WrittenBytes(), parts_.setup.geometry.block_size), z.capacity);
      z.for_log = parts_.setup.geometry.OnLogDevice(info.id);
      if (z.phase == ZonePhase::kActive) parts_.SlotsOf(info.id).Hold(z);
    });
  }
  for (const ZoneId zone : metadata_zones) {
    if (!parts_.table.Has(zone)) continue;
    parts_.table.Change(zone, [&](ZoneState& z) {
      parts_.slots.Free(z);  // the metadata log has slots of its own
      z.phase = ZonePhase::kMetadata;
    });
  }
}

void ZonePhases::Start() {
  parts_.started = true;
  std::vector<ZoneId> partly_written;
  for (std::uint32_t i = 0; i < parts_.table.size(); ++i) {
    const ZoneId zone(i);
    const ZoneState& z = parts_.table[zone];
    if (z.phase == ZonePhase::kEmpty) {
      // Live data in an empty zone is damage, which check reports. New data there would be read in its place.
      if (z.live != 0) {
        parts_.table.Change(zone, [](ZoneState& s) { s.phase = ZonePhase::kRetired; });
      } else {
        parts_.EmptyOf(zone).Add(zone);
      }
    } else if (z.phase == ZonePhase::kActive && (z.live != 0 || z.pins != 0 || parts_.setup.read_only)) {
      partly_written.push_back(zone);
    }
  }
  AdoptActive(std::move(partly_written));
  for (std::uint32_t i = 0; i < parts_.table.size() && !parts_.setup.read_only; ++i) {
    const ZoneState& z = parts_.table[ZoneId(i)];
    if ((z.phase == ZonePhase::kActive || z.phase == ZonePhase::kFull) && z.Unused()) QueueReset(ZoneId(i));
  }
}

// Keeps the zones with the most room active and finishes the others. More zones than the plan allows can be active, for
// example after the limits of the device were lowered.
void ZonePhases::AdoptActive(std::vector<ZoneId> zones) {
  std::ranges::sort(zones, std::ranges::greater(),
                    [&](ZoneId zone) { return std::pair(parts_.table[zone].room(), zone); });
  for (const ZoneId zone : zones) {
    const ZoneState& z = parts_.table[zone];
    const bool keep = z.room() != 0 && !z.for_log && parts_.active.size() < parts_.setup.plan.data;
    if (keep || parts_.setup.read_only) {
      parts_.active.push_back(zone);
    } else {
      parts_.table.Change(zone, [](ZoneState& full) { full.phase = ZonePhase::kFull; });
      QueueFinish(zone);
    }
  }
}

ZoneId ZonePhases::Activate() {
  const ZoneId zone = parts_.empty.Allocate();
  parts_.table.Change(zone, [&](ZoneState& z) {
    z.phase = ZonePhase::kActive;
    parts_.slots.Hold(z);
  });
  parts_.active.push_back(zone);
  ZENFS_ASSERT(!parts_.slots.exceeded());
  return zone;
}

void ZonePhases::EndZone(ZoneId zone, ZonePhase phase, bool slot_free) {
  DropFromActive(zone);
  parts_.reclaim.NoteChange();
  ++filled_;
  parts_.table.Change(zone, [&](ZoneState& z) {
    z.phase = phase;
    z.filled = filled_;
    if (phase == ZonePhase::kFull) z.written = z.capacity;
    if (slot_free) parts_.slots.Free(z);
  });
  if (!slot_free) QueueFinish(zone);
}

std::vector<ZoneId> ZonePhases::TakeForMetadata(std::size_t count) {
  std::vector<ZoneId> taken;
  const bool spare = parts_.empty.size() >= count + parts_.empty.all_kept_for_log() &&
                     parts_.room.ForData(0) >= count * parts_.room.MeanZone();
  while (spare && taken.size() < count) {
    taken.push_back(parts_.empty.Allocate());
    parts_.table.Change(taken.back(), [](ZoneState& z) { z.phase = ZonePhase::kMetadata; });
  }
  ZENFS_ASSERT(parts_.Sound());
  return taken;
}

void ZonePhases::ReturnFromMetadata(ZoneId zone) {
  if (!parts_.table.Has(zone)) return;
  ZENFS_ASSERT(parts_.table[zone].phase == ZonePhase::kMetadata);
  parts_.table.Change(zone, [](ZoneState& z) {
    z.phase = ZonePhase::kEmpty;
    z.written = 0;
    z.claims = 0;
    ++z.incarnation;
  });
  parts_.empty.Add(zone);
  parts_.reclaim.NoteChange();
  ZENFS_ASSERT(parts_.Sound());
}

bool ZonePhases::FinishActive(ZoneId zone) {
  const ZoneState& z = parts_.table[zone];
  if (z.phase != ZonePhase::kActive || z.writer || z.job) return false;
  EndZone(zone, ZonePhase::kFull, false);
  return true;
}

void ZonePhases::QueueFinish(ZoneId zone) {
  parts_.table.Change(zone, [](ZoneState& z) { z.job = true; });
  parts_.jobs.Push({.zone = zone, .kind = ZoneJob::Kind::kFinish});
}

void ZonePhases::Settle(ZoneId zone) {
  const ZoneState& z = parts_.table[zone];
  if (!parts_.started || parts_.setup.read_only || z.job || !z.Unused()) return;
  if (z.phase == ZonePhase::kFull) {
    QueueReset(zone);
  } else if (z.phase == ZonePhase::kActive && z.written == 0) {
    DropFromActive(zone);
    parts_.table.Change(zone, [&](ZoneState& s) {
      s.phase = ZonePhase::kEmpty;
      s.lifetime = Lifetime::kNotSet;
      s.claims = 0;
      ++s.incarnation;
      parts_.slots.Free(s);
    });
    parts_.empty.ReleaseUnwritten(zone);
  } else if (z.phase == ZonePhase::kActive && z.written > z.capacity / 2) {
    QueueReset(zone);
  }
}

bool ZonePhases::IsUnusedActive(ZoneId zone) const {
  const ZoneState& z = parts_.table[zone];
  return z.Unused() && !z.job;
}

bool ZonePhases::IsWorthAReset(ZoneId zone) const {
  const ZoneState& z = parts_.table[zone];
  return IsUnusedActive(zone) && z.written >= z.capacity / kWorthAReset;
}

void ZonePhases::ResetUnusedActives() {
  const std::vector<ZoneId> active = parts_.active;
  for (const ZoneId zone : active) {
    if (IsUnusedActive(zone)) QueueReset(zone);
  }
}

void ZonePhases::ResetWorthwhileActives() {
  const std::vector<ZoneId> active = parts_.active;
  for (const ZoneId zone : active) {
    if (IsWorthAReset(zone)) QueueReset(zone);
  }
}

void ZonePhases::ResetOneWorthwhileActive() {
  const auto zone =
      std::ranges::find_if(parts_.active, [this](ZoneId active) { return IsWorthAReset(active); });
  if (zone != parts_.active.end()) QueueReset(*zone);
}

void ZonePhases::QueueReset(ZoneId zone) {
  if (parts_.jobs.resets_stopped()) return;
  if (parts_.table[zone].phase == ZonePhase::kActive) DropFromActive(zone);
  const bool from_log = parts_.table[zone].from_log;
  parts_.table.Change(zone, [](ZoneState& z) {
    z.phase = ZonePhase::kDead;
    z.job = true;
    z.claims = 0;
    ++z.incarnation;
  });
  const ZoneState& z = parts_.table[zone];
  parts_.jobs.Push({.zone = zone,
                    .kind = from_log ? ZoneJob::Kind::kResetIfWritten : ZoneJob::Kind::kReset,
                    .can_wait = !z.holds_slot && !z.for_log,
                    .queued = SteadyNow()});
  parts_.EmptyOf(zone).BeginReset();
}

void ZonePhases::UnqueueReset(ZoneId zone) {
  ZENFS_ASSERT(parts_.table[zone].phase == ZonePhase::kDead);
  parts_.EmptyOf(zone).EndReset();
  const ZoneState& was = parts_.table[zone];
  const bool active = was.holds_slot && was.room() != 0 && !was.from_log && !was.for_log;
  parts_.table.Change(zone, [&](ZoneState& z) {
    z.job = false;
    z.phase = active ? ZonePhase::kActive : ZonePhase::kFull;
    z.from_log = z.from_log || z.for_log;  // it may still be active in the device
  });
  if (active) parts_.active.push_back(zone);
}

void ZonePhases::StopResets() {
  for (const ZoneId zone : parts_.jobs.StopResets()) UnqueueReset(zone);
}

bool ZonePhases::ResetsCanWait() const {
  return wrote_during_reset_ && !parts_.jobs.empty() && parts_.jobs.can_wait() && HasRoom();
}

bool ZonePhases::HasRoom() const {
  const std::size_t few = parts_.empty.few(parts_.table.size());
  return parts_.empty.size() > few && parts_.room.ForData(0) >= few * parts_.room.MeanZone();
}

void ZonePhases::PutOffReset(const ZoneJob& job) {
  parts_.jobs.End();
  parts_.table.Change(job.zone, [&](ZoneState& z) { parts_.SlotsOf(job.zone).Free(z); });
  if (parts_.jobs.resets_stopped()) {
    UnqueueReset(job.zone);
  } else {
    parts_.jobs.Push({.zone = job.zone, .kind = job.kind, .can_wait = true, .queued = job.queued});
  }
  parts_.reclaim.NoteChange();
  ZENFS_ASSERT(parts_.Sound());
}

std::optional<ZoneJob> ZonePhases::NextJob() {
  while (!parts_.jobs.empty()) {
    const ZoneJob job = parts_.jobs.Pop();
    if (job.kind == ZoneJob::Kind::kFinish || parts_.table[job.zone].Unused()) {
      ZENFS_ASSERT(parts_.table[job.zone].job);
      parts_.jobs.Begin();
      written_before_job_ = parts_.data_written;
      return job;
    }
    UnqueueReset(job.zone);  // it was pinned, or got live data, after it was queued
  }
  return std::nullopt;
}

void ZonePhases::JobDone(const ZoneJob& job, const ZoneJobOutcome& outcome) {
  ZENFS_ASSERT(parts_.table[job.zone].job);
  parts_.jobs.End();
  const bool offline = outcome.info && outcome.info->condition == ZoneCondition::kOffline;
  const bool reset = job.kind != ZoneJob::Kind::kFinish;
  if (reset) wrote_during_reset_ = parts_.data_written != written_before_job_;
  parts_.table.Change(job.zone, [&](ZoneState& z) {
    z.job = false;
    // Also after a failure. If the device still counts the zone as active, a later write gets kBusy and waits; a slot
    // that is never freed would be worse.
    parts_.SlotsOf(job.zone).Free(z);
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
  parts_.reclaim.NoteChange();
  if (reset) parts_.EmptyOf(job.zone).EndReset();
  if (reset && outcome.ok) parts_.EmptyOf(job.zone).Add(job.zone);
  if (parts_.room.SparesLogShare()) parts_.empty.RestoreLogShare();
  Settle(job.zone);
  ZENFS_ASSERT(parts_.Sound());
}

void ZonePhases::DropFromActive(ZoneId zone) { std::erase(parts_.active, zone); }

}  // namespace zenfs
