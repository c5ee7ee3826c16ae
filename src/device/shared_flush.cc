#include "device/shared_flush.h"

#include "base/assert.h"
#include "base/sync_point.h"

namespace zenfs {

Status SharedFlush::Run() noexcept {
  MutexLock lock(mutex_);
  if (under_way_ && next_ == nullptr) next_ = std::make_shared<Group>();
  const std::shared_ptr<Group> mine = next_;
  SyncPoint::Reach("SharedFlush::Joined");
  while (under_way_ && !mine->done) ended_.Wait(mutex_);
  if (mine != nullptr && mine->done) return mine->status;
  under_way_ = true;
  ZENFS_ASSERT(next_ == mine);
  next_ = nullptr;
  lock.Unlock();
  Status flushed = flush_();
  lock.Lock();
  ZENFS_ASSERT(under_way_);
  under_way_ = false;
  if (mine != nullptr) {
    mine->done = true;
    mine->status = flushed;
  }
  if (mine != nullptr || next_ != nullptr) ended_.NotifyAll();
  return flushed;
}

}  // namespace zenfs
