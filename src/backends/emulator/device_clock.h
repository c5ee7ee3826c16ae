// When commands complete: a model of a drive's time. Pure: it asks no clock and never waits, so that hours of a device
// are tested in a second. The same calls give the same times.
//
// Threads: none of its own; the caller locks. Commands are told in the order in which the device takes them. A command
// that is told late (sent a little before the last one) is timed as if it had come in time.
#pragma once

#include <cstdint>
#include <memory>

#include "backends/emulator/timing.h"
#include "base/clock.h"
#include "model/units.h"

namespace zenfs {

struct TimedCommand {
  enum class Kind { kRead, kWrite, kAppend, kReset, kFinish, kOpen, kClose };

  Kind kind = Kind::kRead;
  ZoneId zone;
  // Of a read, write or append: its length. Of a reset: what the zone holds, padding included. Of a finish: what has to
  // be padded; nothing of an empty or a full zone.
  std::uint64_t bytes = 0;
};

class DeviceClock {
 public:
  virtual ~DeviceClock() = default;

  // When `command`, sent at `sent`, completes; never before that. Of a finish: if nothing else is written meanwhile.
  [[nodiscard]] virtual SteadyTime Completion(const TimedCommand& command, SteadyTime sent) = 0;

  // Whoever waited for a finish until `due` asks again, and goes on waiting while this is later: what was written
  // meanwhile took from it. Once it is `due`, the finish is over.
  [[nodiscard]] virtual SteadyTime FinishCompletion(ZoneId zone, SteadyTime due) = 0;
};

// nullptr for Timing::kNone. `zones` is how many the device has; `seed` decides what is random in a drive.
[[nodiscard]] std::unique_ptr<DeviceClock> MakeDeviceClock(Timing timing, std::uint32_t zones,
                                                           std::uint64_t seed);

}  // namespace zenfs
