#include "repair/metadata_file.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/aligned_buffer.h"
#include "base/crc32c.h"
#include "base/host_directory.h"
#include "device/read_or_zeros.h"
#include "metalog/log_fingerprint.h"

namespace zenfs {
namespace {

constexpr std::uint64_t kPieceBytes = 1 << 20;

// Reads the first `bytes` of a zone in pieces and passes them on. Blocks that can't be read are
// zeros; returns their number.
Result<std::uint32_t> ReadZone(ZonedDevice& device, ZoneId zone, std::uint64_t bytes,
                               const std::function<Status(ByteView)>& use) {
  AlignedBuffer buffer(std::max<std::uint64_t>(kPieceBytes, device.geometry().block_size));
  std::uint32_t unreadable = 0;
  for (std::uint64_t at = 0; at < bytes; at += buffer.size()) {
    buffer.Resize(std::min<std::uint64_t>(buffer.capacity(), bytes - at));
    const DeviceOffset from = device.geometry().ZoneStart(zone) + at;
    unreadable += ReadOrZeros(device, from, buffer.Span());
    ZENFS_RETURN_IF_ERROR(use(buffer.View()));
  }
  return unreadable;
}

Status WriteFile(ZonedDevice& device, const MetadataCopy& copy, const HostDirectory& directory,
                 HostFile& file) {
  ZENFS_RETURN_IF_ERROR(file.Append(AsBytes(EncodeMetadataCopy(copy))));
  for (const CopiedZone& zone : copy.zones) {
    ZENFS_RETURN_IF_ERROR(
        ReadZone(device, zone.zone, zone.bytes, [&](ByteView piece) { return file.Append(piece); }));
  }
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

}  // namespace

ZoneCondition ConditionOf(const CopiedZone& zone) { return static_cast<ZoneCondition>(zone.condition); }

Status SaveMetadata(ZonedDevice& device, const Superblock& superblock, MetadataCopy numbers,
                    const std::string& path) {
  numbers.uuid = superblock.uuid;
  numbers.seed = superblock.seed;
  numbers.block_size = superblock.block_size;
  numbers.zone_size = superblock.zone_size;
  numbers.zone_count = superblock.zone_count;
  numbers.zones.clear();
  std::vector<ZoneId> metadata_zones = MetadataZones(device, superblock);
  std::ranges::sort(metadata_zones);
  for (const ZoneId id : metadata_zones) {
    ZENFS_ASSIGN_OR_RETURN(const ZoneInfo info, device.ReportZone(id));
    CopiedZone zone{
        .zone = id, .condition = static_cast<std::uint32_t>(info.condition), .bytes = info.WrittenBytes()};
    ZENFS_ASSIGN_OR_RETURN(zone.unreadable, ReadZone(device, id, zone.bytes, [&](ByteView piece) -> Status {
                             zone.crc = Crc32c(piece, zone.crc);
                             return {};
                           }));
    numbers.zones.push_back(zone);
  }
  std::string name;
  ZENFS_ASSIGN_OR_RETURN(const HostDirectory directory, HostDirectory::OpenParentOf(path, name));
  ZENFS_ASSIGN_OR_RETURN(HostFile file, directory.CreateNew(name, HostDirectory::kFileMode));
  Status written = WriteFile(device, numbers, directory, file);
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
  AlignedBuffer buffer(std::max<std::uint64_t>(kPieceBytes, device.geometry().block_size));
  std::uint32_t crc = 0;
  for (std::uint64_t at = 0; at < zone.bytes; at += buffer.size()) {
    buffer.Resize(std::min<std::uint64_t>(buffer.capacity(), zone.bytes - at));
    ZENFS_ASSIGN_OR_RETURN(const std::size_t n, file.Read(offset + at, buffer.Span()));
    if (n != buffer.size()) return Fail(Code::kCorruption, fmt::format("{} became shorter", file.path()));
    crc = Crc32c(buffer.View(), crc);
    ZENFS_RETURN_IF_ERROR(device.Write(device.geometry().ZoneStart(zone.zone) + at, buffer.View()));
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
