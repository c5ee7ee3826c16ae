// The parts of a volume that is mounted for writing, and how they are put together.
//
// Each part uses only the parts that stand above it, so none of them ever has a reference to something unfinished, and none
// outlives what it uses. No part knows this struct.
//
// Threads: made and stopped by one thread; the parts have rules of their own. No thread runs until StartThreads or the start
// of a single part.
#pragma once

#include <memory>

#include "reclaim/reclaimer.h"
#include "volume/append_buffers.h"
#include "volume/commit_effects.h"
#include "volume/commit_path.h"
#include "volume/file_opener.h"
#include "volume/file_sync.h"
#include "volume/log_zone_allocator.h"
#include "volume/mounted_device.h"
#include "volume/namespace.h"
#include "volume/namespace_view.h"
#include "volume/open_file_factory.h"
#include "volume/open_file_table.h"
#include "volume/path_locks.h"
#include "volume/relocation.h"
#include "volume/volume_shutdown.h"
#include "volume/write_accounting.h"

namespace zenfs {

struct VolumeParts {
  // What recovery makes before the parts.
  struct Base {
    std::unique_ptr<Metalog> metalog;
    std::unique_ptr<ZoneManager> zones;
    std::unique_ptr<AppendBuffers> buffers;
    std::uint32_t log_reserve_target = 0;  // LogSpace::Deps::reserve_target
  };

  // `state`: as committed. The mount's first commit has to begin `epoch`, and to raise the counter of ids by
  // IdAllocator::kBatch.
  VolumeParts(MountedDevice& device, Base base, const State& state);

  // Stops everything that moves data or resets zones. With `finish_resets`, waits a second at most until dead zones are
  // reset. The metadata log still takes commits.
  void StopMoving(bool finish_resets);
  // Call this if the mount fails before its first commit has succeeded. Stops everything; removes the new append buffers
  // unless the metadata log may name them.
  void Abandon();

  MountedDevice& device;
  const std::uint64_t epoch;  // of this mount
  const std::unique_ptr<Metalog> metalog;
  const std::unique_ptr<ZoneManager> zones;
  const std::unique_ptr<AppendBuffers> buffers;
  Catalog catalog;
  OpenFileTable files;
  CommitPath commits;
  LogZoneAllocator log_zones;
  LogSpace log;
  LogStore logs;
  CommitEffects effects;
  IdAllocator ids;
  WrittenBytes written;
  const std::unique_ptr<ExtentSink> plain_sink;  // fails when there is no space
  const std::unique_ptr<ExtentSink> counting_sink;
  const std::unique_ptr<ExtentSink> copy_sink;  // for data that is moved
  LogDrain drain;
  Relocation relocation;
  Reclaimer reclaimer;
  const WriteAccounting accounting;
  const OpenFileFactory factory;
  FileSync sync;
  FileOpener opener;
  Namespace names;
  const NamespaceView view;
  PathLocks path_locks;
  VolumeShutdown shutdown;
};

}  // namespace zenfs
