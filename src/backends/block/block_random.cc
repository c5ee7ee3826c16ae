// Random write areas of a block device that is used by commands of the drive.
#include <fmt/format.h>

#include "backends/block/block_device_impl.h"
#include "device/request_check.h"

namespace zenfs {

Status BlockDevice::OpenRandom(ZoneId zone) {
  constexpr std::string_view kWhat = "random open";
  if (geometry().random_area_bytes == 0) return ZonedDevice::OpenRandom(zone);
  ZENFS_RETURN_IF_ERROR(CheckManaged(kWhat, zone));
  // A drive may take this for a second area of the zone (QEMU 7.2).
  if (parts_.zones->random_area(zone)) {
    return Fail(Code::kInvalidArgument,
                fmt::format("{}: zone {} has a random write area already", name(), zone.value));
  }
  const Status opened =
      SettleManaged(kWhat, zone, parts_.control->OpenRandom(geometry().ZoneStart(zone).value));
  if (opened.ok()) {
    parts_.zones->SetPointer(zone, 0);
    parts_.zones->SetByCommands(zone, true);
    parts_.zones->SetRandomArea(zone, true);
    return {};
  }
  // The drive has one status for this and for faults of its own, and may look for a free area first.
  const Result<ZoneInfo> now = ReportZone(zone);
  const Code code = opened.error().code();
  const bool refused =
      (code == Code::kIo || code == Code::kBusy) && now && now->condition != ZoneCondition::kEmpty;
  return refused ? Fail(opened.error().As(Code::kInvalidArgument)) : opened;
}

Status BlockDevice::CommitRandom(DeviceOffset to) {
  constexpr std::string_view kWhat = "commit";
  if (geometry().random_area_bytes == 0) return ZonedDevice::CommitRandom(to);
  ZENFS_ASSIGN_OR_RETURN(const ZoneId zone, CheckCommit(name(), geometry(), to));
  ZENFS_RETURN_IF_ERROR(CheckManaged(kWhat, zone));
  const std::uint64_t in_zone = to - geometry().ZoneStart(zone);
  const std::uint64_t capacity = parts_.zones->capacity(zone);
  if (!parts_.zones->random_area(zone) || in_zone > capacity ||
      (in_zone % geometry().random_area_unit != 0 && in_zone != capacity)) {
    return Fail(Code::kInvalidArgument,
                fmt::format("{}: commit up to {} in zone {}, which has {} random write area, in units of {}",
                            name(), in_zone, zone.value, parts_.zones->random_area(zone) ? "a" : "no",
                            geometry().random_area_unit));
  }
  const Status committed = SettleManaged(kWhat, zone, parts_.control->CommitRandom(to.value));
  if (committed.ok()) {
    if (in_zone == capacity) parts_.zones->SetRandomArea(zone, false);  // the zone is full
    return {};
  }
  const Result<ZoneInfo> now = ReportZone(zone);
  const bool outside = now && now->random_area && committed.error().code() == Code::kIo &&
                       (to <= now->write_pointer || to - now->write_pointer > geometry().random_area_bytes);
  return outside ? Fail(committed.error().As(Code::kInvalidArgument)) : committed;
}

// Whether blocks of a failed write are on the device nobody knows: they may have been there before.
Status BlockDevice::SettleRandomWrite(DeviceOffset offset, std::uint64_t length, const IoOutcome& outcome) {
  if (outcome.Moved(length)) return {};
  const ZoneId id = geometry().ZoneOf(offset);
  const Result<ZoneInfo> zone = ReportZone(id);
  const std::string text =
      WithStatus(fmt::format("{}: write of {} bytes at {} in zone {} with a random write area failed", name(),
                             length, offset - geometry().ZoneStart(id), id.value),
                 outcome.status);
  const int error = outcome.os_errno == 0 ? EIO : outcome.os_errno;
  if (!zone) return Fail(Code::kUnknownOutcome, fmt::format("{}: {}", text, zone.error().ToString()), error);
  if (IsZoneLimit(error))
    return Fail(Code::kBusy, text + ": the device's limit of open zones is reached", error);
  if (std::optional<Error> closed = ClosedToWrites(text, error, *zone)) return Fail(*std::move(closed));
  const DeviceOffset pointer = zone->start + zone->WrittenBytes();
  const bool outside =
      offset < pointer || offset - pointer + length > 2 * geometry().random_area_bytes || !zone->random_area;
  if (!outside) return FailErrno(error, text);
  return Fail(Code::kInvalidArgument,
              fmt::format("{}: the write pointer is at {}", text, pointer - zone->start), error);
}

}  // namespace zenfs
