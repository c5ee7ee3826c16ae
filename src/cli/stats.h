// The output of `zenfs stats`: metrics as a table for people and as JSON; and its parts that other screens show too. Pure.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "cli/json.h"
#include "cli/metrics_source.h"
#include "cli/styled_text.h"
#include "cli/volume_watch.h"

namespace zenfs {

// Shows only operations that happened. Latencies are those of timed calls.
[[nodiscard]] std::string StatsTable(const StatsView& view);
// The same for a screen of `columns`: rates of the last interval, of what has happened since the mount.
[[nodiscard]] StyledText StatsPage(const WatchedVolume& volume, int columns);
// All metrics, also those that are zero.
[[nodiscard]] Json StatsJson(const StatsView& view);

// The time that the counts of `view` are of, in seconds: its interval, or that since the mount.
[[nodiscard]] double SecondsOf(const StatsView& view);
// "last 2.0 s", or "average since the mount"
[[nodiscard]] std::string SpanOf(const StatsView& view);

// Rates and latencies of `view`, and the counts of `totals`, which are since the mount. One line for each of `operations` below
// a line of titles; not wider than `columns`: those figures that matter most.
[[nodiscard]] StyledText OperationTable(const StatsView& view, const MetricsSnapshot& totals,
                                        std::span<const Operation> operations, int columns);

// "epoch 3, mounted 12 min ago, 14 files open"
[[nodiscard]] std::string MountText(const MetricsSnapshot& metrics);

// How frames of the log are sent, and why (wal/zone_append.h): "by zone append: one takes 490 us, by writes 960 us"
[[nodiscard]] std::string LogSending(const MetricsSnapshot& metrics);

// "812 ns", "1.25 us", "48.1 ms", "2.40 s"
[[nodiscard]] std::string ShortDuration(std::uint64_t nanoseconds);

}  // namespace zenfs
