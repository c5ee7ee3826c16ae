// What framed files have lost of the bytes that were written to the device. Read-write mounts, readers and the check use this.
//
// Threads: functions on values.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "device/geometry.h"
#include "model/state.h"
#include "volume/fsck/file_names.h"
#include "volume/fsck/finding.h"
#include "wal/wal_recovery.h"

namespace zenfs {

struct LogLosses {
  Findings findings;          // errors; a warning for an offline zone from which no file can have lost bytes
  std::vector<FileId> files;  // all that have lost bytes, or may have; by id, each once
};
// `offline`: the log zones that are offline. Their frames are lost; files that may have had frames there are named, because
// they may end too early. `log_of` returns null for a file that is no log.
[[nodiscard]] LogLosses FindLogLosses(const std::string& device, const Geometry& geometry, const State& state,
                                      const FileNames& names, const std::vector<ZoneId>& offline,
                                      const std::function<const ReplayedLog*(FileId)>& log_of);

}  // namespace zenfs
