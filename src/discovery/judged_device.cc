#include "discovery/judged_device.h"

#include <fmt/format.h>

namespace zenfs {

Status JudgedDevice::CheckIsStill(const ZonedDevice& opened, const DeviceUri& uri) const {
  if (opened.identity() == identity && opened.owner() == owner) return {};
  return Fail(Code::kBusy,
              fmt::format("{}:{}: another device has taken its name; try again", uri.kind, uri.target));
}

}  // namespace zenfs
