#include "repair/metadata_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <utility>

#include "base/aligned_buffer.h"
#include "base/crc32c.h"
#include "base/free_bytes.h"
#include "base/host_directory.h"
#include "base/short_bytes.h"
#include "base/zeros.h"
#include "device/presence.h"
#include "device/read_or_zeros.h"
#include "metalog/replay.h"

namespace zenfs {
namespace {

constexpr std::uint64_t kPieceBytes = 1 << 20;
// Zeros are left out of the file by blocks of this size, the unit in which most file systems allocate.
constexpr std::uint64_t kFileBlockBytes = 4096;

// Reads the first `bytes` of a zone in pieces and passes them on; of known zeros, which are not read, their number. Blocks that
// can't be read are zeros; returns their number.
Result<std::uint32_t> ReadZone(ZonedDevice& device, ZoneId zone, std::uint64_t bytes,
                               const std::function<Status(ByteView piece, std::uint64_t zeros)>& use) {
  AlignedBuffer buffer(std::max<std::uint64_t>(kPieceBytes, device.geometry().block_size));
  std::uint32_t unreadable = 0;
  std::uint64_t next = kScanStepBytes;
  for (std::uint64_t at = 0; at < bytes;) {
    const DeviceOffset from = device.geometry().ZoneStart(zone) + at;
    if (const std::uint64_t zeros = device.KnownZeros(from, bytes - at); zeros != 0) {
      ZENFS_RETURN_IF_ERROR(use({}, zeros));
      at += zeros;
      next = kScanStepBytes;
      continue;
    }
    buffer.Resize(WorthReading(device, from, std::min<std::uint64_t>({buffer.capacity(), next, bytes - at})));
    next = 2 * buffer.size();
    const ScanRead read = ReadOrZeros(device, from, buffer.Span());
    unreadable += read.unreadable;
    ZENFS_RETURN_IF_ERROR(use(buffer.View(), 0));
    at += buffer.size();
    if (!read.zone_is_gone || at >= bytes) continue;
    const std::uint64_t rest = (bytes - at) / device.geometry().block_size;
    unreadable += static_cast<std::uint32_t>(std::min<std::uint64_t>(rest, UINT32_MAX - unreadable));
    ZENFS_RETURN_IF_ERROR(use({}, bytes - at));
    break;
  }
  return unreadable;
}

// Passes on the parts of `piece` that are not zeros, with their offsets in the file. The piece begins at `offset` of the file.
// A part is as long as the neighboring blocks of the file with a byte that is not zero.
Status WithoutZeros(std::uint64_t offset, ByteView piece,
                    const std::function<Status(std::uint64_t offset, ByteView part)>& use) {
  std::size_t begin = 0;  // of the part that ends at `at`
  for (std::size_t at = 0; at < piece.size();) {
    const std::size_t room = kFileBlockBytes - (offset + at) % kFileBlockBytes;
    const std::size_t end = std::min(piece.size(), at + room);
    if (IsZeros(piece.subspan(at, end - at))) {
      if (at > begin) ZENFS_RETURN_IF_ERROR(use(offset + begin, piece.subspan(begin, at - begin)));
      begin = end;
    }
    at = end;
  }
  if (begin == piece.size()) return {};
  return use(offset + begin, piece.subspan(begin));
}

// Extends the file to `offset` by a hole and appends `part`. `length`: of the file, before and after.
Status AppendAt(HostFile& file, std::uint64_t offset, ByteView part, std::uint64_t& length) {
  if (offset != length) ZENFS_RETURN_IF_ERROR(file.Truncate(offset));
  length = offset + part.size();
  return file.Append(part);
}

// Writes at most `budget` bytes: who may write to the device may fill holes in it meanwhile.
Status WriteFile(ZonedDevice& device, const MetadataCopy& copy, std::uint64_t budget,
                 const HostDirectory& directory, HostFile& file) {
  ZENFS_RETURN_IF_ERROR(file.Append(AsBytes(EncodeMetadataCopy(copy))));
  std::uint64_t length = kMetadataCopyHeadBytes;  // of the file
  std::uint64_t end = length;                     // of the bytes that were read, zeros included
  for (const CopiedZone& zone : copy.zones) {
    ZENFS_RETURN_IF_ERROR(ReadZone(device, zone.zone, zone.bytes, [&](ByteView piece, std::uint64_t zeros) {
      const std::uint64_t offset = std::exchange(end, end + piece.size() + zeros);
      return WithoutZeros(offset, piece, [&](std::uint64_t at, ByteView part) -> Status {
        if (part.size() > budget) {
          return Fail(Code::kBusy,
                      fmt::format("{}: its metadata was changed while it was copied", device.name()));
        }
        budget -= part.size();
        return AppendAt(file, at, part, length);
      });
    }));
  }
  ZENFS_RETURN_IF_ERROR(AppendAt(file, end, {}, length));  // the zeros at the end
  ZENFS_RETURN_IF_ERROR(file.Sync());
  ZENFS_RETURN_IF_ERROR(directory.Sync(""));
  file.DropCache();
  // A copy that can't be read back is useless. This also finds a device that returns other data on
  // the second read.
  ZENFS_ASSIGN_OR_RETURN(const MetadataCopy back, VerifyMetadataFile(file));
  if (back == copy) return {};
  return Fail(Code::kCorruption,
              fmt::format("{}: the file reads back differently than it was written", file.path()));
}

// Metadata zones in ascending order.
Result<std::vector<ZoneInfo>> ReportMetadata(ZonedDevice& device, const Superblock& superblock) {
  std::vector<ZoneId> ids = MetadataZones(device, superblock);
  std::ranges::sort(ids);
  std::vector<ZoneInfo> zones;
  for (const ZoneId id : ids) {
    ZENFS_ASSIGN_OR_RETURN(zones.emplace_back(), device.ReportZone(id));
  }
  return zones;
}

Status CheckRoom(const HostDirectory& directory, std::uint64_t needed, const std::string& path) {
  const auto free = FreeBytes(directory.descriptor());
  if (!free || needed <= *free) return {};  // if it is unknown, a lack of space will show when writing
  return Fail(Code::kNoSpace,
              fmt::format("the copy of the metadata needs {}, and {} are free where {} would be; nothing was "
                          "changed; choose another place with --save=FILE",
                          ShortBytes(needed), ShortBytes(*free), path));
}

}  // namespace

Result<std::uint64_t> MetadataFileBytes(ZonedDevice& device, const Superblock& superblock) {
  ZENFS_ASSIGN_OR_RETURN(const std::vector<ZoneInfo> report, ReportMetadata(device, superblock));
  std::uint64_t bytes = kMetadataCopyHeadBytes;
  for (const ZoneInfo& zone : report) bytes += zone.WrittenBytes();
  return bytes;
}

ZoneCondition ConditionOf(const CopiedZone& zone) { return static_cast<ZoneCondition>(zone.condition); }

Status SaveMetadata(ZonedDevice& device, const Superblock& superblock, MetadataCopy numbers,
                    const std::string& path) {
  const PresenceMark mark = PresenceMark::Now(device);
  numbers.uuid = superblock.uuid;
  numbers.seed = superblock.seed;
  numbers.block_size = superblock.block_size;
  numbers.zone_size = superblock.zone_size;
  numbers.zone_count = superblock.zone_count;
  numbers.zones.clear();
  std::uint64_t end = kMetadataCopyHeadBytes;
  std::uint64_t needed = end;  // of the host's room
  ZENFS_ASSIGN_OR_RETURN(const std::vector<ZoneInfo> report, ReportMetadata(device, superblock));
  for (const ZoneInfo& info : report) {
    CopiedZone zone{.zone = info.id,
                    .condition = static_cast<std::uint32_t>(info.condition),
                    .bytes = info.WrittenBytes()};
    ZENFS_ASSIGN_OR_RETURN(zone.unreadable,
                           ReadZone(device, info.id, zone.bytes, [&](ByteView piece, std::uint64_t zeros) {
                             zone.crc = Crc32cOfZeros(zeros, Crc32c(piece, zone.crc));
                             const std::uint64_t offset = std::exchange(end, end + piece.size() + zeros);
                             return WithoutZeros(offset, piece, [&](std::uint64_t, ByteView part) -> Status {
                               needed += part.size();
                               return {};
                             });
                           }));
    numbers.zones.push_back(zone);
  }
  std::string name;
  ZENFS_ASSIGN_OR_RETURN(const HostDirectory directory, HostDirectory::OpenParentOf(path, name));
  ZENFS_RETURN_IF_ERROR(CheckRoom(directory, needed, path));
  ZENFS_ASSIGN_OR_RETURN(HostFile file, directory.CreateNew(name, HostDirectory::kFileMode));
  Status written = WriteFile(device, numbers, needed - kMetadataCopyHeadBytes, directory, file);
  // What could not be read is zeros in the copy, and both passes may have met the same outage.
  written.Update(mark.Check(device));
  if (!written.ok()) IgnoreError(directory.RemoveFile(name));  // report the first error
  return written;
}

Result<HostFile> OpenMetadataFile(const std::string& path) {
  std::string name;
  ZENFS_ASSIGN_OR_RETURN(const HostDirectory directory, HostDirectory::OpenParentOf(path, name));
  return directory.OpenForRead(name);
}

Result<MetadataCopy> VerifyMetadataFile(const HostFile& file) {
  const std::string& path = file.path();
  std::vector<std::byte> buffer(kPieceBytes);
  const ByteSpan head(buffer.data(), kMetadataCopyHeadBytes);
  ZENFS_ASSIGN_OR_RETURN(const std::size_t got, file.Read(0, head));
  const auto copy = DecodeMetadataCopy(head.first(got));
  if (!copy) return Fail(copy.error().With(path));
  std::uint64_t offset = kMetadataCopyHeadBytes;
  for (const CopiedZone& zone : copy->zones) {
    std::uint32_t crc = 0;
    for (std::uint64_t at = 0; at < zone.bytes;) {
      if (const std::uint64_t zeros = file.KnownZeros(offset + at, zone.bytes - at); zeros != 0) {
        crc = Crc32cOfZeros(zeros, crc);
        at += zeros;
        continue;
      }
      const ByteSpan into = ByteSpan(buffer).first(std::min<std::uint64_t>(kPieceBytes, zone.bytes - at));
      ZENFS_ASSIGN_OR_RETURN(const std::size_t n, file.Read(offset + at, into));
      if (n != into.size())
        return Fail(Code::kCorruption, fmt::format("{} is cut off at byte {}", path, offset + at + n));
      crc = Crc32c(into, crc);
      at += n;
    }
    if (crc != zone.crc) {
      return Fail(
          Code::kCorruption,
          fmt::format("{}: its copy of zone {} is damaged (the CRC does not match)", path, zone.zone.value));
    }
    offset += zone.bytes;
  }
  ZENFS_ASSIGN_OR_RETURN(const HostStat stat, file.Stat());
  if (stat.size != offset) {
    return Fail(Code::kCorruption, fmt::format("{} has {} bytes, not {}", path, stat.size, offset));
  }
  return *copy;
}

Status RestoreZone(ZonedDevice& device, const CopiedZone& zone, const HostFile& file, std::uint64_t offset) {
  ZENFS_RETURN_IF_ERROR(device.Reset(zone.zone));
  const DeviceOffset start = device.geometry().ZoneStart(zone.zone);
  AlignedBuffer buffer(std::max<std::uint64_t>(kPieceBytes, device.geometry().block_size));
  std::uint32_t crc = 0;
  for (std::uint64_t at = 0; at < zone.bytes; at += buffer.size()) {
    const std::uint64_t rest = zone.bytes - at;
    if (ConditionOf(zone) == ZoneCondition::kFull && file.KnownZeros(offset + at, rest) == rest &&
        device.KnownZeros(start + at, rest) == rest) {
      crc = Crc32cOfZeros(rest, crc);  // Finish leaves them as they are
      break;
    }
    buffer.Resize(std::min<std::uint64_t>(buffer.capacity(), zone.bytes - at));
    ZENFS_ASSIGN_OR_RETURN(const std::size_t n, file.Read(offset + at, buffer.Span()));
    if (n != buffer.size()) return Fail(Code::kCorruption, fmt::format("{} became shorter", file.path()));
    crc = Crc32c(buffer.View(), crc);
    ZENFS_RETURN_IF_ERROR(device.Write(start + at, buffer.View()));
  }
  if (crc != zone.crc) {
    return Fail(Code::kCorruption, fmt::format("{} was changed by another program meanwhile", file.path()));
  }
  if (zone.bytes == 0) return {};
  if (ConditionOf(zone) == ZoneCondition::kFull) {
    ZENFS_ASSIGN_OR_RETURN(const ZoneInfo info, device.ReportZone(zone.zone));
    return info.condition == ZoneCondition::kFull ? Status{} : device.Finish(zone.zone);
  }
  return device.Close(zone.zone);
}

}  // namespace zenfs
