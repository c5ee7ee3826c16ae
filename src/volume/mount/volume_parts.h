// The parts of a read-write mount, in the order of their construction.
//
// Each part uses only the parts above it, so no part refers to an unfinished one or outlives one that it uses. No part knows
// this struct.
//
// Threads: one thread makes and stops it; the parts have their own rules. The constructor starts no thread.
#pragma once

#include <memory>

#include "open/append_buffers.h"
#include "open/commit_effects.h"
#include "open/commit_path.h"
#include "open/log_zone_allocator.h"
#include "open/open_file_factory.h"
#include "open/open_file_table.h"
#include "open/trace_recorder.h"
#include "open/write_accounting.h"
#include "reclaim/reclaimer.h"
#include "reclaim/zone_mover.h"
#include "volume/mount/file_opener.h"
#include "volume/mount/mounted_device.h"
#include "volume/mount/namespace.h"
#include "volume/mount/namespace_view.h"
#include "volume/mount/path_locks.h"
#include "volume/mount/volume_shutdown.h"

namespace zenfs {

struct VolumeParts {
  // The objects that recovery makes before the parts.
  struct Base {
    std::unique_ptr<Metalog> metalog;
    std::unique_ptr<ZoneManager> zones;
    std::unique_ptr<AppendBuffers> buffers;
    std::unique_ptr<TraceRecorder> trace;  // null: nothing is recorded
    std::uint32_t log_reserve_target = 0;  // LogSpace::Deps::reserve_target
    bool sync_blocks = false;              // the device has a slot for a sync zone
    std::uint32_t spread = 1;              // over how many zones a file is spread (zone/spread.h)
  };

  // `state` is the committed state. The first commit of the mount must begin `epoch`, and must raise the counter of ids by
  // IdAllocator::kBatch.
  VolumeParts(MountedDevice& device, Base base, const State& state);

  // Stops all threads that move data or reset zones. With `finish_resets`, first waits up to one second until dead zones are
  // reset. The metadata log still accepts commits.
  void StopMoving(bool finish_resets);
  // Call this if the mount fails before its first commit has succeeded. Stops all threads. Removes the new append buffers
  // unless the metadata log may name them.
  void Abandon();

  SpaceReport Space() const;

  MountedDevice& device;
  const std::uint64_t epoch;  // of this mount
  const std::unique_ptr<Metalog> metalog;
  const std::unique_ptr<ZoneManager> zones;
  const std::unique_ptr<AppendBuffers> buffers;
  const std::unique_ptr<TraceRecorder> trace;  // may be null
  Catalog catalog;
  OpenFileTable files;
  CommitPath commits;
  LogZoneAllocator log_zones;
  LogSpace log;
  LogStore logs;
  CommitEffects effects;
  IdAllocator ids;
  WrittenBytes written;
  const WriteAccounting accounting;
  ExtentSink data_sink;
  ExtentSink copy_sink;      // for copies of live data
  ExtentSink log_copy_sink;  // for copies of frames
  LogDrain drain;
  ZoneMover mover;
  Reclaimer reclaimer;
  const OpenFileFactory factory;
  FileOpener opener;
  Namespace names;
  const NamespaceView view;
  PathLocks path_locks;
  VolumeShutdown shutdown;
};

}  // namespace zenfs
