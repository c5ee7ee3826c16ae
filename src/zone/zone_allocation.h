// A request for a zone, the answer, and what a file keeps of it between two writes. Plain values.
#pragma once

#include <cstdint>

#include "base/clock.h"
#include "model/units.h"

namespace zenfs {

enum class WritePurpose : std::uint8_t {
  kData,
  kReclaim,  // copies of live data, after which their old zone is reset; may take the headroom
};

// For what the log allocates a zone.
enum class LogZonePurpose : std::uint8_t {
  kAhead,  // not needed yet: waits while the share of the log is reduced
  kNow,    // to write it
  kMount,  // the same, in a mount, which must write before reclaim runs: may take from the headroom
};

enum class AllocationOutcome : std::uint8_t {
  kAllocated,
  kWait,               // for a writer, a job, or retry_at
  kWaitForReclaim,     // until the collector frees space or gives a verdict
  kWaitForLogReclaim,  // the same, for zones of the log's own device
  kWaitForPins,        // without a collector: only pinned zones could be freed
  kNoSpace,
};

struct ZoneAllocation {
  AllocationOutcome outcome = AllocationOutcome::kNoSpace;
  ZoneId zone;
  std::uint64_t written = 0;
  std::uint64_t room = 0;
  SteadyTime retry_at = SteadyTime::max();
};

// The state of a claim. Only the pool changes it.
struct ClaimState {
  ZoneId zone;
  std::uint32_t incarnation = 0;
  bool held = false;
  std::uint64_t promised = 0;  // bytes of room that no other writer of data gets
};

}  // namespace zenfs
