// Applies each commit, in log order, to names, live bytes and open files.
//
// Threads: the metadata log calls OnCommitted, one call at a time; health from any thread. Takes the locks of the catalog,
// the zone manager, the open files and the logs, one after the other. mutex_ is a leaf lock.
#pragma once

#include <atomic>

#include "base/mutex.h"
#include "catalog/catalog.h"
#include "metalog/metalog.h"
#include "open/open_file_table.h"
#include "open/trace_recorder.h"
#include "wal/framed_file.h"
#include "wal/log_space.h"
#include "zone/zone_manager.h"

namespace zenfs {

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
