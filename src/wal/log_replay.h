// Puts a framed file together again from its record and the frames that a scan found.
//
// Which frames count is decided by windows and epochs (model/file_record.h), never by their place. Within a
// window the bytes at a file offset are unique, so frames that overlap (a write that failed and was repeated,
// split in another way) agree and either may be taken.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "model/file_record.h"
#include "wal/frame_index.h"
#include "wal/log_scan.h"

namespace zenfs {

struct ReplayedLog {
  FrameIndex index;                       // extents, then frames
  std::map<ZoneId, std::uint64_t> zones;  // device bytes of this file's frames, by zone
  std::optional<LogWindow> open_window;   // frames behind the last seal; to be sealed by a read-write mount
  std::vector<std::string> damage;        // one sentence each; the bytes in question can't be read
};

// `frames`: all that carry the file's id as owner, in any order; those that no writer can have made are passed over. `epoch`: the volume's committed one.
[[nodiscard]] ReplayedLog ReplayLog(const FileRecord& record, std::uint64_t epoch,
                                    std::vector<ScannedFrame> frames);

}  // namespace zenfs
