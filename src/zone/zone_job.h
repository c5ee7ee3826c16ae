// A zone operation: a reset or a finish, which are slow. The thread of ZoneOperations runs each as one job.
#pragma once

#include <optional>

#include "base/clock.h"
#include "device/zoned_device.h"

namespace zenfs {

struct ZoneJob {
  enum class Kind : std::uint8_t {
    kReset,
    kResetIfWritten,  // for zones from the log, which may be empty
    kFinish,          // ends the active state of the zone; does nothing if the zone is not active
  };
  ZoneId zone;
  Kind kind = Kind::kReset;
  bool can_wait = false;  // a reset that frees no slot and no log zone
  // Of a job that can wait: when it was queued, and when to ask again whether a reader uses the zone.
  SteadyTime queued{};
  SteadyTime ask_at{};
};

struct ZoneJobOutcome {
  bool ok = false;               // after a reset: the zone is empty; after a finish: it is not active
  std::optional<ZoneInfo> info;  // the zone report after the job; empty if the report failed
  bool refused = false;          // finish only: the device is busy, the zone is intact
};

// The report of one zone; empty if it failed.
[[nodiscard]] std::optional<ZoneInfo> ReportOne(ZonedDevice& device, ZoneId zone);

// Sends the commands of one job. A failure is part of the outcome, not an error, because no caller waits for this zone.
[[nodiscard]] ZoneJobOutcome RunZoneJob(ZonedDevice& device, const ZoneJob& job);

}  // namespace zenfs
