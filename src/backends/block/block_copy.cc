// Copies inside a block device that is used by commands of the drive.
#include <fmt/format.h>

#include "backends/block/block_device_impl.h"
#include "backends/host/plain_io.h"
#include "base/aligned_buffer.h"
#include "device/request_check.h"

namespace zenfs {

Status BlockDevice::Copy(DeviceOffset from, DeviceOffset to, std::uint64_t length) {
  ZENFS_RETURN_IF_ERROR(CheckCopy(name(), geometry(), from, to, length));
  ZENFS_RETURN_IF_ERROR(CheckCopyTarget(to, length));
  const ZoneId zone = geometry().ZoneOf(to);
  parts_.zones->SetByCommands(zone, true);
  const CommandResult result = WayTo(zone).Copy(from.value, to.value, length);
  if (!result.ok()) return SettleCopy(from, to, length, result);
  parts_.zones->SetPointer(zone, to - geometry().ZoneStart(zone) + length);
  return {};
}

Status BlockDevice::CheckCopyTarget(DeviceOffset to, std::uint64_t length) const {
  ZENFS_RETURN_IF_ERROR(CheckWrite(to, {}, length));
  const ZoneId zone = geometry().ZoneOf(to);
  const bool conventional = parts_.zones->conventional(zone);
  if (!conventional && !parts_.zones->random_area(zone)) return {};
  return Fail(Code::kInvalidArgument,
              fmt::format("{}: copy to zone {}, which {}", name(), zone.value,
                          conventional ? "is conventional" : "has a random write area"));
}

// The same as for a write, with the bytes at `from`.
Status BlockDevice::SettleCopy(DeviceOffset from, DeviceOffset to, std::uint64_t length,
                               const CommandResult& result) {
  const ZoneId id = geometry().ZoneOf(to);
  const FailedWrite copy{.offset = to,
                         .length = length,
                         .pointer = geometry().ZoneStart(id) + parts_.zones->pointer(id),
                         .os_errno = result.os_errno,
                         .status = result.status,
                         .command = "copy"};
  ZENFS_ASSIGN_OR_RETURN(const ZoneInfo zone, ReportAfter(copy));
  if (MayHaveLanded(copy, zone)) {
    AlignedBuffer source(length);
    source.Resize(length);
    const ByteView bytes = source.View();
    if (parts_.data->Read(from.value, source.Span()).Moved(length) &&
        HoldsPlainly(parts_.control->fd(), to.value, std::span(&bytes, 1)))
      return {};
  }
  return Fail(DescribeFailedWrite(name(), copy, zone));
}

}  // namespace zenfs
