// What space asks of reclaim, and what reclaim may take of it. Plain values.
#pragma once

#include <cstdint>

namespace zenfs {

enum class WritePurpose : std::uint8_t {
  kData,
  kReclaim,  // copies of live data, after which their old zone is reset: may take the room that is kept for them
};

enum class ReclaimUrgency : std::uint8_t {
  kLow,     // few empty zones are left
  kUrgent,  // writers wait
};

struct ReclaimNeed {
  ReclaimUrgency urgency = ReclaimUrgency::kLow;
  std::uint64_t room = 0;  // bytes that copies can have now
};

}  // namespace zenfs
