#include "backends/zonefs/zone_file_device.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "backends/host/plain_io.h"
#include "base/aligned_buffer.h"
#include "base/file_size_limit.h"
#include "base/short_bytes.h"
#include "device/request_check.h"

namespace zenfs {
namespace {

// The longest write that may delay reads of its zone.
constexpr std::size_t kBriefBytes = 128u << 10;

// Most files open for reads of the device, and for those through the cache. The limits of zones bound those for writing.
constexpr std::size_t kDescriptors = 256;

ByteView Zeros() {
  static const AlignedBuffer zeros = [] {
    AlignedBuffer buffer(kBriefBytes);
    buffer.PadTo(kBriefBytes);
    buffer.Resize(kBriefBytes);
    std::memset(buffer.data(), 0, kBriefBytes);
    return buffer;
  }();
  return zeros.View();
}

RingPool::Use UseOfRings(const ZoneFileDevice::Parts& parts) {
  if (!parts.plain_writes) return RingPool::Use::kNeeded;
  return parts.io_uring ? RingPool::Use::kAllowed : RingPool::Use::kForbidden;
}

std::vector<std::uint64_t> Capacities(const std::vector<ZoneFileState>& zones) {
  std::vector<std::uint64_t> capacities;
  capacities.reserve(zones.size());
  for (const ZoneFileState& zone : zones) capacities.push_back(zone.capacity);
  return capacities;
}

// A zone is a file for the host, and zonefs sends SIGXFSZ for a write beyond the limit.
Status CheckFileSizeLimit(const std::string& name, const Geometry& geometry) {
  const std::uint64_t limit = FileSizeLimit();
  if (geometry.zone_size <= limit) return {};
  return Fail(Code::kNotSupported,
              fmt::format("{}: the host's limit of file sizes (ulimit -f) is {}, and a zone is a file of {}; "
                          "raise the limit",
                          name, ShortBytes(limit), ShortBytes(geometry.zone_size)));
}

}  // namespace

Result<std::unique_ptr<ZonedDevice>> ZoneFileDevice::Create(Parts parts) {
  std::vector<ZoneFileState> zones;
  Geometry geometry{.block_size = parts.files->block_size(),
                    .zone_count = parts.files->count(),
                    .max_open = parts.limits.open,
                    .max_active = parts.limits.active,
                    .hides_unwritten = true,
                    .volatile_cache = parts.volatile_cache};
  for (std::uint32_t i = 0; i < geometry.zone_count; ++i) {
    ZENFS_ASSIGN_OR_RETURN(const ZoneFileState zone, parts.files->Look(ZoneId(i)));
    geometry.zone_size = std::max(geometry.zone_size, zone.capacity);
    zones.push_back(zone);
  }
  if (parts.mode == OpenMode::kExclusive) ZENFS_RETURN_IF_ERROR(CheckFileSizeLimit(parts.name, geometry));
  return std::unique_ptr<ZonedDevice>(new ZoneFileDevice(std::move(parts), geometry, std::move(zones)));
}

ZoneFileDevice::ZoneFileDevice(Parts parts, const Geometry& geometry, std::vector<ZoneFileState> zones)
    : parts_(std::move(parts)),
      geometry_(geometry),
      capacities_(Capacities(zones)),
      writers_(parts_.name, *parts_.files, parts_.limits, std::move(zones)),
      readers_(kDescriptors, [this](ZoneId zone) { return parts_.files->OpenToRead(zone); }),
      buffered_readers_(kDescriptors,
                        [this](ZoneId zone) -> Result<UniqueFd> {
                          ZENFS_ASSIGN_OR_RETURN(const DescriptorCache::Descriptor direct,
                                                 readers_.Get(zone));
                          return OpenBuffered(direct->get());
                        }),
      cache_(*this),
      reads_(geometry_.zone_count),
      rings_(UseOfRings(parts_)) {}

Result<std::vector<ZoneInfo>> ZoneFileDevice::Report(ZoneId first, std::uint32_t count) {
  ZENFS_RETURN_IF_ERROR(CheckZoneRange(name(), geometry_, first, count));
  std::vector<ZoneInfo> zones;
  zones.reserve(count);
  for (std::uint32_t i = 0; i < count; ++i) {
    ZENFS_ASSIGN_OR_RETURN(const ZoneInfo zone, Look(ZoneId(first.value + i)));
    zones.push_back(zone);
  }
  return zones;
}

Result<ZoneInfo> ZoneFileDevice::Look(ZoneId zone) const {
  Result<ZoneFileState> state = parts_.files->Look(zone);
  if (!state) return Fail(state.error().With(name()));
  return writers_.Info(zone, geometry_.ZoneStart(zone), geometry_.zone_size, *state);
}

Status ZoneFileDevice::Read(DeviceOffset offset, ByteSpan into) {
  ZENFS_ASSIGN_OR_RETURN(const IoPlace place, PlaceRead(offset, into));
  return SettleRead(offset, into, ReadPlainly(place.fd, place.offset, into));
}

Status ZoneFileDevice::Write(DeviceOffset offset, std::span<const ByteView> pieces) {
  ZENFS_ASSIGN_OR_RETURN(const IoPlace place, PlaceWrite(offset, pieces));
  // A plain write holds the lock of its file until the device has completed it, and reads of the
  // zone wait that long. io_uring holds the lock only while it sends the write, but passes it to
  // another thread, which costs a short write too much time.
  const bool plainly = parts_.plain_writes && TotalBytes(pieces) <= kBriefBytes;
  return SettleWrite(offset, pieces,
                     plainly ? WritePlainly(place.fd, place.offset, pieces, place.longest)
                             : WriteByRing(rings_, place.fd, place.offset, pieces, place.longest));
}

Result<DeviceOffset> ZoneFileDevice::Append(ZoneId zone, ByteView bytes) {
  ZENFS_RETURN_IF_ERROR(CheckManagement(zone));
  ZENFS_RETURN_IF_ERROR(CheckBuffer(name(), geometry_, "append", bytes));
  return Fail(Code::kNotSupported,
              fmt::format("{}: zone append of {} bytes; zonefs does not report where an append was written",
                          name(), bytes.size()));
}

Status ZoneFileDevice::Reset(ZoneId zone) {
  ZENFS_RETURN_IF_ERROR(CheckManagement(zone));
  return writers_.Reset(zone);
}

Status ZoneFileDevice::Finish(ZoneId zone) {
  ZENFS_RETURN_IF_ERROR(CheckManagement(zone));
  while (reads_.Lately(zone)) {
    const ZoneFileState state = writers_.Known(zone);
    const bool holds_data = state.size != 0 && state.size < state.capacity;
    if (state.access != ZoneAccess::kWritable || !holds_data) break;
    const ByteView zeros = Zeros().first(std::min<std::uint64_t>(kBriefBytes, state.capacity - state.size));
    const Status filled = Write(geometry_.ZoneStart(zone) + state.size, std::span(&zeros, 1));
    if (filled.ok()) continue;
    if (filled.error().code() == Code::kBusy) break;  // no open zone is available; a truncation needs none
    return filled;
  }
  return writers_.Finish(zone);
}

Status ZoneFileDevice::Open(ZoneId zone) {
  ZENFS_RETURN_IF_ERROR(CheckManagement(zone));
  return writers_.Open(zone);
}

Status ZoneFileDevice::Close(ZoneId zone) {
  ZENFS_RETURN_IF_ERROR(CheckManagement(zone));
  return writers_.Close(zone);
}

// An fsync of any sequential zone file only flushes the cache of the device. Only the file of a
// failed zone refuses it (fs/zonefs/file.c).
Status ZoneFileDevice::Flush() {
  ZENFS_RETURN_IF_ERROR(CheckWritable());
  const std::uint32_t first = flush_zone_.load(std::memory_order_relaxed);
  for (std::uint32_t i = 0; i < geometry_.zone_count; ++i) {
    const ZoneId zone((first + i) % geometry_.zone_count);
    if (writers_.Known(zone).access != ZoneAccess::kWritable) continue;
    ZENFS_ASSIGN_OR_RETURN(const DescriptorCache::Descriptor file, readers_.Get(zone));
    if (::fsync(file->get()) == 0) {
      flush_zone_.store(zone.value, std::memory_order_relaxed);
      return {};
    }
    if (errno != EPERM) return FailErrno(errno, fmt::format("{}: flush of its write cache failed", name()));
    const Result<ZoneFileState> now = parts_.files->Look(zone);
    if (now) writers_.Learn(zone, now->access);
  }
  return Fail(Code::kIo, fmt::format("{}: flush: no zone is left that can be written", name()));
}

std::unique_ptr<IoQueue> ZoneFileDevice::CreateQueue(std::size_t depth) {
  return CreateKernelQueue(*this, rings_, depth);
}

Result<IoPlace> ZoneFileDevice::Place(const IoRequest& request) {
  switch (request.kind) {
    case IoRequest::Kind::kRead: return PlaceRead(request.offset, request.read_into);
    case IoRequest::Kind::kWrite: return PlaceWrite(request.offset, std::span(&request.write_from, 1));
    case IoRequest::Kind::kAppend: break;
  }
  return Fail(Append(geometry_.ZoneOf(request.offset), request.write_from).error());
}

Status ZoneFileDevice::Settle(const IoRequest& request, const IoOutcome& outcome) {
  if (request.kind == IoRequest::Kind::kRead) return SettleRead(request.offset, request.read_into, outcome);
  return SettleWrite(request.offset, std::span(&request.write_from, 1), outcome);
}

Status ZoneFileDevice::CheckWritable() const {
  if (mode() == OpenMode::kExclusive) return {};
  return Fail(Code::kReadOnly, fmt::format("{} is open read-only", name()));
}

Status ZoneFileDevice::CheckManagement(ZoneId zone) const {
  ZENFS_RETURN_IF_ERROR(CheckWritable());
  return CheckZoneId(name(), geometry_, zone);
}

Result<IoPlace> ZoneFileDevice::PlaceRead(DeviceOffset offset, ByteSpan into) {
  ZENFS_RETURN_IF_ERROR(CheckOffset(name(), geometry_, "read", offset));
  ZENFS_RETURN_IF_ERROR(CheckBuffer(name(), geometry_, "read", into));
  return PlaceIn(readers_, offset, into.size());
}

// The kernel drops from its cache what is written to a file or truncated, and nobody writes zones by commands below a zonefs.
Result<IoPlace> ZoneFileDevice::PlaceCached(DeviceOffset offset, std::uint64_t length) {
  ZENFS_RETURN_IF_ERROR(CheckZoneId(name(), geometry_, geometry_.ZoneOf(offset)));
  return PlaceIn(buffered_readers_, offset, length);
}

Result<IoPlace> ZoneFileDevice::PlaceIn(DescriptorCache& readers, DeviceOffset offset, std::uint64_t length) {
  const ZoneId zone = geometry_.ZoneOf(offset);
  const std::uint64_t at = InZone(offset);
  const std::uint64_t capacity = capacities_[zone.value];
  if (length > capacity || at > capacity - length) {
    return Fail(Code::kInvalidArgument,
                fmt::format("{}: read of {} bytes at {} in zone {}, whose capacity is {}", name(), length, at,
                            zone.value, capacity));
  }
  Result<DescriptorCache::Descriptor> file = readers.Get(zone);
  if (!file) {
    const Result<ZoneInfo> now = Look(zone);
    const bool offline = now && now->condition == ZoneCondition::kOffline;
    return Fail(offline ? Error(Code::kNotFound, fmt::format("{}: zone {} is offline", name(), zone.value))
                        : file.error().With(name()));
  }
  reads_.Note(zone);
  const int fd = (*file)->get();
  return IoPlace{.fd = fd, .offset = at, .keep = std::move(*file)};
}

Status ZoneFileDevice::SettleRead(DeviceOffset offset, ByteSpan into, const IoOutcome& outcome) {
  const ZoneId zone = geometry_.ZoneOf(offset);
  reads_.Note(zone);
  if (outcome.Moved(into.size())) return {};
  const std::string text =
      fmt::format("{}: read of {} bytes at {} in zone {}", name(), into.size(), InZone(offset), zone.value);
  const Result<ZoneInfo> now = Look(zone);
  if (now && now->condition == ZoneCondition::kOffline) {
    return Fail(Code::kNotFound, text + ": it is offline", outcome.os_errno);
  }
  if (outcome.os_errno != 0) return FailErrno(outcome.os_errno, text);
  if (now && now->condition == ZoneCondition::kReadOnly) {
    // No caller learns the write pointer of this zone. Unwritten bytes read as zeros, as in a full
    // zone.
    std::memset(into.data() + outcome.bytes, 0, into.size() - outcome.bytes);
    return {};
  }
  return Fail(Code::kInvalidArgument,
              fmt::format("{} passes its write pointer, {}", text, InZone(offset) + outcome.bytes));
}

Result<IoPlace> ZoneFileDevice::PlaceWrite(DeviceOffset offset, std::span<const ByteView> pieces) {
  ZENFS_RETURN_IF_ERROR(CheckWritable());
  ZENFS_RETURN_IF_ERROR(CheckOffset(name(), geometry_, "write", offset));
  for (const ByteView piece : pieces) ZENFS_RETURN_IF_ERROR(CheckBuffer(name(), geometry_, "write", piece));
  const std::uint64_t at = InZone(offset);
  const ZoneId zone = geometry_.ZoneOf(offset);
  Result<int> fd = writers_.BeginWrite(zone, at, TotalBytes(pieces));
  if (!fd && IsOutOfDescriptors(fd.error())) {
    buffered_readers_.Clear();
    readers_.Clear();  // reads can reopen their files; the write must not fail
    fd = writers_.BeginWrite(zone, at, TotalBytes(pieces));
  }
  if (!fd) return Fail(fd.error());
  // The writers keep the file open until the write ends. No other holder may: it would keep the
  // zone open.
  return IoPlace{.fd = *fd, .offset = at, .longest = parts_.longest_write, .keep = {}};
}

Status ZoneFileDevice::SettleWrite(DeviceOffset offset, std::span<const ByteView> pieces,
                                   const IoOutcome& outcome) {
  const ZoneId zone = geometry_.ZoneOf(offset);
  const FailedWrite write{
      .offset = offset, .length = TotalBytes(pieces), .pointer = offset, .os_errno = outcome.os_errno};
  if (outcome.Moved(write.length)) {
    writers_.EndWrite(zone, InZone(offset) + write.length);
    return {};
  }
  const Result<ZoneFileState> state =
      parts_.files->Look(zone);  // makes zonefs correct the size from a report
  if (!state) {
    writers_.FailWrite(zone, writers_.Known(zone));
    return Fail(Code::kUnknownOutcome,
                fmt::format("{}: write of {} bytes to zone {} failed, and its outcome is unknown because its "
                            "file can't be examined ({})",
                            name(), write.length, zone.value, state.error().ToString()),
                outcome.os_errno);
  }
  const Status status = ExplainWrite(write, pieces, *state);
  writers_.FailWrite(zone, *state);
  return status;
}

Status ZoneFileDevice::ExplainWrite(const FailedWrite& write, std::span<const ByteView> pieces,
                                    const ZoneFileState& state) {
  const ZoneId zone = geometry_.ZoneOf(write.offset);
  const ZoneInfo info = writers_.Info(zone, geometry_.ZoneStart(zone), geometry_.zone_size, state);
  if (MayHaveLanded(write, info) && Holds(write.offset, pieces)) return {};
  const Error error = DescribeFailedWrite(name(), write, info);
  if (state.access != ZoneAccess::kWritable || !parts_.files->MountedReadOnly()) return Fail(error);
  return Fail(error.As(write.os_errno == EROFS ? Code::kReadOnly : error.code())
                  .Advise(std::string(kMountWentReadOnly)));
}

bool ZoneFileDevice::Holds(DeviceOffset offset, std::span<const ByteView> pieces) {
  const auto file = readers_.Get(geometry_.ZoneOf(offset));
  return file && HoldsPlainly((*file)->get(), InZone(offset), pieces);
}

}  // namespace zenfs
