// The way of a commit of a mounted volume:
//
//   CommitPath::Commit -> the metadata log, which makes the edits durable -> CommitEffects::OnCommitted, which applies
//   them to names, space and open files -> Commit returns
//
// Threads: any, except OnCommitted. LogZoneAllocator::mutex_ is held during the commit of an allocation, so that generations
// are committed in order; it is taken before the locks of the metadata log. CommitEffects::mutex_ is a leaf lock.
#pragma once

#include <atomic>
#include <cstdint>
#include <span>
#include <vector>

#include "base/mutex.h"
#include "metalog/metalog.h"
#include "metrics/metrics.h"
#include "wal/log_space.h"
#include "zone/zone_manager.h"

namespace zenfs {

class Catalog;
class LogStore;
class OpenFileTable;
class TraceRecorder;

// Commits edits to the metadata log.
class CommitPath {
 public:
  // All arguments outlive it.
  CommitPath(Metalog& metalog, ZoneManager& zones, Metrics& metrics)
      : metalog_(metalog), zones_(zones), metrics_(metrics) {}

  // The edits are durable and applied when this returns OK. Errors: those of Metalog::Commit. After an unknown outcome no
  // zone is reset any more.
  [[nodiscard]] Status Commit(std::vector<Edit> edits, CommitOptions options = {});
  // Errors: kNoSpace if a commit with this many more extents would be refused.
  [[nodiscard]] Status CheckRoomForExtents(std::size_t extents) const;

  // The error that prevents all further commits; OK if there is none.
  Status health() const { return metalog_.health(); }

 private:
  // Gives empty zones to the metadata log if it wants some, and takes back those that it does not need.
  void BalanceZones() const;

  Metalog& metalog_;
  ZoneManager& zones_;
  Metrics& metrics_;
};

// Commits the allocation and the release of log zones. Each allocation, of one zone or of a group, has a generation that was
// never used before.
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

// Applies each commit, in log order, to names, live bytes and open files.
//
// The metadata log calls OnCommitted, one call at a time. It takes the locks of the catalog, the zone manager, the open files
// and the logs, one after the other.
class CommitEffects final : public CommitSink {
 public:
  // All arguments outlive it. `trace` may be null.
  CommitEffects(Catalog& catalog, ZoneManager& zones, OpenFileTable& files, LogStore& logs, LogSpace& log,
                TraceRecorder* trace = nullptr)
      : catalog_(catalog), zones_(zones), files_(files), logs_(logs), log_(log), trace_(trace) {}

  void OnCommitted(std::span<const Edit> edits) override EXCLUDES(mutex_);

  // Not OK once a commit has contradicted the catalog or the counts of live bytes: the volume must not write any more.
  Status health() const EXCLUDES(mutex_);

 private:
  void Refuse(Status why) EXCLUDES(mutex_);

  Catalog& catalog_;
  ZoneManager& zones_;
  OpenFileTable& files_;
  LogStore& logs_;
  LogSpace& log_;
  TraceRecorder* const trace_;
  mutable Mutex mutex_{LockRank::kVolumeLeaf};
  Status health_ GUARDED_BY(mutex_);  // the first error
  std::atomic<bool> healthy_{true};
};

}  // namespace zenfs
