// The zone report of a device, in the terms of the NVMe ZNS command set specification and linux/blkzoned.h.
#pragma once

#include <cstdint>
#include <string_view>

#include "model/units.h"

namespace zenfs {

enum class ZoneType : std::uint8_t {
  kConventional,         // random writes, no write pointer; ZenFS does not use these
  kSequentialRequired,   // written only at the write pointer
  kSequentialPreferred,  // host-aware disks; a mount refuses these
};

enum class ZoneCondition : std::uint8_t {
  kNotWritePointer,  // conventional zones
  kEmpty,
  kImplicitlyOpen,
  kExplicitlyOpen,
  kClosed,
  kFull,      // the write pointer is undefined
  kReadOnly,  // the write pointer is undefined
  kOffline,   // neither readable nor writable
};

struct ZoneInfo {
  ZoneId id;
  ZoneType type = ZoneType::kSequentialRequired;
  ZoneCondition condition = ZoneCondition::kEmpty;
  DeviceOffset start;
  std::uint64_t capacity = 0;  // writable bytes from start; may be below the zone size
  DeviceOffset write_pointer;  // defined in kEmpty, k*Open and kClosed only
  bool random_area = false;    // has a random write area (ZonedDevice::OpenRandom)

  // Bytes from start that may hold data: up to the write pointer, or up to the capacity of full and read-only zones; 0 for
  // offline and conventional zones. A device may report a write pointer beyond the capacity.
  std::uint64_t WrittenBytes() const;
};

constexpr bool IsOpen(ZoneCondition c) {
  return c == ZoneCondition::kImplicitlyOpen || c == ZoneCondition::kExplicitlyOpen;
}
// True if the zone counts towards the device's limit of active zones.
constexpr bool IsActive(ZoneCondition c) { return IsOpen(c) || c == ZoneCondition::kClosed; }

// "empty", "implicitly open", ...
[[nodiscard]] std::string_view ConditionName(ZoneCondition condition);
[[nodiscard]] std::string_view TypeName(ZoneType type);

}  // namespace zenfs
