#include "base/lock_order.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "base/scheduler.h"

namespace zenfs {

std::string_view LockRankName(LockRank rank) {
  switch (rank) {
    case LockRank::kMappedFile: return "kMappedFile";
    case LockRank::kMountSlot: return "kMountSlot";
    case LockRank::kPlainFile: return "kPlainFile";
    case LockRank::kCounters: return "kCounters";
    case LockRank::kCatalog: return "kCatalog";
    case LockRank::kOpenFiles: return "kOpenFiles";
    case LockRank::kFramedFiles: return "kFramedFiles";
    case LockRank::kLogSpace: return "kLogSpace";
    case LockRank::kLiveState: return "kLiveState";
    case LockRank::kMetalog: return "kMetalog";
    case LockRank::kVolumeLeaf: return "kVolumeLeaf";
    case LockRank::kDeviceZone: return "kDeviceZone";
    case LockRank::kDeviceState: return "kDeviceState";
    case LockRank::kDevicePool: return "kDevicePool";
    case LockRank::kLeaf: return "kLeaf";
    case LockRank::kUnranked: return "kUnranked";
  }
  return "unknown";
}

void HeldLocks::CheckMayLock(LockRank rank) const {
  for (const Held& held : std::span(held_).first(count_)) {
    if (held.rank < rank) continue;
    FailAssertion(fmt::format("lock order: a thread that holds a mutex of rank {} locks one of rank {}\n",
                              LockRankName(held.rank), LockRankName(rank)));
  }
}

void HeldLocks::Add(const void* mutex, LockRank rank) {
  if (count_ == kMost) FailAssertion("lock order: a thread holds too many mutexes\n");
  held_[count_++] = {mutex, rank};
}

void HeldLocks::Remove(const void* mutex) {
  Held* const end = held_.data() + count_;
  Held* const found = std::find_if(held_.data(), end, [&](const Held& held) { return held.mutex == mutex; });
  if (found == end) FailAssertion("lock order: a thread unlocks a mutex that it does not hold\n");
  *found = held_[--count_];
}

#if ZENFS_ASSERTIONS_RUN
namespace {

// Has no destructor, because destructors of the thread's other objects may still lock.
constinit thread_local HeldLocks held_by_thread;

HeldLocks& HeldNow() {
  Scheduler* const scheduler = Scheduler::Installed();
  return scheduler != nullptr ? scheduler->Held() : held_by_thread;
}

}  // namespace

void LockOrder::BeforeLock() const {
  if (rank_ != LockRank::kUnranked) HeldNow().CheckMayLock(rank_);
}

void LockOrder::Locked(const void* mutex) const {
  if (rank_ != LockRank::kUnranked) HeldNow().Add(mutex, rank_);
}

void LockOrder::Unlocked(const void* mutex) const {
  if (rank_ != LockRank::kUnranked) HeldNow().Remove(mutex);
}
#endif

}  // namespace zenfs
