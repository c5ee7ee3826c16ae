// The two devices that CrashDevice::SplitLogs joins into one, each by itself, for the production code that opens a pair.
//
//    zones of `device`     | 0 .. main_zones() - 1 | the log zones | kPairZones zones |
//    zones of its parts    | the main device       | from kPairZones on | 0 .. kPairZones - 1, of the second device |
//
// So a zone that the joined device (device/joined_device.h) shows has the same number there and on `device`.
//
// Ownership: `device` outlives the results. Threads: as `device`.
#pragma once

#include <memory>

#include "device/zoned_device.h"

namespace zenfs {

struct SplitParts {
  std::unique_ptr<ZonedDevice> main;
  std::unique_ptr<ZonedDevice> logs;
};

// True if `device` is one that SplitLogs has made, or a decorator of it.
[[nodiscard]] bool IsSplit(const ZonedDevice& device);
// `device` is split. The parts have its mode.
[[nodiscard]] SplitParts Split(ZonedDevice& device, OpenMode mode);

// Lends `device`; if it is split, its two parts, joined by JoinDevices. Errors: those of JoinDevices.
[[nodiscard]] Result<std::unique_ptr<ZonedDevice>> BorrowJoined(ZonedDevice& device,
                                                                OpenMode mode = OpenMode::kExclusive);

}  // namespace zenfs
