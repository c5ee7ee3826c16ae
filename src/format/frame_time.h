// The time of a log frame, in the 16 bits of its header that are free: when its file was last appended to before it was
// sent. Enough to give a log its time after a crash; docs/formats/frame.md has the layout.
//
// 16 bits hold no date, so a time is told as a distance from an anchor that writer and reader both know: the time of the
// frame before it, or that of the file's record for the first one.
#pragma once

#include <cstdint>
#include <optional>

namespace zenfs {

// Exact up to 4 hours from the anchor; up to 11 days rounded down to a multiple of 64 seconds; 0, "not known", beyond.
[[nodiscard]] std::uint16_t EncodeFrameTime(std::uint64_t seconds, std::uint64_t anchor);
// The time nearest to `anchor` that `code` can mean; nothing if it is not known. Takes any number.
[[nodiscard]] std::optional<std::uint64_t> DecodeFrameTime(std::uint16_t code, std::uint64_t anchor);

}  // namespace zenfs
