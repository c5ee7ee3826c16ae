// Metrics as a table for people and as JSON. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "cli/console.h"
#include "metrics/metrics_snapshot.h"

namespace zenfs {

struct StatsView {
  MetricsSnapshot metrics;                 // since the mount, or of the interval
  std::optional<double> interval_seconds;  // if set, rates are shown
};

// Shows only operations that happened. Latencies are those of timed calls.
[[nodiscard]] std::string StatsTable(const StatsView& view);
// All metrics, also those that are zero.
[[nodiscard]] Json StatsJson(const StatsView& view);

// "812 ns", "1.25 us", "48.1 ms", "2.40 s"
[[nodiscard]] std::string ShortDuration(std::uint64_t nanoseconds);

}  // namespace zenfs
