// Puts a framed file together again from its record and the frames that a scan found.
//
// Which frames count is decided by windows and epochs (model/file_record.h), never by their place. Within a
// window the bytes at a file offset are unique, so frames that overlap (a write that failed and was repeated,
// split in another way) agree and either may be taken.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/file_record.h"
#include "wal/frame_index.h"
#include "wal/log_scan.h"

namespace zenfs {

// Bytes of a framed file that were there once.
struct LogDamage {
  FileId file;
  std::uint64_t from = 0;
  std::uint64_t to = 0;
  std::uint64_t sequence = 0;  // of a frame that held some of them
  // Where the frames that were found next to it stand, if any were: behind the one before, or before the next.
  std::optional<DeviceOffset> near;

  friend bool operator==(const LogDamage&, const LogDamage&) = default;
};
// One sentence. `file`: how to call the file, "file 7 (/a.log)".
[[nodiscard]] std::string DamageText(const LogDamage& damage, std::string_view file);
// One sentence on a log zone that is offline. `device`: its name.
[[nodiscard]] std::string OfflineLogText(std::string_view device, ZoneId zone);

struct ReplayedLog {
  FrameIndex index;                       // extents, then frames
  std::map<ZoneId, std::uint64_t> zones;  // device bytes of this file's frames, by zone
  std::optional<LogWindow> open_window;   // frames behind the last seal; to be sealed by a read-write mount
  std::vector<LogDamage> damage;          // the bytes in question can't be read
  // Of the last append: what the last frame of the open window tells, or the record's. Seconds since 1970.
  std::uint64_t mtime_seconds = 0;
};

// `frames`: all that carry the file's id as owner, in any order; those that no writer can have made are passed over. `epoch`: the volume's committed one.
[[nodiscard]] ReplayedLog ReplayLog(const FileRecord& record, std::uint64_t epoch,
                                    std::vector<ScannedFrame> frames);

}  // namespace zenfs
