// The metrics of a volume that another program has mounted for writing.
#pragma once

#include <cstdint>
#include <string>

#include "base/status.h"
#include "metrics/metrics_snapshot.h"
#include "volume/volume.h"

namespace zenfs {

// The file that `volume`, which this process has mounted read-only, says its writer has. Errors: kNotFound if there is none.
[[nodiscard]] Result<std::string> SharedMemoryOf(const Volume& volume);

// What the page in that file says now. With `living`, fails with kNotFound when the program that made it is dead, as it
// does when the file is gone. kPermission says who may read it. Errors beside: those of SharedMemory::Open and DecodeMetrics, with the path.
[[nodiscard]] Result<MetricsSnapshot> ReadSharedMetrics(const std::string& path, bool living);

}  // namespace zenfs
