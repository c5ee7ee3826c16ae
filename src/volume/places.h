// Whether what the metadata log speaks of is on this device. Nothing that ZenFS commits lies elsewhere, but what has been
// read is not trusted: zones are looked up by these numbers.
#pragma once

#include <span>
#include <string>

#include "base/status.h"
#include "device/geometry.h"
#include "device/zone_info.h"
#include "device/zoned_device.h"
#include "model/state.h"

namespace zenfs {

// On a block boundary, and no byte of it in another zone than the first.
[[nodiscard]] bool LiesInOneZone(const Extent& extent, const Geometry& geometry);

// Whether `extent`, which no commit names yet, can be what its writer wrote: below the write pointer of its zone and, where a
// volatile cache may have lost some of it, with the bytes that fit its checksum. `report`: of all zones.
[[nodiscard]] bool StandsOnDevice(ZonedDevice& device, std::span<const ZoneInfo> report,
                                  const Extent& extent);

// Whether the log may have been given the zone: one that exists, is written from its start, and is not the metadata log's.
// `report`: of all zones.
[[nodiscard]] bool CanBeLogZone(ZoneId zone, std::span<const ZoneInfo> report,
                                std::span<const ZoneId> metadata_zones);

struct KnownZones {
  const Geometry& geometry;
  std::span<const ZoneInfo> report;  // of all zones
  std::span<const ZoneId> metadata_zones;
};
// Of all extents and log zones. Errors: kCorruption naming the first that is elsewhere, or in a metadata zone: who believed it
// would write there, or reset the zone.
[[nodiscard]] Status CheckPlaces(const State& state, const KnownZones& zones, const std::string& device);

}  // namespace zenfs
