#include "zone/reclaim_demand.h"

#include <algorithm>

namespace zenfs {
namespace {

// Reclaim runs at full speed once data can write less than this number of zones. Waiting longer would save copies,
// because more data dies meanwhile, but a compaction that waits for a whole zone loses more.
constexpr std::uint64_t kZonesAhead = 1;

}  // namespace

// Copies do not wait for reclaim, because they are reclaim.
TakeOutcome ReclaimDemand::AfterReclaim(WritePurpose purpose, std::uint64_t own_promise) const {
  const std::uint64_t with_others = room_.granted() + room_.promised() - own_promise;
  if (reclaims_ && purpose == WritePurpose::kData) {
    const bool nothing_comes = VerdictHolds(ReclaimUrgency::kUrgent) && !verdict_->pending && jobs_.idle();
    // Other writers may return granted or promised room, since most use less.
    if (!nothing_comes || with_others != 0) return TakeOutcome::kWaitForReclaim;
    return TakeOutcome::kNoSpace;
  }
  if (!jobs_.idle() || (with_others != 0 && purpose == WritePurpose::kData)) return TakeOutcome::kWait;
  return table_.totals().pinned_dead != 0 ? TakeOutcome::kWaitForPins : TakeOutcome::kNoSpace;
}

std::optional<ReclaimUrgency> ReclaimDemand::Urgency() const {
  const std::uint64_t in_reset = empty_.pending_resets() * room_.MeanZone();
  if (waiting_ != 0 || room_.ForCopies() + in_reset < room_.headroom()) return ReclaimUrgency::kUrgent;
  const std::uint64_t for_data = room_.ForData(0) + in_reset;
  if (room_.headroom() != 0 && for_data < kZonesAhead * room_.headroom()) return ReclaimUrgency::kAhead;
  const std::size_t few = empty_.kept_for_log() + std::max<std::size_t>(2, table_.size() / 32);
  if (room_.headroom() != 0 && empty_.size_after_resets() < few) return ReclaimUrgency::kLow;
  if (tidy_asked_) return ReclaimUrgency::kTidy;
  return std::nullopt;
}

bool ReclaimDemand::VerdictHolds(ReclaimUrgency urgency) const {
  return verdict_ && verdict_->version == version_ && verdict_->urgency >= urgency;
}

std::optional<ReclaimNeed> ReclaimDemand::Need() const {
  if (!reclaims_) return std::nullopt;
  const std::optional<ReclaimUrgency> urgency = Urgency();
  if (!urgency || VerdictHolds(*urgency)) return std::nullopt;
  return ReclaimNeed{*urgency, room_.ForCopies(), room_.headroom(), version_};
}

void ReclaimDemand::ForgetPendingVerdict() {
  if (verdict_ && verdict_->pending) verdict_.reset();
}

}  // namespace zenfs
