// Finds out by reading what a device holds: a ZenFS, from its superblock, or something else.
//
// Any bytes give one of the kinds below. A look reads the first block of some zones and takes no
// lock.
//
// Threads: no state.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "base/uuid.h"
#include "device/geometry.h"
#include "device/zoned_device.h"
#include "discovery/known_devices.h"

namespace zenfs {

struct Contents {
  enum class Kind {
    kZenfs,       // uuid, label
    kLogs,        // only the logs of the volume with this uuid; the rest is on another device
    kZonefs,      // a zonefs that is not mounted
    kUsed,        // in use by KnownDevice::used_by; not examined
    kNothing,     // no zone is written; only Examine finds this
    kOther,       // neither a ZenFS nor a zonefs
    kNoDevice,    // missing, or of a kind that ZenFS can't use; `why` has the reason
    kUnreadable,  // no permission, an I/O error, a damaged ZenFS or one of another version; see `why`
  };
  Kind kind = Kind::kOther;
  Uuid uuid;
  std::string label;
  std::string identity;                // kZenfs: ZonedDevice::identity() of the device
  std::optional<DeviceOwner> owner{};  // kZenfs
  bool is_older = false;               // kZenfs: of the older ZenFS, which is only read
  std::optional<Error> why;
};

[[nodiscard]] Contents Probe(const KnownDevice& known);

// Everything that is known of a device without changing it.
struct DeviceLook {
  Contents contents;
  std::optional<Geometry> geometry;  // if the device could be opened
  std::uint64_t zone_capacity = 0;   // bytes: the largest of its sequential zones; 0: unknown
  std::uint32_t conventional = 0;    // number of zones that ZenFS does not use
  std::vector<std::string> notices;  // ZonedDevice::notices()
  bool readable = false;             // this process may read it
  bool writable = false;
  // "process 1234 (db_bench)" that has it open for writing, as far as the kernel shows it to this process; otherwise empty.
  std::string in_use_by;
};

// As Probe, with a report of all zones.
[[nodiscard]] DeviceLook Examine(const KnownDevice& known);

}  // namespace zenfs
