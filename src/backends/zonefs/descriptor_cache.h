// A bounded cache of files open for reading; the least recently used is evicted.
//
// A descriptor that was handed out stays open as long as somebody holds it, even after its
// eviction.
//
// Threads: safe from any thread. mutex_ is a leaf lock; files are opened and closed outside of it.
#pragma once

#include <cerrno>
#include <cstddef>
#include <functional>
#include <list>
#include <memory>
#include <unordered_map>

#include "base/mutex.h"
#include "base/status.h"
#include "base/unique_fd.h"
#include "model/units.h"

namespace zenfs {

// True if the process or the host has no more descriptors.
[[nodiscard]] inline bool IsOutOfDescriptors(const Error& error) {
  return error.os_errno() == EMFILE || error.os_errno() == ENFILE;
}

class DescriptorCache {
 public:
  using Descriptor = std::shared_ptr<const UniqueFd>;
  using Opener = std::function<Result<UniqueFd>(ZoneId)>;

  // `bound` is at least 1. `open` may be called from any thread.
  DescriptorCache(std::size_t bound, Opener open);

  // The open file of `zone`. Errors: those of the opener. If the process has no descriptors left,
  // the cache is cleared and the open is retried once.
  [[nodiscard]] Result<Descriptor> Get(ZoneId zone) EXCLUDES(mutex_);

  // Removes all files from the cache. Files that nobody holds are closed.
  void Clear() EXCLUDES(mutex_);

  std::size_t size() const EXCLUDES(mutex_);

 private:
  struct Entry {
    ZoneId zone;
    Descriptor descriptor;
  };
  using Entries = std::list<Entry>;  // most recently used first

  Descriptor Find(ZoneId zone) EXCLUDES(mutex_);
  // Inserts `opened`, unless another thread has inserted a descriptor meanwhile. Returns the cached
  // one.
  Descriptor Insert(ZoneId zone, Descriptor opened) EXCLUDES(mutex_);

  const std::size_t bound_;
  const Opener open_;
  mutable Mutex mutex_{LockRank::kDevicePool};
  Entries entries_ GUARDED_BY(mutex_);
  std::unordered_map<ZoneId, Entries::iterator> places_ GUARDED_BY(mutex_);
};

}  // namespace zenfs
