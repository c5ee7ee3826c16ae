// What a device holds, found out by reading only: its superblock, or what stands in its place.
//
// Whatever the bytes are, the answer is one of these; a look costs the first block of some zones and takes no lock.
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
#include "discovery/known_devices.h"

namespace zenfs {

struct Contents {
  enum class Kind {
    kZenfs,       // uuid, label
    kZonefs,      // a zonefs that is not mounted
    kUsed,        // belongs to what KnownDevice::used_by names; not looked into
    kNothing,     // no zone is written (told by Examine alone)
    kOther,       // neither a ZenFS nor a zonefs
    kNoDevice,    // not there, or nothing that ZenFS could use: `why`
    kUnreadable,  // no permission, an I/O error, a ZenFS that is damaged or of another version: `why`
  };
  Kind kind = Kind::kOther;
  Uuid uuid;
  std::string label;
  std::string identity;  // of the device, kZenfs: ZonedDevice::identity()
  std::optional<Error> why;
};

[[nodiscard]] Contents Probe(const KnownDevice& known);

// All that can be told of a device without changing it.
struct DeviceLook {
  Contents contents;
  std::optional<Geometry> geometry;  // of a device that could be opened
  std::uint64_t zone_capacity = 0;   // bytes: the largest of its sequential zones; 0: not known
  std::uint32_t conventional = 0;    // zones that ZenFS leaves alone
  std::vector<std::string> notices;  // ZonedDevice::notices()
  bool readable = false;             // by this process, as far as permissions go
  bool writable = false;
};

// Beyond Probe, a report of all zones.
[[nodiscard]] DeviceLook Examine(const KnownDevice& known);

}  // namespace zenfs
