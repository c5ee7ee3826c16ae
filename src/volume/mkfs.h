// mkfs: makes a file system on a device. Makes all checks before the first write; without `force`, refuses a device with other
// contents and names them.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
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
  Uuid
      aux_secret;  // of its marker (volume/aux_directory/aux_directory.h); nil: each mount needs the option aux_path
  bool force = false;  // overwrite existing contents
  std::uint32_t finish_threshold_percent = 0;
  std::uint32_t metadata_zones = 0;  // 0: choose by the device's size
  // `device` is joined (device/joined_device.h): the names that each of the two devices gets for the other, and the second
  // device by itself, which gets a superblock too; null: it gets none.
  ZonedDevice* log_device = nullptr;
  std::string main_name;
  std::string log_device_name;
};

struct FormatReport {
  Uuid uuid;
  std::uint64_t free_bytes = 0;
  std::vector<ZoneId> metadata_zones;
  // Zones that hold each byte of the metadata. If 1: why it is not 2.
  std::uint32_t metadata_copies = 1;
  std::string why_one_copy;
};

// Zones that can hold metadata or data: sequential, neither offline nor read-only, and not on the second of two joined
// devices.
[[nodiscard]] std::vector<ZoneInfo> UsableZones(const Geometry& geometry, std::span<const ZoneInfo> report);
// FormatVolume refuses fewer: zones for metadata and for the log, and one or two for data.
inline constexpr std::size_t kFewestUsableZones = 8;
// What FormatVolume chooses: for each copy of the metadata, room for two snapshots of the largest expected one (design rule
// 4), and one more zone. There are two copies, so that the loss of one zone costs no metadata, if their zones are at most an
// eighth of the usable ones and the device allows enough active zones.
struct MetadataPlan {
  std::uint32_t zones = 0;
  std::uint32_t copies = 1;
  std::string why_one_copy;  // if copies is 1
};
// `usable` is not empty. `zones`: their number, if it is not to be chosen.
[[nodiscard]] MetadataPlan PlanMetadata(const Geometry& geometry, std::span<const ZoneInfo> usable,
                                        std::uint32_t zones = 0);

// `device` is open exclusively. It is not written before all checks have passed.
// Errors: kExists if the device holds a file system or any data and `force` is not set; the text names what was found
// ("Existing filesystem found, use --force if you want to replace it." for a ZenFS). kInvalidArgument if the device has too
// few or too small zones (the text has the needed and the present values), or if the label or aux_path is too long.
// kNotSupported if too many of the first zones are offline or read-only.
[[nodiscard]] Result<FormatReport> FormatVolume(ZonedDevice& device, const FormatOptions& options);

// mkfs for a volume whose logs are on a second device.
struct TwoDevices {
  ZonedDevice& main;
  ZonedDevice& logs;
  std::string main_name;  // URIs, which each device gets for the other
  std::string logs_name;
};

// Makes a file system on `main`, and what its mounts need on `logs`. Both are open exclusively; neither is written before
// all checks have passed. The first two usable zones of `logs` get a superblock and the key of the pair, the zones behind them become log zones.
// A crash in between leaves `main` without a file system, or with one whose log device is complete.
// Errors: those of FormatVolume and JoinDevices; kInvalidArgument if `logs` has too few zones.
[[nodiscard]] Result<FormatReport> FormatTwoDevices(const TwoDevices& devices, FormatOptions options);

}  // namespace zenfs
