// A device that was looked at, before it is opened once more by the same name. Who may change a directory on the way may lead
// the name to another device meanwhile, which nobody has judged.
#pragma once

#include <optional>
#include <string>

#include "backends/device_uri.h"
#include "base/status.h"
#include "device/zoned_device.h"

namespace zenfs {

struct JudgedDevice {
  std::string identity;  // ZonedDevice::identity()
  std::optional<DeviceOwner> owner;

  // `opened` was opened by the name `uri`. Errors: kBusy if it is another device, or has another owner.
  [[nodiscard]] Status CheckIsStill(const ZonedDevice& opened, const DeviceUri& uri) const;
};

}  // namespace zenfs
