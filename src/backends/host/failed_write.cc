#include "backends/host/failed_write.h"

#include <fmt/format.h>

#include <cerrno>

#include "backends/host/plain_io.h"

namespace zenfs {
namespace {

DeviceOffset WritePointer(const ZoneInfo& zone) { return zone.start + zone.WrittenBytes(); }

}  // namespace

bool IsZoneLimit(int os_errno) { return os_errno == ETOOMANYREFS || os_errno == EOVERFLOW; }

bool MayHaveLanded(const FailedWrite& write, const ZoneInfo& zone) {
  if (IsZoneLimit(write.os_errno) || zone.condition == ZoneCondition::kOffline) return false;
  if (write.pointer != write.offset) return false;
  return zone.type != ZoneType::kConventional && write.length != 0 &&
         WritePointer(zone) == write.offset + write.length;
}

bool WasRefusedUnwritten(const FailedWrite& write, const ZoneInfo& zone) {
  const bool writable = zone.condition == ZoneCondition::kEmpty || IsActive(zone.condition);
  return write.os_errno == EIO && writable && zone.type != ZoneType::kConventional &&
         WritePointer(zone) == write.offset;
}

std::optional<Error> ClosedToWrites(const std::string& what, int os_errno, const ZoneInfo& zone) {
  switch (zone.condition) {
    case ZoneCondition::kReadOnly: return Error(Code::kReadOnly, what + ": the zone is read-only", os_errno);
    case ZoneCondition::kOffline: return Error(Code::kNotFound, what + ": the zone is offline", os_errno);
    case ZoneCondition::kFull: return Error(Code::kZoneFull, what + ": the zone is full", os_errno);
    default: return std::nullopt;
  }
}

Error DescribeFailedWrite(const std::string& device, const FailedWrite& write, const ZoneInfo& zone) {
  const std::uint64_t in_zone = write.offset - zone.start;
  const std::string what = WithStatus(fmt::format("{}: {} of {} bytes to zone {} at {}", device,
                                                  write.command, write.length, zone.id.value, in_zone),
                                      write.status);
  const auto error = [&](Code code, const std::string& why) {
    return Error(code, what + ": " + why, write.os_errno);
  };
  if (IsZoneLimit(write.os_errno)) {
    return error(Code::kBusy, "the device's limit of open or active zones is reached");
  }
  if (std::optional<Error> closed = ClosedToWrites(what, write.os_errno, zone)) return *std::move(closed);
  if (zone.type == ZoneType::kConventional) return error(Code::kIo, "the device refused it");
  const DeviceOffset pointer = WritePointer(zone);
  if (pointer == write.offset) return error(Code::kIo, "nothing of it was written");
  if (write.pointer == write.offset && pointer > write.offset && pointer <= write.offset + write.length) {
    return error(Code::kIo, fmt::format("the write pointer moved to {} and the data is not all there",
                                        pointer - zone.start));
  }
  return error(Code::kInvalidArgument, fmt::format("the write pointer is at {}", pointer - zone.start));
}

}  // namespace zenfs
