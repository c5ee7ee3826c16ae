// The timing profiles of an emulated device: their names, and the model of a drive's time behind each (docs/use/timing.md).
// buffered_clock.h, bufferless_clock.h and disk_clock.h have the models and all their numbers.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

#include "base/clock.h"
#include "base/status.h"
#include "device/zone_info.h"
#include "model/units.h"

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

struct TimedCommand {
  enum class Kind { kRead, kWrite, kAppend, kReset, kFinish, kOpen, kClose, kFlush };

  Kind kind = Kind::kRead;
  ZoneId zone;
  // Read, write or append: its length. Reset: bytes in the zone, padding included. Finish: bytes to
  // be padded; 0 for an empty or a full zone.
  std::uint64_t bytes = 0;
  std::uint64_t offset = 0;  // read, write or append: where it begins in the zone, in bytes
};

// The work of a management command on a zone of `capacity` bytes, before the command changes it. The part of a zone that
// a finish padded counts as written, unless the zone was empty.
[[nodiscard]] TimedCommand TimedManagement(TimedCommand::Kind kind, ZoneId zone, ZoneCondition condition,
                                           std::uint64_t written, std::uint64_t capacity);

// Computes when commands complete: a model of a drive's time. It reads no clock and never waits, so
// that a test of hours of device time takes a second. The same calls give the same times.
//
// Threads: not thread-safe; the caller locks. The caller reports commands in the order in which the
// device takes them. A command that is reported late (sent a little before the last one) is timed
// as if it had come in time.
class DeviceClock {
 public:
  virtual ~DeviceClock() = default;

  // Returns when `command`, sent at `sent`, completes; never earlier than `sent`. For a finish: if
  // nothing else is written meanwhile.
  [[nodiscard]] virtual SteadyTime Completion(const TimedCommand& command, SteadyTime sent) = 0;

  // To be called by a thread that waited for a finish until `due`. It has to wait on while the
  // result is later than `due`, because other writes delayed the finish. If the result is `due`,
  // the finish is complete.
  [[nodiscard]] virtual SteadyTime FinishCompletion(ZoneId zone, SteadyTime due) = 0;
};

// nullptr for Timing::kNone. `zones`: number of zones of the device, of `zone_bytes` each. `seed` determines the random
// parts of the model.
[[nodiscard]] std::unique_ptr<DeviceClock> MakeDeviceClock(Timing timing, std::uint32_t zones,
                                                           std::uint64_t zone_bytes, std::uint64_t seed);

}  // namespace zenfs
