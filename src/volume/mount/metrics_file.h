// The file of the mount option `metrics_file`: it keeps the counters of a mount after the mount has ended.
// `zenfs stats --page` reads it.
#pragma once

#include <string>

#include "base/bytes.h"
#include "base/status.h"

namespace zenfs {

// Writes `page` (metrics/metrics_page.h) to the file `path`, readable by its owner only. Overwrites an older page or an empty
// file, and no other file. Not durable, because it holds statistics and not data.
// Errors: kExists for another file; those of OpenOutput. Each has the path.
[[nodiscard]] Status WriteMetricsFile(const std::string& path, ByteView page);

}  // namespace zenfs
