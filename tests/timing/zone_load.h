// Commands that manage zones, of a device whose zones are filled as the load wants them.
#pragma once

#include <atomic>

#include "base/thread.h"
#include "device/zoned_device.h"
#include "experiment.h"

namespace zenfs {

// Which zones a load works on.
inline constexpr std::uint32_t kManagedZones = 8;
inline constexpr std::uint32_t kFinishZones = 8;
inline constexpr std::uint32_t kFirstReadZone = 100;
inline constexpr std::uint32_t kReadZones = 16;
inline constexpr std::uint32_t kFirstResetZone = 200;
inline constexpr std::uint32_t kResetZones = 90;
inline constexpr std::uint32_t kFirstFinishZone = 300;
inline constexpr std::uint32_t kBackgroundZone = 400;

// A few of the load's commands, one after another.
[[nodiscard]] Result<LoadOutcome> ManageZones(ZonedDevice& device, const Load& load);

// Resets or finishes beside another load, in a thread of its own, until it is destroyed.
class ZoneLoad {
 public:
  ZoneLoad(ZonedDevice& device, const Load& load);
  ~ZoneLoad();

 private:
  void Run();
  Status Next(std::uint32_t turn);

  ZonedDevice& device_;
  const Load load_;
  std::atomic<bool> stop_{false};
  Thread thread_;
};

}  // namespace zenfs
