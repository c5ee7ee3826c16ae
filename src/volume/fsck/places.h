// Checks that the places in the metadata exist on this device. ZenFS never commits others, but metadata that was read is not
// trusted, because its numbers are used as indexes of zones.
#pragma once

#include <span>
#include <string>

#include "base/status.h"
#include "device/geometry.h"
#include "device/zone_info.h"
#include "device/zoned_device.h"
#include "model/state.h"

namespace zenfs {

// True if the extent begins on a block boundary and ends in the zone where it begins.
[[nodiscard]] bool LiesInOneZone(const Extent& extent, const Geometry& geometry);

// True if the device still has the bytes of `extent`, which no commit names yet: it lies below the write pointer of its zone
// and, if the device has a volatile cache, matches its checksum. `report` covers all zones.
[[nodiscard]] bool StandsOnDevice(ZonedDevice& device, std::span<const ZoneInfo> report,
                                  const Extent& extent);

// The bytes of extents whose checksums are read. No byte of the device has two of them, so a sum beyond its size is a forgery,
// which would be read for hours.
class SumOfExtents {
 public:
  // Errors: kCorruption, now and from then on, if all extents so far have more bytes than the device.
  [[nodiscard]] Status Add(std::span<const Extent> extents, const Geometry& geometry);

 private:
  std::uint64_t bytes_ = 0;
};

// True if the zone can be a log zone: it exists, is sequential, and is not a metadata zone. `report` covers all zones.
[[nodiscard]] bool CanBeLogZone(ZoneId zone, std::span<const ZoneInfo> report,
                                std::span<const ZoneId> metadata_zones);

struct KnownZones {
  const Geometry& geometry;
  std::span<const ZoneInfo> report;  // of all zones
  std::span<const ZoneId> metadata_zones;
};
// Checks all extents and log zones. Errors: kCorruption, which names the first one that is outside the device or in a
// metadata zone. A mount that used it would write there or reset that zone.
[[nodiscard]] Status CheckPlaces(const State& state, const KnownZones& zones, const std::string& device);

}  // namespace zenfs
