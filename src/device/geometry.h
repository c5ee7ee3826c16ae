// The fixed layout and limits of a zoned device.
#pragma once

#include <cstdint>

#include "model/units.h"

namespace zenfs {

struct Geometry {
  std::uint32_t block_size = 4096;  // bytes; unit of reads and writes (the device's write granularity)
  std::uint64_t zone_size = 0;      // bytes; distance between the starts of two zones
  std::uint32_t zone_count = 0;     // all zones, of every type
  std::uint32_t max_open = 0;       // zones; 0: no limit
  std::uint32_t max_active = 0;     // zones; 0: no limit. May be above max_open
  // Two joined devices (device/joined_device.h): the last `log_zones` zones are on the second one, which has limits of
  // its own (those for log zones) and holds only logs. Then the values on zone appends and random write areas are those of the second one.
  std::uint32_t log_zones = 0;
  std::uint32_t log_max_open = 0;
  std::uint32_t log_max_active = 0;
  std::uint64_t max_append_bytes = 0;  // longest zone append in bytes; 0: not supported
  // The longest ZonedDevice::Copy in bytes, a multiple of the block size; 0: not supported.
  std::uint64_t max_copy_bytes = 0;
  // The random write area of a zone (ZRWA, ZonedDevice::OpenRandom): its bytes, 0 if there is none; the unit of a commit in
  // bytes; the number of zones that may have one at a time.
  std::uint64_t random_area_bytes = 0;
  std::uint64_t random_area_unit = 0;
  std::uint32_t random_area_zones = 0;
  bool hides_unwritten =
      false;  // blocks behind the write pointer of a zone cannot be read, not even those of a random area
  bool volatile_cache = true;  // a power loss may lose completed writes that were not flushed
  // For an emulated device without a cache: flushes are still sent and take as long as on a drive, but completed writes
  // survive a power loss without them.
  bool keeps_unflushed = false;

  // True if the zone is on the second of two joined devices.
  bool OnLogDevice(ZoneId zone) const { return log_zones != 0 && zone.value >= main_zones(); }
  // The number of zones that are not on the second of two joined devices.
  std::uint32_t main_zones() const { return zone_count - log_zones; }
  // Returns true if a power loss can lose completed writes that were not flushed. For messages.
  bool LosesUnflushed() const { return volatile_cache && !keeps_unflushed; }
  DeviceOffset ZoneStart(ZoneId zone) const { return DeviceOffset(zone.value * zone_size); }
  ZoneId ZoneOf(DeviceOffset offset) const {
    return ZoneId(static_cast<std::uint32_t>(offset.value / zone_size));
  }
  std::uint64_t size_bytes() const { return zone_size * zone_count; }
};

}  // namespace zenfs
