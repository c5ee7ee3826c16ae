#include "device/shared_flush.h"

#include "base/assert.h"
#include "base/sync_point.h"

namespace zenfs {

Status SharedFlush::Run() noexcept {
  MutexLock lock(mutex_);
  if (next_ == nullptr) next_ = std::make_shared<Group>();
  const std::shared_ptr<Group> mine = next_;
  SyncPoint::Reach("SharedFlush::Joined");
  while (under_way_ && !mine->done) ended_.Wait(mutex_);
  if (mine->done) return mine->status;
  under_way_ = true;
  next_ = nullptr;
  lock.Unlock();
  Status flushed = flush_();
  lock.Lock();
  ZENFS_ASSERT(under_way_);
  under_way_ = false;
  mine->done = true;
  mine->status = flushed;
  ended_.NotifyAll();
  return flushed;
}

}  // namespace zenfs
