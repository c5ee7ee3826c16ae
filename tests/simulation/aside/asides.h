// Questions about the state after a crash or an unmount that need an image of their own, aside from the run. Some are asked
// after each round, as a seed decides.
//
// Threads: those of a SimScheduler.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "crash/verify.h"

namespace zenfs {

// All outlives the call.
struct AsideView {
  std::uint64_t seed = 0;
  const CrashDevice& device;
  const CrashDevice* copy = nullptr;  // of all devices, made before the last mount; may be null
  std::vector<ZoneId>
      metadata_zones;  // one of them may die or rot; empty if the volume has one copy of its metadata
  MountOptions mount;
  bool shared_memory = false;
  std::vector<const Expectation*> expected;
  CrashKind readers_show = CrashKind::kPowerLost;
  std::function<void()> prepare;  // restores the shared memory that the process left
};

// Empty if all is well.
[[nodiscard]] std::string WhyNotAside(const AsideView& view);

}  // namespace zenfs
