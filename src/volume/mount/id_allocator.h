// Allocates file ids that were never used. They are below a limit that is committed ahead, in batches.
// Threads: any. mutex_ is held during the commit that raises the limit, once in kBatch files.
#pragma once

#include <cstdint>
#include <functional>

#include "base/mutex.h"
#include "base/status.h"
#include "model/units.h"

namespace zenfs {

class IdAllocator {
 public:
  static constexpr std::uint64_t kBatch = 4096;
  // Commits that all ids below `next_id` may be in use.
  using Raise = std::function<Status(std::uint64_t next_id)>;

  // Ids in [next, limit) are free and the limit is committed.
  IdAllocator(std::uint64_t next, std::uint64_t limit, Raise raise)
      : raise_(std::move(raise)), next_(next), limit_(limit) {}

  [[nodiscard]] Result<FileId> Next() EXCLUDES(mutex_) {
    MutexLock lock(mutex_);
    if (next_ == limit_) {
      ZENFS_RETURN_IF_ERROR(raise_(limit_ + kBatch));
      limit_ += kBatch;
    }
    return FileId(next_++);
  }

 private:
  const Raise raise_;
  Mutex mutex_{LockRank::kCounters};  // before the metadata log
  std::uint64_t next_ GUARDED_BY(mutex_);
  std::uint64_t limit_ GUARDED_BY(mutex_);
};

}  // namespace zenfs
