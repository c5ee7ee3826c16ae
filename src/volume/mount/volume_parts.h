// The parts of a read-write mount, in the order of their construction: the device, and what uses it. A table of contents.
//
// Each part uses only the parts above it, so no part refers to an unfinished one or outlives one that it uses. Two get a reference to a
// later one when all are complete: the metadata log to `effects`, and the zone manager to `buffers`. StopMoving and Metalog::Stop end
// these calls. No part knows these structs.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "device/metered_device.h"
#include "file/extent_reader.h"
#include "format/superblock.h"
#include "metrics/metrics.h"
#include "open/append_buffers.h"
#include "open/commit_path.h"
#include "open/mount_options.h"
#include "open/open_file.h"
#include "open/open_file_table.h"
#include "open/trace_recorder.h"
#include "open/write_accounting.h"
#include "reclaim/reclaimer.h"
#include "reclaim/zone_mover.h"
#include "volume/mount/namespace.h"

namespace zenfs {

// Writes `page` (metrics/metrics_page.h) to the file `path`, readable by its owner only. Overwrites an older page or an empty
// file, and no other file. Not durable, because it holds statistics and not data.
// Errors: kExists for another file; those of OpenOutput. Each has the path.
[[nodiscard]] Status WriteMetricsFile(const std::string& path, ByteView page);

// The device, with the superblock, the options and the counters of the mount.
//
// Threads: constant, with three exceptions. `metrics` has its own rules. The mounting thread adds to `notices` until the mount is
// complete. The unmount resets `reads` and `device` when no other thread is inside the volume.
struct MountedDevice {
  MountedDevice(std::unique_ptr<ZonedDevice> unmetered, Superblock its_superblock, const MountOptions& asked);

  // Writes the counters to the file that the option metrics_file names, if it is set: it keeps them after the mount has ended, for
  // `zenfs stats --page`. Errors: those of WriteMetricsFile.
  [[nodiscard]] Status KeepMetrics() const;

  const Superblock superblock;
  const MountOptions options;
  Metrics metrics;
  std::unique_ptr<ZonedDevice> device;  // null once unmounted
  std::unique_ptr<ReadPool> reads;      // of the device; null once unmounted
  const Geometry geometry;
  const std::string name;
  std::vector<std::string> notices;  // those of the mount, see Volume::notices
};

// Threads: one thread makes and stops it; the parts have their own rules. The constructor starts no thread.
struct VolumeParts {
  // The objects that recovery makes before the parts.
  struct Base {
    std::unique_ptr<Metalog> metalog;
    std::unique_ptr<ZoneManager> zones;
    std::unique_ptr<AppendBuffers> buffers;
    std::unique_ptr<TraceRecorder> trace;  // null: nothing is recorded
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
  WrittenBytes written;
  const WriteAccounting accounting;
  ExtentSink data_sink;
  ExtentSink copy_sink;      // for copies of live data
  ExtentSink log_copy_sink;  // for copies of frames
  LogDrain drain;
  ZoneMover mover;
  Reclaimer reclaimer;
  const OpenFileFactory factory;
  Namespace names;
  PathLocks path_locks;
};

}  // namespace zenfs
