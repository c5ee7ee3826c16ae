// Sends the flushes of a device one at a time. Callers that arrive during a flush share the next one, which begins when
// the current one has ended.
//
// If two flushes overlapped, the device could drop data in the one that fails and report success for the other. And a
// drive executes flushes one after the other anyway.
//
// Threads: any. The mutex is a leaf and not held during the flush.
#pragma once

#include <functional>
#include <memory>

#include "base/mutex.h"
#include "base/status.h"

namespace zenfs {

class SharedFlush {
 public:
  // `flush` is called from one thread at a time.
  explicit SharedFlush(std::function<Status()> flush) : flush_(std::move(flush)) {}

  // Returns the result of a flush that began after this call. noexcept, because other threads wait for the flushing one.
  [[nodiscard]] Status Run() noexcept EXCLUDES(mutex_);

 private:
  // The callers that share the next flush. A caller that finds no flush under way, and nobody waiting, needs none.
  struct Group {
    bool done = false;
    Status status;
  };

  const std::function<Status()> flush_;
  Mutex mutex_{LockRank::kLeaf};
  CondVar ended_;
  std::shared_ptr<Group> next_ GUARDED_BY(mutex_);
  bool under_way_ GUARDED_BY(mutex_) = false;
};

}  // namespace zenfs
