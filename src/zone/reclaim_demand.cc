#include "zone/reclaim_demand.h"

#include <algorithm>

namespace zenfs {
namespace {

// Reclaim runs at full speed once data can write less than this number of zones. Waiting longer would save copies,
// because more data dies meanwhile, but a compaction that waits for a whole zone loses more.
constexpr std::uint64_t kZonesAhead = 1;

}  // namespace

// Copies do not wait for reclaim, because they are reclaim.
AllocationOutcome ReclaimDemand::AfterReclaim(WritePurpose purpose, std::uint64_t own_promise) const {
  const std::uint64_t with_others = deps_.room.granted() + deps_.room.promised() - own_promise;
  if (deps_.reclaims && purpose == WritePurpose::kData) {
    // Other writers may return granted or promised room, since most use less.
    if (!NothingComes(verdict_) || with_others != 0) return AllocationOutcome::kWaitForReclaim;
    return AllocationOutcome::kNoSpace;
  }
  if (!deps_.jobs.idle() || (with_others != 0 && purpose == WritePurpose::kData))
    return AllocationOutcome::kWait;
  return deps_.table.totals().pinned_dead != 0 ? AllocationOutcome::kWaitForPins
                                               : AllocationOutcome::kNoSpace;
}

AllocationOutcome ReclaimDemand::AfterLogReclaim() const {
  if (!deps_.reclaims) return deps_.jobs.idle() ? AllocationOutcome::kNoSpace : AllocationOutcome::kWait;
  const bool nothing = NothingComes(log_verdict_) && (!log_verdict_->lacks_room || NothingComes(verdict_));
  return nothing ? AllocationOutcome::kNoSpace : AllocationOutcome::kWaitForLogReclaim;
}

bool ReclaimDemand::NothingComes(const Verdict& verdict) const {
  return Holds(verdict, ReclaimUrgency::kUrgent) && !verdict->pending && deps_.jobs.idle();
}

bool ReclaimDemand::LogNeedsRoom() const {
  return log_waiting_ != 0 && Holds(log_verdict_, ReclaimUrgency::kUrgent) && log_verdict_->lacks_room;
}

std::optional<ReclaimUrgency> ReclaimDemand::Urgency() const {
  const SpaceAccount& room = deps_.room;
  const EmptyZones& empty = deps_.empty;
  const std::uint64_t in_reset = empty.pending_resets() * room.MeanZone();
  if (waiting_ != 0 || room.ForCopies() + in_reset < room.headroom()) return ReclaimUrgency::kUrgent;
  if (LogNeedsRoom()) return ReclaimUrgency::kUrgent;
  const std::uint64_t for_data = room.ForData(0) + in_reset;
  if (room.headroom() != 0 && for_data < kZonesAhead * room.most_promised()) return ReclaimUrgency::kAhead;
  if (room.headroom() != 0 && empty.size_after_resets() < empty.few(deps_.table.size()))
    return ReclaimUrgency::kLow;
  const bool nearly_dead = tidies_data_ && room.headroom() != 0 && deps_.table.totals().nearly_dead != 0;
  if (nearly_dead || (tidy_asked_ && !log_apart())) return ReclaimUrgency::kTidy;
  return std::nullopt;
}

std::optional<ReclaimUrgency> ReclaimDemand::LogUrgency() const {
  if (log_waiting_ != 0) return ReclaimUrgency::kUrgent;
  if (deps_.log_empty->size_after_resets() == 0) return ReclaimUrgency::kAhead;
  if (tidy_asked_) return ReclaimUrgency::kTidy;
  return std::nullopt;
}

bool ReclaimDemand::Presses() const {
  const std::optional<ReclaimNeed> need = Need();
  return need && need->urgency >= ReclaimUrgency::kAhead;
}

bool ReclaimDemand::Holds(const Verdict& verdict, ReclaimUrgency urgency) const {
  if (!verdict || verdict->urgency < urgency) return false;
  if (verdict->version == version_) return true;
  // Only for needs that last: few empty zones, and of the log's own device, which is small, nearly none.
  const bool lasts = urgency == ReclaimUrgency::kLow ||
                     (urgency == ReclaimUrgency::kAhead && verdict->victims == VictimZones::kLog);
  return lasts && SteadyNow() < verdict->until;
}

std::optional<ReclaimNeed> ReclaimDemand::LogNeed() const {
  if (!log_apart()) return std::nullopt;
  const std::optional<ReclaimUrgency> urgency = LogUrgency();
  if (!urgency || Holds(log_verdict_, *urgency)) return std::nullopt;
  const std::uint64_t room = deps_.room.ForCopies();
  const std::uint64_t beyond = room - std::min(room, deps_.room.headroom());
  return ReclaimNeed{*urgency, beyond, 0, version_, VictimZones::kLog};
}

std::optional<ReclaimNeed> ReclaimDemand::DataNeed() const {
  const std::optional<ReclaimUrgency> urgency = Urgency();
  if (!urgency || Holds(verdict_, *urgency)) return std::nullopt;
  const VictimZones victims = log_apart() ? VictimZones::kData : VictimZones::kAll;
  return ReclaimNeed{*urgency, deps_.room.ForCopies(), deps_.room.headroom(), version_, victims};
}

// The more urgent one; the log's if both are urgent, because syncs wait for it.
std::optional<ReclaimNeed> ReclaimDemand::Need() const {
  if (!deps_.reclaims) return std::nullopt;
  const std::optional<ReclaimNeed> log = LogNeed();
  if (log && log->urgency == ReclaimUrgency::kUrgent) return log;
  const std::optional<ReclaimNeed> data = DataNeed();
  return log && (!data || log->urgency > data->urgency) ? log : data;
}

void ReclaimDemand::ForgetPendingVerdict() {
  for (Verdict* verdict : {&verdict_, &log_verdict_}) {
    if (*verdict && (*verdict)->pending) verdict->reset();
  }
}

}  // namespace zenfs
