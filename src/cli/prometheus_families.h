// Converts readings of volumes to Prometheus metric families. Pure.
#pragma once

#include <prometheus/metric_family.h>

#include <span>
#include <vector>

#include "cli/volume_poll.h"

namespace zenfs {

// One family per metric, with one metric per volume, distinguished by the label `device`; zenfs_build_info has none. All names
// begin with zenfs_; all times are in seconds.
[[nodiscard]] std::vector<prometheus::MetricFamily> FamiliesOf(std::span<const VolumeReading> readings);

// The families without a table of their own, such as zenfs_up.
[[nodiscard]] std::span<const ValueInfo> VolumeGauges();

}  // namespace zenfs
