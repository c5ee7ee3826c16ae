// Rebuilds a framed file from its record and the frames that a scan found.
//
// Windows and epochs decide which frames count (model/file_record.h), never their place. Within a window,
// frames that overlap agree in the bytes they share, so either may be taken. They overlap if a failed write
// was repeated and split in another way.
//
// Threads: functions on values, no state.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/file_record.h"
#include "wal/frame_read.h"
#include "wal/log_scan.h"

namespace zenfs {

// Lost bytes [from, to) of a framed file.
struct LogDamage {
  FileId file;
  std::uint64_t from = 0;
  std::uint64_t to = 0;
  std::uint64_t sequence = 0;  // of a frame that had some of these bytes
  // The end of the last frame found before them, else the start of the next one; none if no frame was
  // found.
  std::optional<DeviceOffset> near;

  friend bool operator==(const LogDamage&, const LogDamage&) = default;
};
// One sentence. `file`: the name of the file for users, "file 7 (/a.log)".
[[nodiscard]] std::string DamageText(const LogDamage& damage, std::string_view file);
// One sentence about a log zone that is offline. `device`: name of the device.
[[nodiscard]] std::string OfflineLogText(std::string_view device, ZoneId zone);

struct ReplayedLog {
  FrameIndex index;                       // extents, then frames
  std::map<ZoneId, std::uint64_t> zones;  // device bytes of this file's frames, by zone
  std::optional<LogWindow> open_window;   // frames behind the last seal; a read-write mount seals them
  std::vector<LogDamage> damage;          // reads of these bytes fail
  // Time of the last append, from the last frame of the open window, else from the record. Seconds since
  // 1970.
  std::uint64_t mtime_seconds = 0;
};

// `frames`: all frames whose owner is the file, in any order. Frames that no writer can have made are
// ignored. `epoch`: the committed epoch of the volume.
[[nodiscard]] ReplayedLog ReplayLog(const FileRecord& record, std::uint64_t epoch,
                                    std::vector<ScannedFrame> frames);

}  // namespace zenfs
