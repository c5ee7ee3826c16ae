#include "device/zoned_device.h"

#include <fmt/format.h>

namespace zenfs {
namespace {

Status NoRandomArea(const ZonedDevice& device) {
  return Fail(Code::kNotSupported, fmt::format("{}: its zones have no random write area", device.name()));
}

}  // namespace

Status ZonedDevice::Copy(DeviceOffset, DeviceOffset, std::uint64_t) {
  return Fail(Code::kNotSupported, name() + ": it does not copy");
}
Status ZonedDevice::FlushDeviceOf(ZoneId) { return Flush(); }
Status ZonedDevice::OpenRandom(ZoneId) { return NoRandomArea(*this); }
Status ZonedDevice::CommitRandom(DeviceOffset) { return NoRandomArea(*this); }

}  // namespace zenfs
