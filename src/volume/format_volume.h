// mkfs: makes a file system on a device. Decides first, then writes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "base/uuid.h"
#include "device/zoned_device.h"

namespace zenfs {

struct FormatOptions {
  std::string label;
  std::optional<Uuid> uuid;  // default: a new one
  std::string aux_path;      // directory of the host for LOG and LOCK, absolute; empty: none
  bool force = false;        // overwrite what is there
  std::uint32_t finish_threshold_percent = 0;
  std::uint32_t metadata_zones = 0;  // 0: as many as the device's size asks for
};

struct FormatReport {
  Uuid uuid;
  std::uint64_t free_bytes = 0;
  std::vector<ZoneId> metadata_zones;
};

// `device` is open exclusively and is not written at all unless everything has been checked.
// Errors: kExists when the device holds a file system or any data and `force` is not set (the text says what
// was found: "Existing filesystem found, use --force if you want to replace it." for a ZenFS);
// kInvalidArgument when the device has too few or too small zones (the text says what is needed and what is
// there) or the label or aux_path is too long.
[[nodiscard]] Result<FormatReport> FormatVolume(ZonedDevice& device, const FormatOptions& options);

}  // namespace zenfs
