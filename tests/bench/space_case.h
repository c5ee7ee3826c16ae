// What the tests of the simulation of space share.
#pragma once

#include <gtest/gtest.h>

#include <memory>

#include "run.h"
#include "workload.h"

namespace zenfs::space {

inline constexpr std::uint64_t kTestMib = 1 << 20;

// 100 zones of 48 MiB: 4.7 GiB for data.
inline TraceDevice SmallTestDevice(std::uint32_t zones = 100) {
  return {.zone_size = 64 * kTestMib,
          .zone_capacity = 48 * kTestMib,
          .zones = zones,
          .metadata_zones = 3,
          .max_open = 14,
          .max_active = 14};
}

inline std::unique_ptr<SimulatedZones> TestZones(const TraceDevice& device = SmallTestDevice(),
                                                 std::string_view policy = "lifetime") {
  auto zones = SimulatedZones::Create(device, *FindPlacement(policy));
  EXPECT_TRUE(zones.ok());
  return *std::move(zones);
}

inline WorkloadOptions TestWorkload(const SimulatedZones& zones, double live, std::uint64_t seed = 1) {
  return {.live_bytes = static_cast<std::uint64_t>(live * static_cast<double>(zones.data_capacity())),
          .file_bytes = kTestMib,
          .buffer_bytes = kTestMib,
          .writers = 4,
          .seed = seed};
}

}  // namespace zenfs::space
