// Joins two devices into one: a main one, and a second one whose zones hold only the frames of logs. For example a large
// SMR disk, whose flush is slow, and a small NVMe drive.
//
//   zones of the joined device   | 0 .. main's zones - 1 | then the second device's zones from `first_log_zone` on |
//
// The zones of the second device before `first_log_zone` are hidden; its superblock is there, and the key of the pair. The zone size, and the block
// size, are the larger ones of the two devices, so zones of the other device have a capacity below the zone size.
//
// Ownership: owns both devices. Threads: as the devices. Errors: those of the device of the zone; its messages name that
// device and its own zone numbers.
// Units: bytes; zones.
#pragma once

#include <memory>

#include "base/status.h"
#include "device/zoned_device.h"

namespace zenfs {

// The fewest zones that the second device must have from `first_log_zone` on: the current log zone, the next one, the zone
// of sync blocks, and one that a mount may need.
inline constexpr std::uint32_t kFewestLogZones = 4;

// The hidden zones that are written, and stay active: those of the pair key (metalog/pair_zones.h). The log has the other slots
// of the second device.
inline constexpr std::uint32_t kPairZones = 2;

// Both devices have the same mode. Errors: kInvalidArgument, with both values, if the larger block size does not divide the
// capacities and zone sizes of the other device, or if the second device has too few zones; kNotSupported if its limit of
// open or active zones is below kFewestLogZones.
[[nodiscard]] Result<std::unique_ptr<ZonedDevice>> JoinDevices(std::unique_ptr<ZonedDevice> main,
                                                               std::unique_ptr<ZonedDevice> logs,
                                                               ZoneId first_log_zone);

}  // namespace zenfs
