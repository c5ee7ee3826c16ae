// Flushes of a device's cache, one at a time: those who ask while one is under way share the next, which begins after it
// has ended.
//
// Flushes that overlap would be two answers to one question: the device may drop what it can't write in one of them and
// call the other a success. And a drive carries them out one after the other anyhow.
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
  // `flush` is called by one thread at a time.
  explicit SharedFlush(std::function<Status()> flush) : flush_(std::move(flush)) {}

  // What came of a flush that began after this was called.
  [[nodiscard]] Status Run() noexcept EXCLUDES(mutex_);  // others wait for the one that flushes

 private:
  // Those who are served by one flush.
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
