// What space asks of reclaim, and what reclaim may take of it. Plain values.
#pragma once

#include <cstdint>

namespace zenfs {

enum class WritePurpose : std::uint8_t {
  kData,
  kReclaim,  // copies of live data, after which their old zone is reset: may take the room that is kept for them
};

enum class ReclaimUrgency : std::uint8_t {
  kTidy,    // log zones are nearly dead
  kLow,     // few empty zones are left
  kAhead,   // writers will soon have to wait
  kUrgent,  // writers wait, or the headroom is not whole
};

struct ReclaimNeed {
  ReclaimUrgency urgency = ReclaimUrgency::kLow;
  std::uint64_t room = 0;      // bytes that copies can have now
  std::uint64_t headroom = 0;  // bytes that they should be able to have
  std::uint64_t version = 0;   // of what is live and of the room, when this was true

  bool headroom_whole() const { return room >= headroom; }
};

// The result of a search that found no victim.
struct ReclaimVerdict {
  std::uint64_t version = 0;  // of the need; the verdict ends with the next change
  ReclaimUrgency urgency = ReclaimUrgency::kLow;
  // Something that is busy, pinned or uncommitted now may be a victim later.
  bool pending = false;
};

}  // namespace zenfs
