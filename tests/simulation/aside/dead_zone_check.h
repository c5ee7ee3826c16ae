// One zone dies, or one block of the metadata rots, between a crash and the next mount. Files without bytes there must be as
// they were; lost bytes of the others must be found by a check that names the file, or counts it among those it does not name.
//
// Threads: those of a SimScheduler.
#pragma once

#include <string>

#include "base/random.h"
#include "crash/verify.h"

namespace zenfs {

struct DeadZoneCheck {
  MountOptions mount;
  CrashKind kind = CrashKind::kPowerLost;
  std::vector<const Expectation*> expected;
  std::vector<ZoneId> metadata_zones;  // may die too, if any is given
  bool log_zones = false;              // may die too
};

// `device` is not changed. `prepare` is called before each mount.
[[nodiscard]] std::string WhyNotWithoutAZone(const CrashDevice& device, const DeadZoneCheck& check,
                                             const std::function<void()>& prepare, Random& random);
// A block of a metadata zone rots instead.
[[nodiscard]] std::string WhyNotWithRottenMetadata(const CrashDevice& device, const DeadZoneCheck& check,
                                                   const std::function<void()>& prepare, Random& random);

}  // namespace zenfs
