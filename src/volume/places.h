// Whether what the metadata log speaks of is on this device. Nothing that ZenFS commits lies elsewhere, but what has been
// read is not trusted: zones are looked up by these numbers.
#pragma once

#include <string>

#include "base/status.h"
#include "device/geometry.h"
#include "model/state.h"

namespace zenfs {

// On a block boundary, and no byte of it in another zone than the first.
[[nodiscard]] bool LiesInOneZone(const Extent& extent, const Geometry& geometry);

// Of all extents and log zones. Errors: kCorruption naming the first that is elsewhere.
[[nodiscard]] Status CheckPlaces(const State& state, const Geometry& geometry, const std::string& device);

}  // namespace zenfs
