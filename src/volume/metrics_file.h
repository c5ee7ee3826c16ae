// A file of the host that keeps the counters of a mount when the mount has ended: the mount option `metrics_file`.
// Read by `zenfs stats --page`.
#pragma once

#include <string>

#include "base/bytes.h"
#include "base/status.h"

namespace zenfs {

// Makes `path` hold `page` (metrics/metrics_page.h) and nothing else, readable for its owner only. It takes the place of
// an older page or of an empty file, never of anything else. Not durable: a figure, not data.
// Errors: kExists for a file that is no page, and those of the host, each with the path.
[[nodiscard]] Status WriteMetricsFile(const std::string& path, ByteView page);

}  // namespace zenfs
