// The frames of which a front is on the device while the rest waits for another zone. Their files do not point to them yet,
// so the zones of these fronts can't be emptied, and waiting for that would be waiting for oneself.
//
// Threads: any. mutex_ is a leaf lock.
#pragma once

#include <cstdint>
#include <map>
#include <span>

#include "base/mutex.h"
#include "wal/frame_batch.h"

namespace zenfs {

class WaitingParts {
 public:
  using Bytes = std::map<ZoneId, std::uint64_t>;

  // While it exists, the unsettled ones of `jobs` wait. One at a time.
  class Scope {
   public:
    Scope(WaitingParts& parts, std::span<QueuedFrame* const> jobs);
    ~Scope() { parts_.Set({}); }
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    WaitingParts& parts_;
  };

  // Their bytes on the device, by zone.
  Bytes Now() const EXCLUDES(mutex_) {
    MutexLock lock(mutex_);
    return bytes_;
  }

 private:
  void Set(Bytes bytes) EXCLUDES(mutex_);

  mutable Mutex mutex_{LockRank::kLogSpace};
  Bytes bytes_ GUARDED_BY(mutex_);
};

}  // namespace zenfs
