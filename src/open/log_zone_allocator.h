// Commits the allocation and the release of log zones. Each allocation, of one zone or of a group, has a generation that was
// never used before.
//
// Threads: any. mutex_ is held during the commit of an allocation, so that generations are committed in order. It is taken
// before the locks of the metadata log.
#pragma once

#include "base/mutex.h"
#include "open/commit_path.h"
#include "wal/log_space.h"

namespace zenfs {

class LogZoneAllocator final : public LogZoneAllocations {
 public:
  // Generations from `next` on are unused. `commits` outlives it.
  LogZoneAllocator(CommitPath& commits, std::uint64_t next) : commits_(commits), next_generation_(next) {}

  // Errors: those of CommitPath::Commit.
  [[nodiscard]] Result<std::vector<LogZone>> Allocate(std::span<const ZoneId> zones) override
      EXCLUDES(mutex_);
  [[nodiscard]] Status MarkSync(ZoneId zone, std::uint64_t bytes) override {
    return commits_.Commit({MarkSyncZone{zone, bytes}});
  }
  [[nodiscard]] Status Release(std::span<const ZoneId> zones) override {
    return commits_.Commit({ReleaseLogZones{{zones.begin(), zones.end()}}});
  }

 private:
  CommitPath& commits_;
  Mutex mutex_{LockRank::kCounters};
  std::uint64_t next_generation_ GUARDED_BY(mutex_);
};

}  // namespace zenfs
