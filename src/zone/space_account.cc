#include "zone/space_account.h"

#include <utility>

#include "base/bytes.h"

namespace zenfs {

// --- EmptyZones ---

ZoneId EmptyZones::Allocate() {
  ZENFS_ASSERT(!zones_.empty());
  const ZoneId zone = zones_.front();
  zones_.pop_front();
  return zone;
}

void EmptyZones::LogWaits(bool begins) {
  log_waits_ += begins ? 1 : -1;
  ZENFS_ASSERT(log_waits_ >= 0);
}

bool EmptyZones::ReduceLogShare() {
  if (share_reduced_ || log_.least == log_.needs) return false;
  share_reduced_ = true;
  return true;
}

void EmptyZones::EndReset() {
  ZENFS_ASSERT(pending_resets_ != 0);
  --pending_resets_;
}

void EmptyZones::DiscountLogZone() {
  ZENFS_ASSERT(log_zones_ != 0);
  --log_zones_;
}

// --- SpaceAccount ---

std::uint64_t SpaceAccount::MeanZone() const {
  const std::size_t zones = empty_.all_after_resets();
  return zones == 0 ? 0 : table_.totals().pool / zones;
}

std::uint64_t SpaceAccount::ForCopies() const {
  const std::uint64_t room = table_.totals().room + empty_.size() * MeanZone();
  return room - std::min(room, granted_ + promised_);
}

std::uint64_t SpaceAccount::RoomBeside(std::size_t kept) const {
  const std::size_t spare = empty_.size() - std::min(empty_.size(), kept);
  return table_.totals().room + spare * MeanZone();
}

std::uint64_t SpaceAccount::ForData(std::uint64_t own_promise) const {
  if (headroom_ == 0) return ~std::uint64_t{0};
  const std::uint64_t room = RoomBeside(empty_.kept_for_log());
  const std::uint64_t free = room - std::min(room, headroom_ + granted_ + promised_ - own_promise);
  return own_promise != 0 ? std::min(free, own_promise) : free;
}

bool SpaceAccount::Promise(std::uint64_t& promise, std::uint64_t wanted) {
  // The promised room may be gone, because a zone failed or the log keeps one more.
  if (!HasBlockForData(promise)) ReleasePromise(promise);
  const std::uint64_t want = std::min(wanted, most_promised());
  const std::uint64_t least = std::max<std::uint64_t>(want, block_size_);
  if (promise >= least) return true;
  if (promise + ForData(0) < least) return promise != 0;
  if (want > promise) promised_ += want - std::exchange(promise, want);
  ZENFS_ASSERT(promised_ == 0 || headroom_ != 0);
  return true;
}

void SpaceAccount::ReleasePromise(std::uint64_t& promise) {
  ZENFS_ASSERT(promised_ >= promise);
  promised_ -= std::exchange(promise, 0);
}

std::uint64_t SpaceAccount::Grant(std::uint64_t& promise, std::uint64_t room) {
  const std::uint64_t allowed = RoundDown(ForData(promise), block_size_);
  const std::uint64_t bytes = std::min(room, allowed);
  const std::uint64_t left = promise == 0 ? 0 : allowed - bytes;
  ZENFS_ASSERT(left <= promise && promise - left <= promised_);
  granted_ += bytes;
  promised_ -= promise - left;
  promise = left;
  return bytes;
}

void SpaceAccount::ReleaseGrant(std::uint64_t bytes) {
  ZENFS_ASSERT(granted_ >= bytes);
  granted_ -= bytes;
}

SpaceReport SpaceAccount::Report(bool log_apart) const {
  const ZoneTable::Totals& sum = table_.totals();
  SpaceReport report;
  report.metadata = sum.metadata;
  report.live = sum.live;
  report.garbage = sum.garbage;
  report.lost = sum.lost;
  // The reserve is counted in mean capacities, because the device may have changed the capacity of some zones.
  const std::size_t spare = empty_.all_after_resets() - empty_.size_after_resets();
  const std::size_t kept = spare + std::min(empty_.size_after_resets(), empty_.least_kept_for_log());
  const std::uint64_t kept_bytes = MeanZone() * kept;
  report.log = sum.log + kept_bytes + sum.log_pool;
  const std::uint64_t room = sum.room + (sum.pool - kept_bytes);
  report.reclaim = std::min(room, headroom_);
  report.free = room - report.reclaim;
  report.total = report.metadata + report.log + report.reclaim + report.live + report.garbage + report.free +
                 report.lost;
  report.log_limit = log_apart ? report.log : report.total;
  return report;
}

}  // namespace zenfs
