// The time of a log frame, in 16 bits of its header: the last append to its file before the frame
// was written. After a crash it becomes the log's mtime. docs/formats/frame.md has the layout.
//
// 16 bits are too short for a date. The code is the distance from an anchor that writer and reader
// both know: the time of the previous frame, or for the first frame the mtime in the file's record.
#pragma once

#include <cstdint>
#include <optional>

namespace zenfs {

// Exact up to 4 hours from the anchor. Up to 11 days: rounded down to a multiple of 64 seconds.
// Beyond: 0, "unknown".
[[nodiscard]] std::uint16_t EncodeFrameTime(std::uint64_t seconds, std::uint64_t anchor);
// Returns the time with this code that is nearest to `anchor`, or nothing if it is unknown. Accepts
// any code.
[[nodiscard]] std::optional<std::uint64_t> DecodeFrameTime(std::uint16_t code, std::uint64_t anchor);

}  // namespace zenfs
