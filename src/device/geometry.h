// The unchanging shape and limits of a zoned device.
#pragma once

#include <cstdint>

#include "model/units.h"

namespace zenfs {

struct Geometry {
  std::uint32_t block_size = 4096;     // bytes; unit of reads and writes (the device's write granularity)
  std::uint64_t zone_size = 0;         // bytes; distance between the starts of two zones
  std::uint32_t zone_count = 0;        // all zones, of every type
  std::uint32_t max_open = 0;          // zones; 0: no limit
  std::uint32_t max_active = 0;        // zones; 0: no limit. max_open may be below it
  std::uint64_t max_append_bytes = 0;  // longest zone append; 0: the device offers no append
  bool volatile_cache = true;          // completed writes may be lost with power until Flush returns
  // The device takes flushes as if it had a volatile cache, and keeps every completed write without them: an emulated
  // device that was made without a cache. A flush is still sent, and takes the time that it takes on a drive.
  bool keeps_unflushed = false;

  // What to tell a user: whether power can take writes that were completed and not flushed.
  bool LosesUnflushed() const { return volatile_cache && !keeps_unflushed; }
  DeviceOffset ZoneStart(ZoneId zone) const { return DeviceOffset(zone.value * zone_size); }
  ZoneId ZoneOf(DeviceOffset offset) const {
    return ZoneId(static_cast<std::uint32_t>(offset.value / zone_size));
  }
  std::uint64_t size_bytes() const { return zone_size * zone_count; }
};

}  // namespace zenfs
