// Formats points in time as the older command does.
#pragma once

#include <cstdint>
#include <string>

namespace zenfs {

// "Jul 20 2021 18:13:52" in local time, from `seconds` since 1970; "-" for 0.
[[nodiscard]] std::string FormatTime(std::uint64_t seconds);

}  // namespace zenfs
