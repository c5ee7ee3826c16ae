// Zone appends of a block device.
#include <fmt/format.h>

#include "backends/block/block_device_impl.h"
#include "device/request_check.h"

namespace zenfs {

Result<DeviceOffset> BlockDevice::Append(ZoneId zone, ByteView bytes) {
  ZENFS_RETURN_IF_ERROR(CheckZoneId(name(), geometry(), zone));
  const DeviceOffset start = geometry().ZoneStart(zone);
  ZENFS_RETURN_IF_ERROR(CheckAppend(start, bytes));
  parts_.zones->SetByCommands(zone, true);
  const IoOutcome outcome = parts_.appends->Append(start.value, bytes);
  ZENFS_RETURN_IF_ERROR(SettleAppend(start, bytes.size(), outcome));
  return DeviceOffset(outcome.place);
}

Status BlockDevice::CheckAppend(DeviceOffset start, ByteView bytes) const {
  ZENFS_RETURN_IF_ERROR(CheckWritable());
  ZENFS_RETURN_IF_ERROR(CheckOffset(name(), geometry(), "append", start));
  ZENFS_RETURN_IF_ERROR(CheckBuffer(name(), geometry(), "append", bytes));
  if (parts_.appends == nullptr) {
    return Fail(Code::kNotSupported,
                fmt::format("{}: zone append of {} bytes; the kernel offers none on a block device", name(),
                            bytes.size()));
  }
  const ZoneId zone = geometry().ZoneOf(start);
  if (start != geometry().ZoneStart(zone) || parts_.zones->conventional(zone)) {
    return Fail(
        Code::kInvalidArgument,
        fmt::format("{}: append to {}, which is not the start of a sequential zone", name(), start.value));
  }
  if (parts_.zones->random_area(zone)) {
    return Fail(Code::kInvalidArgument,
                fmt::format("{}: append to zone {}, which has a random write area", name(), zone.value));
  }
  if (bytes.size() <= geometry().max_append_bytes) return {};
  return Fail(Code::kInvalidArgument, fmt::format("{}: append of {} bytes, the device takes at most {}",
                                                  name(), bytes.size(), geometry().max_append_bytes));
}

Status BlockDevice::SettleAppend(DeviceOffset start, std::uint64_t length, const IoOutcome& outcome) {
  const ZoneId zone = geometry().ZoneOf(start);
  if (outcome.Moved(length)) {
    parts_.zones->RaisePointer(zone, outcome.place - start.value + length);
    return {};
  }
  const int error = outcome.os_errno;
  const std::string text = WithStatus(
      fmt::format("{}: append of {} bytes to zone {} failed", name(), length, zone.value), outcome.status);
  if (IsZoneLimit(error))
    return Fail(Code::kBusy, text + ": the device's limit of open or active zones is reached", error);
  // Whether any of it was written nobody knows: other appends to the zone may be in flight.
  const Result<ZoneInfo> now = ReportZone(zone);
  if (!now) return Fail(Code::kUnknownOutcome, fmt::format("{}: {}", text, now.error().ToString()), error);
  if (std::optional<Error> closed = ClosedToWrites(text, error, *now)) return Fail(*std::move(closed));
  if (length > now->capacity - now->WrittenBytes()) {
    return Fail(Code::kZoneFull,
                fmt::format("{}: {} bytes are left in the zone", text, now->capacity - now->WrittenBytes()),
                error);
  }
  return FailErrno(error == 0 ? EIO : error, text);
}

}  // namespace zenfs
