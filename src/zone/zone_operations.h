// Resets and finishes: the slow commands, each as one job that the manager's background thread carries out.
#pragma once

#include <optional>

#include "device/zoned_device.h"

namespace zenfs {

struct ZoneJob {
  enum class Kind : std::uint8_t {
    kReset,
    kResetIfWritten,  // for zones that came back from the log, perhaps untouched
    kFinish,          // so that the zone is not active any more; nothing to do if it is not
  };
  ZoneId zone;
  Kind kind = Kind::kReset;
};

struct ZoneJobOutcome {
  bool ok = false;               // reset: the zone is empty; finish: it is not active
  std::optional<ZoneInfo> info;  // what the device says of the zone afterwards, if it says anything
  bool refused = false;          // finish: the device is busy; nothing is wrong with the zone
};

// Sends the commands of one job. A failure is an outcome, not an error: nobody waits for this very zone.
[[nodiscard]] ZoneJobOutcome RunZoneJob(ZonedDevice& device, const ZoneJob& job);

}  // namespace zenfs
