#include "volume/format_two_devices.h"

#include <fmt/format.h>

#include "device/forwarding_device.h"
#include "device/joined_device.h"

namespace zenfs {
namespace {

constexpr std::size_t kSuperblockCopies = 2;

Result<ZoneId> FirstLogZone(ZonedDevice& logs) {
  ZENFS_ASSIGN_OR_RETURN(const std::vector<ZoneInfo> report, ReportAll(logs));
  const std::vector<ZoneInfo> usable = UsableZones(logs.geometry(), report);
  const std::size_t needed = kSuperblockCopies + kFewestLogZones;
  if (usable.size() >= needed) return ZoneId(usable[kSuperblockCopies - 1].id.value + 1);
  return Fail(Code::kInvalidArgument,
              fmt::format("{}: {} usable sequential zones; a device for logs needs at least {}", logs.name(),
                          usable.size(), needed));
}

}  // namespace

Result<FormatReport> FormatTwoDevices(const TwoDevices& devices, FormatOptions options) {
  ZENFS_ASSIGN_OR_RETURN(const ZoneId first, FirstLogZone(devices.logs));
  ZENFS_ASSIGN_OR_RETURN(const auto joined,
                         JoinDevices(std::make_unique<ForwardingDevice>(devices.main),
                                     std::make_unique<ForwardingDevice>(devices.logs), first));
  options.log_device = &devices.logs;
  options.main_name = devices.main_name;
  options.log_device_name = devices.logs_name;
  return FormatVolume(*joined, options);
}

}  // namespace zenfs
