// Over how many zones the data of one file, and the frames of all logs, are spread.
//
// On most drives one zone takes the whole bandwidth of the drive, and a file is written to one zone after the other. On
// drives of small zones a zone has one die, or a few, and a fraction of the bandwidth. There a file goes to several zones in
// turns, SpreadUnit to each, and a large write to several of them at once. Files of one lifetime still share these zones, so
// that together they are like one large zone (docs/internals/space.md).
#pragma once

#include <cstdint>

#include "device/geometry.h"
#include "zone/zone_limits.h"

namespace zenfs {

// The bytes that go to a zone in one turn: as many as a zone of such a drive takes into its write buffer at once, fewer for
// very small zones. A MiB that RocksDB writes goes to eight zones at once.
[[nodiscard]] std::uint64_t SpreadUnit(const Geometry& geometry);
inline constexpr std::uint32_t kSpreadMax = 64;

// Whether this is such a drive, as far as its limits tell.
[[nodiscard]] bool HasManySmallZones(const Geometry& geometry);

// For a device whose kind of zones is known by its limits only: 1 unless it has many active zones, all small. No drive says
// how fast a zone is. `plan`: of the device, whose slots several files share.
[[nodiscard]] std::uint32_t DefaultSpread(const Geometry& geometry, const SlotPlan& plan);

// The number of zones in a group of the log, to which its frames go in turns: 1 unless the device is such a drive. Writers,
// readers, mkfs and df use it for the headroom, so it depends only on the geometry. A second device is chosen for its logs:
// there it is 1.
[[nodiscard]] std::uint32_t LogGroup(const Geometry& geometry);

}  // namespace zenfs
