// The timing profiles of an emulated device, by name. docs/use/timing.md describes them.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/status.h"

namespace zenfs {

// The numbers are part of the format of emulated files.
enum class Timing : std::uint32_t {
  kNone = 0,        // as fast as the host
  kZn540 = 1,       // a drive with a write buffer, from measurements of a WD Ultrastar DC ZN540
  kBufferless = 2,  // a drive that acknowledges a write after the flash is programmed
  kSmr = 3,         // a shingled disk with a volatile write cache
  kSmallZone = 4,   // zn540 with many small zones, each of which has a fraction of the drive's bandwidth
};

[[nodiscard]] std::string_view TimingName(Timing timing);
// kInvalidArgument for an unknown name; the text lists the known ones.
[[nodiscard]] Result<Timing> ParseTiming(std::string_view name);
// Returns nothing for a number without a profile.
[[nodiscard]] std::optional<Timing> TimingOfNumber(std::uint32_t number);

}  // namespace zenfs
