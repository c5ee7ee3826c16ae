#include "zone/room_account.h"

#include <algorithm>
#include <utility>

#include "base/assert.h"
#include "base/bytes.h"

namespace zenfs {

std::uint64_t RoomAccount::MeanZone() const {
  const std::size_t zones = empty_.all_after_resets();
  return zones == 0 ? 0 : table_.totals().pool / zones;
}

std::uint64_t RoomAccount::ForCopies() const {
  const std::uint64_t room = table_.totals().room + empty_.size() * MeanZone();
  return room - std::min(room, granted_ + promised_);
}

std::uint64_t RoomAccount::RoomBeside(std::size_t kept) const {
  const std::size_t spare = empty_.size() - std::min(empty_.size(), kept);
  return table_.totals().room + spare * MeanZone();
}

std::uint64_t RoomAccount::ForData(std::uint64_t own_promise) const {
  if (headroom_ == 0) return ~std::uint64_t{0};
  const std::uint64_t room = RoomBeside(empty_.kept_for_log());
  const std::uint64_t free = room - std::min(room, headroom_ + granted_ + promised_ - own_promise);
  return own_promise != 0 ? std::min(free, own_promise) : free;
}

bool RoomAccount::Promise(std::uint64_t& promise, std::uint64_t wanted) {
  // The promised room may be gone, because a zone failed or the log keeps one more.
  if (!HasBlockForData(promise)) VoidPromise(promise);
  const std::uint64_t want = std::min(wanted, most_promised());
  const std::uint64_t least = std::max<std::uint64_t>(want, block_size_);
  if (promise >= least) return true;
  if (promise + ForData(0) < least) return promise != 0;
  if (want > promise) promised_ += want - std::exchange(promise, want);
  ZENFS_ASSERT(promised_ == 0 || headroom_ != 0);
  return true;
}

void RoomAccount::VoidPromise(std::uint64_t& promise) {
  ZENFS_ASSERT(promised_ >= promise);
  promised_ -= std::exchange(promise, 0);
}

std::uint64_t RoomAccount::Grant(std::uint64_t& promise, std::uint64_t room) {
  const std::uint64_t allowed = RoundDown(ForData(promise), block_size_);
  const std::uint64_t bytes = std::min(room, allowed);
  const std::uint64_t left = promise == 0 ? 0 : allowed - bytes;
  ZENFS_ASSERT(left <= promise && promise - left <= promised_);
  granted_ += bytes;
  promised_ -= promise - left;
  promise = left;
  return bytes;
}

void RoomAccount::EndGrant(std::uint64_t bytes) {
  ZENFS_ASSERT(granted_ >= bytes);
  granted_ -= bytes;
}

}  // namespace zenfs
