// The commands in flight on two joined devices (device/joined_device.h).
#pragma once

#include <cstddef>
#include <memory>

#include "device/zoned_device.h"

namespace zenfs {

// Where the zones of one device are among those of the joined device.
struct PartMap {
  ZonedDevice& device;
  ZoneId outer_first;       // number of `inner_first` on the joined device
  ZoneId inner_first;       // the first zone of `device` that the joined device shows
  std::uint64_t zone_size;  // of the joined device, at least that of `device`

  ZoneId Inner(ZoneId outer) const { return ZoneId(outer.value - outer_first.value + inner_first.value); }
  ZoneId Outer(ZoneId inner) const { return ZoneId(inner.value - inner_first.value + outer_first.value); }
  DeviceOffset Inner(DeviceOffset outer) const {
    const ZoneId zone(static_cast<std::uint32_t>(outer.value / zone_size));
    return device.geometry().ZoneStart(Inner(zone)) + outer.value % zone_size;
  }
  DeviceOffset Outer(DeviceOffset inner) const {
    const ZoneId zone = device.geometry().ZoneOf(inner);
    return DeviceOffset(Outer(zone).value * zone_size) + (inner - device.geometry().ZoneStart(zone));
  }
  ZoneInfo Outer(const ZoneInfo& inner) const;
  // Errors: kInvalidArgument if a zone of `device` ends before the `bytes` at `outer` end.
  [[nodiscard]] Status CheckFits(DeviceOffset outer, std::uint64_t bytes) const;
};

// A queue for the devices of both maps, which outlive it.
[[nodiscard]] std::unique_ptr<IoQueue> MakeJoinedQueue(const PartMap& main, const PartMap& logs,
                                                       std::size_t depth);

}  // namespace zenfs
