// A handler of sync points that can be changed while threads pass points. It is installed before
// the first thread starts and removed after the last one ends; only its action changes.
//
// Construct it before, and destroy it after, everything that has threads: as the first base or
// member of a fixture.
#pragma once

#include <functional>
#include <memory>

#include "base/mutex.h"
#include "base/sync_point.h"

namespace zenfs {

class SwitchedPoints {
 public:
  // Calls `handler` at every point passed during the life of the object. A call in progress may end
  // later.
  class During {
   public:
    During(SwitchedPoints& points, SyncPoint::Handler handler) : points_(points) {
      points_.Set(std::make_shared<const SyncPoint::Handler>(std::move(handler)));
    }
    ~During() { points_.Set(nullptr); }
    During(const During&) = delete;
    During& operator=(const During&) = delete;

   private:
    SwitchedPoints& points_;
  };

 private:
  using Shared = std::shared_ptr<const SyncPoint::Handler>;

  void Set(Shared handler) EXCLUDES(mutex_) {
    MutexLock lock(mutex_);
    handler_ = std::move(handler);
  }
  Shared Get() EXCLUDES(mutex_) {
    MutexLock lock(mutex_);
    return handler_;
  }

  Mutex mutex_;  // leaf
  Shared handler_ GUARDED_BY(mutex_);
  SyncPoint::Scope scope_{[this](std::string_view name) {
    if (const Shared handler = Get()) (*handler)(name);
  }};
};

}  // namespace zenfs
