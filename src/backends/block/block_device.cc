#include "backends/block/block_device_impl.h"

#include <fcntl.h>
#include <fmt/format.h>

#include "backends/block/zone_control.h"
#include "backends/host/plain_io.h"
#include "base/aligned_buffer.h"
#include "device/request_check.h"

namespace zenfs {

Result<std::vector<ZoneInfo>> BlockDevice::Report(ZoneId first, std::uint32_t count) {
  ZENFS_RETURN_IF_ERROR(CheckZoneRange(name(), geometry(), first, count));
  ZENFS_ASSIGN_OR_RETURN(const std::vector<ReportedZone> reported,
                         ReportZones(*parts_.control, name(), geometry().zone_size, first, count));
  std::vector<ZoneInfo> zones;
  zones.reserve(count);
  for (const ReportedZone& zone : reported) {
    parts_.zones->SetCapacity(zone.info.id, zone.info.capacity);
    zones.push_back(zone.info);
  }
  return zones;
}

Status BlockDevice::CheckWritable() const {
  if (mode() == OpenMode::kExclusive) return {};
  return Fail(Code::kReadOnly, fmt::format("{} is open read-only", name()));
}

Status BlockDevice::Read(DeviceOffset offset, ByteSpan into) {
  ZENFS_RETURN_IF_ERROR(CheckRead(offset, into));
  if (!parts_.scheduler) return SettleRead(offset, into.size(), parts_.data->Read(offset.value, into));
  const IoPlace place = parts_.data->Place(offset.value);
  return SettleRead(offset, into.size(), ReadByRing(rings_, place.fd, place.offset, into));
}

Status BlockDevice::CheckRead(DeviceOffset offset, ByteSpan into) const {
  ZENFS_RETURN_IF_ERROR(CheckOffset(name(), geometry(), "read", offset));
  ZENFS_RETURN_IF_ERROR(CheckBuffer(name(), geometry(), "read", into));
  return CheckReadEnd(offset, into.size());
}

Status BlockDevice::CheckReadEnd(DeviceOffset offset, std::uint64_t length) const {
  const ZoneId zone = geometry().ZoneOf(offset);
  const std::uint64_t in_zone = offset - geometry().ZoneStart(zone);
  const std::uint64_t end = parts_.zones->length(zone);
  if (in_zone <= end && length <= end - in_zone) return {};
  return Fail(Code::kInvalidArgument, fmt::format("{}: read of {} bytes at {} in zone {}, which ends at {}",
                                                  name(), length, in_zone, zone.value, end));
}

Status BlockDevice::SettleRead(DeviceOffset offset, std::uint64_t length, const IoOutcome& outcome) {
  if (outcome.Moved(length)) return {};
  const ZoneId zone = geometry().ZoneOf(offset);
  const std::string text = fmt::format("{}: read of {} bytes at {} in zone {} failed", name(), length,
                                       offset - geometry().ZoneStart(zone), zone.value);
  const Result<ZoneInfo> now = ReportZone(zone);
  if (now && now->condition == ZoneCondition::kOffline) {
    return Fail(Code::kNotFound, text + ": the zone is offline", outcome.os_errno);
  }
  if (outcome.os_errno != 0) return FailErrno(outcome.os_errno, WithStatus(text, outcome.status));
  return Fail(Code::kIo, fmt::format("{}: the device ended after {}", text, outcome.bytes));
}

Status BlockDevice::Write(DeviceOffset offset, std::span<const ByteView> pieces) {
  const std::uint64_t length = TotalBytes(pieces);
  ZENFS_RETURN_IF_ERROR(CheckWrite(offset, pieces, length));
  const DataPath& way = WayTo(geometry().ZoneOf(offset));
  return SettleWrite(offset, pieces, length, way.Write(offset.value, pieces));
}

Status BlockDevice::CheckWrite(DeviceOffset offset, std::span<const ByteView> pieces,
                               std::uint64_t length) const {
  ZENFS_RETURN_IF_ERROR(CheckWritable());
  ZENFS_RETURN_IF_ERROR(CheckOffset(name(), geometry(), "write", offset));
  for (const ByteView piece : pieces) ZENFS_RETURN_IF_ERROR(CheckBuffer(name(), geometry(), "write", piece));
  const ZoneId zone = geometry().ZoneOf(offset);
  const std::uint64_t in_zone = offset - geometry().ZoneStart(zone);
  const std::uint64_t capacity = parts_.zones->capacity(zone);
  if (in_zone <= capacity && length <= capacity - in_zone) return {};
  return Fail(Code::kZoneFull, fmt::format("{}: write of {} bytes at {} in zone {}, whose capacity is {}",
                                           name(), length, in_zone, zone.value, capacity));
}

Status BlockDevice::SettleWrite(DeviceOffset offset, std::span<const ByteView> pieces, std::uint64_t length,
                                const IoOutcome& outcome, bool repeated) {
  const ZoneId id = geometry().ZoneOf(offset);
  const DeviceOffset start = geometry().ZoneStart(id);
  if (parts_.zones->random_area(id)) return SettleRandomWrite(offset, length, outcome);
  if (outcome.Moved(length)) {
    parts_.zones->SetPointer(id, offset - start + length);
    return {};
  }
  const FailedWrite write{.offset = offset,
                          .length = length,
                          .pointer = start + parts_.zones->pointer(id),
                          .os_errno = outcome.os_errno,
                          .status = outcome.status};
  ZENFS_ASSIGN_OR_RETURN(const ZoneInfo zone, ReportAfter(write));
  if (MayHaveLanded(write, zone) && HoldsPlainly(parts_.control->fd(), offset.value, pieces)) return {};
  const bool kernel_pointers = parts_.kernel_pointers && &WayTo(id) == parts_.data.get();
  if (!kernel_pointers || repeated || !WasRefusedUnwritten(write, zone))
    return Fail(DescribeFailedWrite(name(), write, zone));
  return SettleWrite(offset, pieces, length, parts_.data->Write(offset.value, pieces), /*repeated=*/true);
}

Result<ZoneInfo> BlockDevice::ReportAfter(const FailedWrite& write) {
  const ZoneId id = geometry().ZoneOf(write.offset);
  Result<ZoneInfo> zone = ReportZone(id);
  if (zone) {
    parts_.zones->SetPointer(id, zone->WrittenBytes());
    return zone;
  }
  return Fail(
      Code::kUnknownOutcome,
      WithStatus(fmt::format("{}: {} of {} bytes to zone {} failed, and its outcome is unknown because the "
                             "report failed, too ({})",
                             name(), write.command, write.length, id.value, zone.error().ToString()),
                 write.status),
      write.os_errno);
}

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

// Copies, and random write areas below, are for devices that are used by commands of the drive.
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

Status BlockDevice::Reset(ZoneId zone) {
  Status status = Manage(ZoneControl::Command::kReset, "reset", zone);
  if (!status.ok()) return status;
  parts_.zones->SetPointer(zone, 0);
  parts_.zones->SetByCommands(zone, false);
  parts_.zones->SetRandomArea(zone, false);
  return {};
}

Status BlockDevice::Finish(ZoneId zone) {
  ZENFS_RETURN_IF_ERROR(Manage(ZoneControl::Command::kFinish, "finish", zone));
  parts_.zones->SetRandomArea(zone, false);
  return {};
}

Status BlockDevice::Open(ZoneId zone) { return Manage(ZoneControl::Command::kOpen, "open", zone); }

Status BlockDevice::Close(ZoneId zone) { return Manage(ZoneControl::Command::kClose, "close", zone); }

Status BlockDevice::Manage(ZoneControl::Command command, std::string_view what, ZoneId zone) {
  ZENFS_RETURN_IF_ERROR(CheckManaged(what, zone));
  const std::uint64_t start = geometry().ZoneStart(zone).value;
  return SettleManaged(what, zone, parts_.control->Send(command, start, parts_.zones->length(zone)));
}

Status BlockDevice::CheckManaged(std::string_view what, ZoneId zone) const {
  ZENFS_RETURN_IF_ERROR(CheckWritable());
  ZENFS_RETURN_IF_ERROR(CheckZoneId(name(), geometry(), zone));
  if (parts_.zones->conventional(zone)) {
    return Fail(Code::kInvalidArgument,
                fmt::format("{}: {} of zone {}, which is conventional", name(), what, zone.value));
  }
  return {};
}

Status BlockDevice::SettleManaged(std::string_view what, ZoneId zone, const CommandResult& result) {
  if (result.ok()) return {};
  const int error = result.os_errno;
  const std::string text =
      WithStatus(fmt::format("{}: {} of zone {} failed", name(), what, zone.value), result.status);
  if (IsZoneLimit(error))
    return Fail(Code::kBusy, text + ": the device's limit of open or active zones is reached", error);
  const Result<ZoneInfo> now = ReportZone(zone);
  if (now && now->condition == ZoneCondition::kReadOnly)
    return Fail(Code::kReadOnly, text + ": it is read-only", error);
  if (now && now->condition == ZoneCondition::kOffline)
    return Fail(Code::kNotFound, text + ": it is offline", error);
  return FailErrno(error, now ? fmt::format("{}: it is {}", text, ConditionName(now->condition)) : text);
}

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

Status BlockDevice::Flush() {
  ZENFS_RETURN_IF_ERROR(CheckWritable());
  const CommandResult result = parts_.data->Flush();
  if (result.ok()) return {};
  return FailErrno(result.os_errno,
                   WithStatus(fmt::format("{}: flush of its write cache failed", name()), result.status));
}

std::unique_ptr<IoQueue> BlockDevice::CreateQueue(std::size_t depth) {
  return CreateKernelQueue(*this, rings_, depth);
}

Result<IoPlace> BlockDevice::Place(const IoRequest& request) {
  switch (request.kind) {
    case IoRequest::Kind::kRead: {
      ZENFS_RETURN_IF_ERROR(CheckRead(request.offset, request.read_into));
      break;
    }
    case IoRequest::Kind::kWrite: {
      ZENFS_RETURN_IF_ERROR(
          CheckWrite(request.offset, std::span(&request.write_from, 1), request.write_from.size()));
      return WayTo(geometry().ZoneOf(request.offset)).Place(request.offset.value);
    }
    case IoRequest::Kind::kAppend: {
      ZENFS_RETURN_IF_ERROR(CheckAppend(request.offset, request.write_from));
      parts_.zones->SetByCommands(geometry().ZoneOf(request.offset), true);
      return parts_.appends->AppendPlace(request.offset.value);
    }
  }
  return parts_.data->Place(request.offset.value);
}

Status BlockDevice::Settle(const IoRequest& request, const IoOutcome& outcome) {
  switch (request.kind) {
    case IoRequest::Kind::kRead: return SettleRead(request.offset, request.read_into.size(), outcome);
    case IoRequest::Kind::kAppend: return SettleAppend(request.offset, request.write_from.size(), outcome);
    case IoRequest::Kind::kWrite: break;
  }
  return SettleWrite(request.offset, std::span(&request.write_from, 1), request.write_from.size(), outcome);
}

// Coherent by these rules. The kernel drops from its cache what it writes or resets itself. A zone that commands of the drive
// write is not read through the cache until its reset. Of what they wrote before this device was opened, the cache may still hold
// what was there before them, so each zone is dropped from it before the first read; others read the device meanwhile. A reader
// does not know what the writer does by commands, so it has no cache on a drive that takes them (OpenBlockParts).
Result<IoPlace> BlockDevice::PlaceCached(DeviceOffset offset, std::uint64_t length) {
  const ZoneId zone = geometry().ZoneOf(offset);
  ZENFS_RETURN_IF_ERROR(CheckZoneId(name(), geometry(), zone));
  ZENFS_RETURN_IF_ERROR(CheckReadEnd(offset, length));
  if (parts_.zones->by_commands(zone) || parts_.zones->random_area(zone)) {
    return Fail(Code::kNotSupported,
                fmt::format("{}: zone {} is written by commands of the drive", name(), zone.value));
  }
  const int fd = parts_.buffered.get();
  if (!parts_.zones->cache_is_current(zone)) {
    if (!parts_.zones->TakeDrop(zone)) {
      return Fail(Code::kNotSupported,
                  fmt::format("{}: zone {} is being dropped from the page cache", name(), zone.value));
    }
    const std::uint64_t start = geometry().ZoneStart(zone).value;
    static_cast<void>(::posix_fadvise(fd, static_cast<off_t>(start),
                                      static_cast<off_t>(parts_.zones->length(zone)), POSIX_FADV_DONTNEED));
    parts_.zones->SetCacheCurrent(zone);
  }
  return IoPlace{.fd = fd, .offset = offset.value, .keep = {}};
}

}  // namespace zenfs
