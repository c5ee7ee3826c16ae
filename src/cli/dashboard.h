// The dashboard for Grafana, made from the tables of the metrics: a new metric is on it at once. Pure.
#pragma once

#include "cli/json.h"

namespace zenfs {

// Its variables are the data source, the exporter, the device and the quantile of latencies.
[[nodiscard]] Json Dashboard();

}  // namespace zenfs
