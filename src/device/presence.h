// Tells a device that serves nothing from a damaged one, for callers that take a block that cannot be read for a missing write.
// A cable that is loose for a moment, a controller that resets, an unplugged disk of which zonefs still reports the zones: every
// byte looks damaged then.
//
//   const PresenceMark mark = PresenceMark::Now(device);
//   ... scan ...
//   ZENFS_RETURN_IF_ERROR(mark.Check(device));  // before anything is concluded from what was not found
//
// Works only on a guarded device (device/guarded_device.h), which counts outages. Without a guard, only a device that is gone
// until it is opened again is noticed.
//
// Threads: a plain value.
#pragma once

#include <cstdint>
#include <optional>

#include "base/clock.h"
#include "base/status.h"
#include "device/zoned_device.h"

namespace zenfs {

class PresenceMark {
 public:
  static PresenceMark Now(const ZonedDevice& device) { return PresenceMark(device.errors().outages); }
  // The time when the device was guarded.
  static PresenceMark AtOpen() { return PresenceMark(0); }

  // Reads nothing. Error: kIo if a read failed since because the device served nothing, or if the device is gone
  // (ZonedDevice::IsGone).
  [[nodiscard]] Status Check(const ZonedDevice& device) const;

 private:
  explicit PresenceMark(std::uint64_t outages) : outages_(outages) {}

  std::uint64_t outages_;
};

// Reads the first blocks of up to 16 zones that hold data, then their last ones, until a read succeeds. Returns the offset of that
// block, or nothing if no zone holds data. Asks one zone only once the deadline has passed. Errors: those of the report; that
// of the last read if none succeeded.
[[nodiscard]] Result<std::optional<DeviceOffset>> FindReadable(ZonedDevice& device, Deadline deadline);

}  // namespace zenfs
