// The timing profiles of an emulated device, by name. What they are: docs/use/timing.md.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/status.h"

namespace zenfs {

// The numbers are part of the format of emulated files.
enum class Timing : std::uint32_t {
  kNone = 0,        // as fast as the host
  kZn540 = 1,       // a drive with a write buffer, after measurements of a WD Ultrastar DC ZN540
  kBufferless = 2,  // a drive that acknowledges a write when the flash has been programmed
};

[[nodiscard]] std::string_view TimingName(Timing timing);
// kInvalidArgument, naming those there are.
[[nodiscard]] Result<Timing> ParseTiming(std::string_view name);
// Nothing for a number that no profile has.
[[nodiscard]] std::optional<Timing> TimingOfNumber(std::uint32_t number);

}  // namespace zenfs
