// Metrics of a volume that are read again and again: what changed between two reads.
//
// Threads: none.
#pragma once

#include <algorithm>
#include <optional>

#include "base/clock.h"
#include "cli/stats_table.h"
#include "metrics/metrics_snapshot.h"

namespace zenfs {

class MetricsIntervals {
 public:
  // The first result has the totals since the mount, each later one the changes since the previous one.
  StatsView Next(const MetricsSnapshot& now) {
    const SteadyTime time = SteadyNow();
    StatsView view{.metrics = now, .interval_seconds = {}};
    if (last_) {
      view.metrics = Difference(now, *last_);
      view.interval_seconds = std::max(1e-3, std::chrono::duration<double>(time - last_time_).count());
    }
    last_ = now;
    last_time_ = time;
    return view;
  }

 private:
  std::optional<MetricsSnapshot> last_;
  SteadyTime last_time_;
};

}  // namespace zenfs
