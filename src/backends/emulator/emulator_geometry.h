// The shape of an emulated device, as a user chooses it.
#pragma once

#include <cstdint>

#include "base/status.h"
#include "device/geometry.h"

namespace zenfs {

struct EmulatorGeometry {
  std::uint32_t zones = 64;
  std::uint64_t zone_size = 16u << 20;  // bytes
  std::uint64_t zone_capacity = 0;      // bytes; 0: zone_size. Conventional zones always have zone_size
  std::uint32_t max_open = 14;          // 0: no limit
  std::uint32_t max_active = 14;        // 0: no limit
  std::uint32_t conventional = 0;       // number of zones without write pointer, from the first on
  std::uint32_t block_size = 4096;      // bytes
  // Random write areas (ZonedDevice::OpenRandom): the bytes of one, 0: none; the unit of a commit in bytes; the number of
  // zones that may have one.
  std::uint64_t random_area = 0;
  std::uint64_t random_unit = 0;
  std::uint32_t random_zones = 0;
  // The longest ZonedDevice::Copy in bytes, a multiple of the block size; 0: none. It takes the time of its read and its
  // write. A file does not record it (EmulatorOptions).
  std::uint64_t max_copy_bytes = 0;
  // The last `last_zones` zones have this capacity, as if they were another device's (device/joined_device.h). Only for devices
  // in memory; a file does not record it.
  std::uint32_t last_zones = 0;
  std::uint64_t last_capacity = 0;

  std::uint64_t capacity() const { return zone_capacity == 0 ? zone_size : zone_capacity; }
  bool is_conventional(ZoneId zone) const { return zone.value < conventional; }
  std::uint64_t capacity_of(ZoneId zone) const {
    if (zone.value >= zones - last_zones) return last_capacity;
    return zone.value < conventional ? zone_size : capacity();
  }
  // The sum for all zones.
  std::uint64_t capacity_of_all() const {
    std::uint64_t bytes = 0;
    for (std::uint32_t zone = 0; zone < zones; ++zone) bytes += capacity_of(ZoneId(zone));
    return bytes;
  }
  std::uint64_t blocks_of(ZoneId zone) const { return capacity_of(zone) / block_size; }
  friend bool operator==(const EmulatorGeometry&, const EmulatorGeometry&) = default;
};

// The shape of the drive that the profile zn540 models: 904 zones of 2 GiB with a capacity of 1077
// MiB.
inline constexpr EmulatorGeometry kZn540Geometry{.zones = 904,
                                                 .zone_size = std::uint64_t{2048} << 20,
                                                 .zone_capacity = std::uint64_t{1077} << 20,
                                                 .max_open = 14,
                                                 .max_active = 14};

// The shape of a drive with small zones that the profile smallzone models: 96 MiB of capacity, 384 open and active zones. Linux
// wants zone sizes that are powers of two. 1 TB.
inline constexpr EmulatorGeometry kSmallZoneGeometry{.zones = 9'936,
                                                     .zone_size = std::uint64_t{128} << 20,
                                                     .zone_capacity = std::uint64_t{96} << 20,
                                                     .max_open = 384,
                                                     .max_active = 384};

// kInvalidArgument with the first fault, in one line.
[[nodiscard]] Status Validate(const EmulatorGeometry& geometry);

// The geometry that the device reports. `volatile_cache`: it needs flushes. `loses_unflushed`: it
// was made with a volatile cache, so that CutPower removes blocks that were not flushed.
[[nodiscard]] Geometry ToDeviceGeometry(const EmulatorGeometry& geometry, bool volatile_cache,
                                        bool loses_unflushed = true);

}  // namespace zenfs
