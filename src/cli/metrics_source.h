// Metrics of a volume that another program has mounted for writing.
#pragma once

#include <cstdint>
#include <string>

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

}  // namespace zenfs
