// The phases of a zone, from the report at mount to its reset. zone_choice.cc chooses the zone for a write.
#include "zone/zone_pool.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <utility>

#include "zone/live_bytes.h"

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

}  // namespace

ZonePool::ZonePool(const Setup& setup, std::span<const ZoneInfo> report,
                   std::span<const ZoneId> metadata_zones)
    : setup_(setup), table_(report.size()) {
  for (const ZoneInfo& info : report) {
    table_.Change(info.id, [&](ZoneState& z) {
      z.phase = PhaseOf(info);
      // Conventional zones are not used and do not count in the totals.
      z.capacity = info.type == ZoneType::kSequentialRequired ? info.capacity : 0;
      z.written = std::min(RoundUp(info.WrittenBytes(), setup_.geometry.block_size), z.capacity);
      if (z.phase == ZonePhase::kActive) HoldSlot(z);
    });
  }
  for (const ZoneId zone : metadata_zones) {
    if (!table_.Has(zone)) continue;
    table_.Change(zone, [&](ZoneState& z) {
      FreeSlot(z);  // the metadata log has slots of its own
      z.phase = ZonePhase::kMetadata;
    });
  }
}

void ZonePool::AdoptLogZone(ZoneId zone) {
  if (!table_.Has(zone)) return;
  table_.Change(zone, [&](ZoneState& z) {
    FreeSlot(z);
    z.phase = ZonePhase::kLog;
  });
  ++log_zones_;
}

void ZonePool::AdoptExtent(const Extent& extent, Lifetime lifetime) {
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
        empty_.push_back(zone);
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
    const bool keep = table_[zone].room() != 0 && active_.size() < setup_.plan.data;
    if (keep || setup_.read_only) {
      active_.push_back(zone);
    } else {
      table_.Change(zone, [](ZoneState& z) { z.phase = ZonePhase::kFull; });
      QueueFinish(zone);
    }
  }
}

void ZonePool::Wrote(ZoneId zone, std::uint64_t bytes) {
  ZENFS_ASSERT(table_[zone].writer && bytes <= table_[zone].room());
  const std::uint64_t granted = std::min(bytes, table_[zone].granted);
  granted_ -= granted;
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

// Ends writes to the zone. If the zone may still be active in the device, a finish ends that.
void ZonePool::EndZone(ZoneId zone, ZonePhase phase, bool slot_free) {
  DropFromActive(zone);
  NoteChange();
  ++filled_;
  table_.Change(zone, [&](ZoneState& z) {
    z.phase = phase;
    z.filled = filled_;
    if (phase == ZonePhase::kFull) z.written = z.capacity;
    if (slot_free) FreeSlot(z);
  });
  if (!slot_free) QueueFinish(zone);
}

void ZonePool::EndWriter(ZoneId zone) {
  ZENFS_ASSERT(table_[zone].writer && writers_ != 0 && granted_ >= table_[zone].granted);
  granted_ -= table_[zone].granted;
  table_.Change(zone, [](ZoneState& z) {
    z.writer = false;
    z.granted = 0;
  });
  --writers_;
  NoteChange();
  Settle(zone);
  ZENFS_ASSERT(Sound());
}

// Called after a writer, pin, job or live bytes of the zone went away: reuses the zone if it is unused now.
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
      FreeSlot(s);
    });
    empty_.push_front(zone);
  } else if (z.phase == ZonePhase::kActive && z.written > z.capacity / 2) {
    QueueReset(zone);
  }
}

void ZonePool::QueueReset(ZoneId zone) {
  if (resets_stopped_) return;
  if (table_[zone].phase == ZonePhase::kActive) DropFromActive(zone);
  const bool from_log = table_[zone].from_log;
  table_.Change(zone, [](ZoneState& z) {
    z.phase = ZonePhase::kDead;
    z.job = true;
    z.claims = 0;
    ++z.incarnation;
  });
  jobs_.push_back({zone, from_log ? ZoneJob::Kind::kResetIfWritten : ZoneJob::Kind::kReset});
  ++pending_resets_;
}

bool ZonePool::FinishActive(ZoneId zone) {
  const ZoneState& z = table_[zone];
  if (z.phase != ZonePhase::kActive || z.writer || z.job) return false;
  EndZone(zone, ZonePhase::kFull, false);
  return true;
}

void ZonePool::QueueFinish(ZoneId zone) {
  table_.Change(zone, [](ZoneState& z) { z.job = true; });
  jobs_.push_back({zone, ZoneJob::Kind::kFinish});
}

void ZonePool::UnqueueReset(ZoneId zone) {
  ZENFS_ASSERT(pending_resets_ != 0 && table_[zone].phase == ZonePhase::kDead);
  --pending_resets_;
  const ZoneState& was = table_[zone];
  const bool active = was.holds_slot && was.room() != 0 && !was.from_log;
  table_.Change(zone, [&](ZoneState& z) {
    z.job = false;
    z.phase = active ? ZonePhase::kActive : ZonePhase::kFull;
  });
  if (active) active_.push_back(zone);
}

void ZonePool::StopResets() {
  resets_stopped_ = true;
  std::erase_if(jobs_, [this](const ZoneJob& job) {
    if (job.kind == ZoneJob::Kind::kFinish) return false;
    UnqueueReset(job.zone);
    return true;
  });
}

std::optional<ZoneJob> ZonePool::NextJob() {
  while (!jobs_.empty()) {
    const ZoneJob job = jobs_.front();
    jobs_.pop_front();
    if (job.kind == ZoneJob::Kind::kFinish || table_[job.zone].Unused()) {
      ZENFS_ASSERT(!job_running_ && table_[job.zone].job);
      job_running_ = true;
      return job;
    }
    UnqueueReset(job.zone);  // it was pinned, or got live data, after it was queued
  }
  return std::nullopt;
}

void ZonePool::JobDone(const ZoneJob& job, const ZoneJobOutcome& outcome) {
  ZENFS_ASSERT(job_running_ && table_[job.zone].job);
  job_running_ = false;
  const bool offline = outcome.info && outcome.info->condition == ZoneCondition::kOffline;
  const bool reset = job.kind != ZoneJob::Kind::kFinish;
  table_.Change(job.zone, [&](ZoneState& z) {
    z.job = false;
    // Also after a failure. If the device still counts the zone as active, a later write gets kBusy and waits; a slot
    // that is never freed would be worse.
    FreeSlot(z);
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
  NoteChange();
  ZENFS_ASSERT(!reset || pending_resets_ != 0);
  if (reset) --pending_resets_;
  if (reset && outcome.ok) empty_.push_back(job.zone);
  Settle(job.zone);
  ZENFS_ASSERT(Sound());
}

void ZonePool::ReturnLogZone(ZoneId zone) {
  if (!table_.Has(zone) || table_[zone].phase != ZonePhase::kLog) return;
  ZENFS_ASSERT(log_zones_ != 0);
  --log_zones_;
  NoteChange();
  table_.Change(zone, [&](ZoneState& z) {
    z.phase = ZonePhase::kFull;
    z.from_log = true;
    HoldSlot(z);  // it may still be active in the device
  });
  if (table_[zone].Unused()) {
    Settle(zone);
  } else {
    QueueFinish(zone);  // frees the slot, because a reader may pin the zone for a long time
  }
  ZENFS_ASSERT(Sound());
}

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
    if (settles) NoteChange();
  }
}

void ZonePool::RemoveLive(std::span<const Extent> extents) {
  if (!extents.empty()) NoteChange();
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
  table_.Change(zone, [](ZoneState& z) { ++z.pins; });
}

void ZonePool::Unpin(ZoneId zone) {
  const ZoneState& z = table_[zone];
  ZENFS_ASSERT(z.pins != 0);
  // The end of a read in a zone with live data, for example by reclaim itself, must not void the verdict.
  const bool changes = z.pins == 1 && (z.live == 0 || z.uncommitted != 0);
  table_.Change(zone, [](ZoneState& s) {
    --s.pins;
    if (s.pins == 0) s.uncommitted = 0;  // nobody can commit it any more
  });
  if (changes) NoteChange();
  if (z.pins == 0) Settle(zone);
  ZENFS_ASSERT(Sound());
}

void ZonePool::DropFromActive(ZoneId zone) { std::erase(active_, zone); }

void ZonePool::HoldSlot(ZoneState& state) {
  if (!state.holds_slot) ++slots_used_;
  state.holds_slot = true;
}

void ZonePool::FreeSlot(ZoneState& state) {
  ZENFS_ASSERT(!state.holds_slot || slots_used_ != 0);
  if (state.holds_slot) --slots_used_;
  state.holds_slot = false;
}

}  // namespace zenfs
