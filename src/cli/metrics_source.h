// Metrics of a volume that another program has mounted for writing: where they are, and what changed between two reads.
//
// Threads: any; a MetricsIntervals, one at a time.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/clock.h"
#include "base/status.h"
#include "metrics/metrics_snapshot.h"
#include "volume/volume.h"

namespace zenfs {

// Returns the path of the writer's shared memory, from `volume`, which this process has mounted
// read-only. Errors: kNotFound if there is none.
[[nodiscard]] Result<std::string> SharedMemoryOf(const Volume& volume);

// Reads the metrics in that file. Errors: kNotFound if the file is gone or, with `living`, if the
// program that made it is dead; kPermission, naming who may read it; those of SharedMemory::Open
// and DecodeMetrics, with the path.
[[nodiscard]] Result<MetricsSnapshot> ReadSharedMetrics(const std::string& path, bool living);

// Metrics as `zenfs stats` shows them.
struct StatsView {
  MetricsSnapshot metrics;                 // since the mount, or of the interval
  std::optional<double> interval_seconds;  // if set, rates are shown
};

// Metrics that are read again and again.
class MetricsIntervals {
 public:
  // The first result of a mount has the totals since the mount, each later one the changes since the previous one. `time`: when `now`
  // was read.
  [[nodiscard]] StatsView Next(const MetricsSnapshot& now, SteadyTime time = SteadyNow());

 private:
  std::optional<MetricsSnapshot> last_;
  SteadyTime last_time_;
};

}  // namespace zenfs
