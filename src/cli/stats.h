// The output of `zenfs stats`: metrics as a table for people and as JSON. Pure.
#pragma once

#include <cstdint>
#include <string>

#include "cli/json.h"
#include "cli/metrics_source.h"

namespace zenfs {

// Shows only operations that happened. Latencies are those of timed calls.
[[nodiscard]] std::string StatsTable(const StatsView& view);
// All metrics, also those that are zero.
[[nodiscard]] Json StatsJson(const StatsView& view);

// "812 ns", "1.25 us", "48.1 ms", "2.40 s"
[[nodiscard]] std::string ShortDuration(std::uint64_t nanoseconds);

}  // namespace zenfs
