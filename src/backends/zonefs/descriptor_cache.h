// Files that stay open for reading: the ones used last, at most so many.
//
// A descriptor that was handed out stays open as long as somebody has it, whether or not the cache still does.
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

// The process, or the host, has no descriptor left to open a file with.
[[nodiscard]] inline bool IsOutOfDescriptors(const Error& error) {
  return error.os_errno() == EMFILE || error.os_errno() == ENFILE;
}

class DescriptorCache {
 public:
  using Descriptor = std::shared_ptr<const UniqueFd>;
  using Opener = std::function<Result<UniqueFd>(ZoneId)>;

  // `bound` is at least 1. `open` is called from any thread.
  DescriptorCache(std::size_t bound, Opener open);

  // The file of `zone`, open. Errors: those of the opener. When the process has no descriptors left, the cache gives
  // all of its own back and tries once more.
  [[nodiscard]] Result<Descriptor> Get(ZoneId zone) EXCLUDES(mutex_);

  // Forgets all files, so that those that nobody has are closed.
  void Clear() EXCLUDES(mutex_);

  std::size_t size() const EXCLUDES(mutex_);

 private:
  struct Entry {
    ZoneId zone;
    Descriptor descriptor;
  };
  using Entries = std::list<Entry>;  // the one used last in front

  Descriptor Find(ZoneId zone) EXCLUDES(mutex_);
  // `opened`, or what somebody else has put there meanwhile.
  Descriptor Insert(ZoneId zone, Descriptor opened) EXCLUDES(mutex_);

  const std::size_t bound_;
  const Opener open_;
  mutable Mutex mutex_;
  Entries entries_ GUARDED_BY(mutex_);
  std::unordered_map<ZoneId, Entries::iterator> places_ GUARDED_BY(mutex_);
};

}  // namespace zenfs
