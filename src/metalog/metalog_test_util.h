// Helpers for the tests of the metadata log.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "backends/emulator/emulator.h"
#include "metalog/metalog.h"
#include "model/state.h"

namespace zenfs {

inline EmulatorGeometry SmallGeometry(std::uint64_t zone_bytes, std::uint32_t zones = 6) {
  return EmulatorGeometry{.zones = zones,
                          .zone_size = zone_bytes,
                          .zone_capacity = zone_bytes - 4096,
                          .max_open = 0,
                          .max_active = 0,
                          .block_size = 4096};
}

inline Superblock SuperblockFor(const Geometry& geometry, std::uint32_t metadata_zones) {
  Superblock superblock;
  superblock.uuid = *Uuid::Parse("01234567-89ab-4def-8123-456789abcdef");
  superblock.seed = superblock.uuid;
  superblock.label = "test";
  superblock.block_size = geometry.block_size;
  superblock.zone_size = geometry.zone_size;
  superblock.zone_count = geometry.zone_count;
  superblock.made_by = "metalog test";
  for (std::uint32_t i = 0; i < metadata_zones; ++i) superblock.metadata_zones.push_back(ZoneId(i));
  return superblock;
}

inline constexpr std::uint64_t kFirstTestId = 100;

// For Format: allows ids below a million.
inline std::vector<Edit> InitialEdits() {
  return {RaiseCounters{.next_id = 1'000'000, .next_generation = 1}};
}

inline std::vector<Edit> CreateNamed(std::uint64_t id) {
  return {CreateFile{.id = FileId(id)},
          LinkFile{.parent = kRootDirectory, .name = fmt::format("file-{}", id), .id = FileId(id)}};
}
inline std::vector<Edit> UnlinkNamed(std::uint64_t id) {
  return {UnlinkFile{kRootDirectory, fmt::format("file-{}", id)}};
}

inline Status Formatted(ZonedDevice& device, std::uint32_t metadata_zones) {
  return Metalog::Format(device, SuperblockFor(device.geometry(), metadata_zones), InitialEdits());
}

inline std::unique_ptr<Metalog> MustOpen(ZonedDevice& device, std::uint32_t metadata_zones) {
  auto log = Metalog::Open(device, SuperblockFor(device.geometry(), metadata_zones));
  EXPECT_TRUE(log) << log.error().ToString();
  return log ? std::move(*log) : nullptr;
}

inline bool HasFile(const State& state, std::uint64_t id) { return state.FindFile(FileId(id)) != nullptr; }

#define ZENFS_ASSERT_OK(expr)                                    \
  do {                                                           \
    const auto zenfs_ok_ = (expr);                               \
    ASSERT_TRUE(zenfs_ok_.ok()) << zenfs_ok_.error().ToString(); \
  } while (false)

}  // namespace zenfs
