// The text of a trace: the files of a volume, how they grew, and when they were deleted (docs/formats/trace.md). The mount
// option `trace_file` writes it.
//
// Threads: pure functions and plain values.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/status.h"
#include "model/lifetime.h"
#include "model/units.h"

namespace zenfs {

inline constexpr std::string_view kTraceMagic = "zenfs-trace";
inline constexpr std::uint32_t kTraceVersion = 1;

// The device of a trace. A limit of 0 means: none.
struct TraceDevice {
  std::uint64_t zone_size = 0;      // bytes
  std::uint64_t zone_capacity = 0;  // bytes; the largest of all zones
  std::uint32_t zones = 0;
  std::uint32_t metadata_zones = 0;
  std::uint32_t block_size = 4096;  // bytes
  std::uint32_t max_open = 0;
  std::uint32_t max_active = 0;

  friend bool operator==(const TraceDevice&, const TraceDevice&) = default;
};

enum class TracedKind : std::uint8_t { kTable, kBlob, kLog, kManifest, kInfoLog, kOther };

// By the file's name, without directories.
[[nodiscard]] TracedKind TracedKindOf(std::string_view file_name);
// True if such files are framed: their bytes are in log zones.
[[nodiscard]] constexpr bool IsFramed(TracedKind kind) {
  return kind == TracedKind::kLog || kind == TracedKind::kManifest || kind == TracedKind::kInfoLog;
}

struct TraceEvent {
  enum class What : std::uint8_t {
    kFile,      // a file that the mount found: id, kind, lifetime, bytes
    kBegin,     // the mount has named all files that it found
    kCreate,    // a new file: id, kind, lifetime
    kLifetime,  // id, lifetime
    kSize,      // the file has this size: id, bytes
    kClose,     // a writer has closed the file at this size: id, bytes
    kDelete,    // the file has lost its last name: id
    kEnd,       // the mount ended
  };
  std::uint64_t at_ms = 0;  // since the mount
  What what = What::kEnd;
  FileId id;
  TracedKind kind = TracedKind::kOther;
  Lifetime lifetime = Lifetime::kNotSet;
  std::uint64_t bytes = 0;

  friend bool operator==(const TraceEvent&, const TraceEvent&) = default;
};

// One line, without its end.
[[nodiscard]] std::string TraceHeaderText(const TraceDevice& device);
[[nodiscard]] std::string TraceEventText(const TraceEvent& event);

[[nodiscard]] inline bool IsTraceHeader(std::string_view line) { return line.starts_with(kTraceMagic); }
// Errors: kNotSupported for another version; kCorruption for any other line, with the reason.
[[nodiscard]] Result<TraceDevice> ParseTraceHeader(std::string_view line);
// Errors: kCorruption, with the reason.
[[nodiscard]] Result<TraceEvent> ParseTraceEvent(std::string_view line);

}  // namespace zenfs
