// Readings of volumes in the form that Prometheus wants. Pure.
#pragma once

#include <prometheus/metric_family.h>

#include <span>
#include <vector>

#include "cli/exported_gauges.h"

namespace zenfs {

// One family a metric, in it one metric a volume, told apart by the label `device`. All names begin with zenfs_, all
// latencies are in microseconds.
[[nodiscard]] std::vector<prometheus::MetricFamily> FamiliesOf(std::span<const VolumeReading> readings);

// The families that have no table of their own: zenfs_up and the like.
[[nodiscard]] std::span<const ValueInfo> VolumeGauges();

}  // namespace zenfs
