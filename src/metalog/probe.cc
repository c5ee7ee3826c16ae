#include "metalog/probe.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>
#include <optional>

#include "base/aligned_buffer.h"
#include "device/presence.h"
#include "format/metalog_payload.h"
#include "format/superblock.h"
#include "metalog/metazones.h"
#include "metalog/older_log.h"
#include "metalog/replay.h"
#include "metalog/zone_reader.h"

namespace zenfs {
namespace {

Status CheckGeometry(const ZonedDevice& device, const Superblock& superblock) {
  const Geometry& geometry = device.geometry();
  if (superblock.is_log_device()) {
    return Fail(
        Code::kInvalidArgument,
        fmt::format("{} has only the logs of the volume {}; open the device that has the rest, at mkfs {}",
                    device.name(), superblock.uuid.ToString(), superblock.peer));
  }
  if (superblock.has_log_device() && geometry.log_zones == 0) {
    return Fail(Code::kInvalidArgument,
                fmt::format("{}: the logs of its volume are on a second device, at mkfs {}; both are needed: "
                            "name it by ?waldev:KIND:NAME",
                            device.name(), superblock.peer));
  }
  const auto check = [&](const char* what, std::uint64_t recorded, std::uint64_t found) -> Status {
    if (recorded == found) return {};
    return Fail(
        Code::kInvalidArgument,
        fmt::format("{}: {} is {}, but the file system was made for {}; open the device it was made on, "
                    "under the same kind of name (a zonefs has other zones than the disk below it)",
                    device.name(), what, found, recorded));
  };
  ZENFS_RETURN_IF_ERROR(check("the block size", superblock.block_size, geometry.block_size));
  ZENFS_RETURN_IF_ERROR(check("the zone size", superblock.zone_size, geometry.zone_size));
  ZENFS_RETURN_IF_ERROR(check("the number of zones", superblock.zone_count, geometry.zone_count));
  return check("the number of zones on a second device", superblock.log_zones, geometry.log_zones);
}

// If no copy is valid, the error with the highest weight is reported.
int Weight(Code code) {
  switch (code) {
    case Code::kNotFound: return 0;
    case Code::kIo: return 1;
    case Code::kCorruption: return 2;
    default: return 3;
  }
}

// Reads the copy at the start of a zone into `buffer` and decodes it. The zone must have that much written.
Result<Superblock> ReadCopy(ZonedDevice& device, const ZoneInfo& info, AlignedBuffer& buffer) {
  ZENFS_RETURN_IF_ERROR(device.Read(info.start, buffer.Span()));
  Result<Superblock> copy = DecodeSuperblock(buffer.View());
  if (copy || copy.error().code() != Code::kNotFound) return copy;
  // A volume that lost its superblock must not look like a device without a volume, or mkfs would overwrite it.
  const MetazoneLayout layout(device.geometry().block_size);
  if (info.WrittenBytes() < layout.frames_at) return copy;
  ZoneReader behind(device, info.id, layout.frames_at);
  if (!LooksLikeLogHeader(behind.View(layout.header_at, layout.block_size))) return copy;
  return Fail(Code::kCorruption, "the superblock is gone, but a metadata log of ZenFS follows its place");
}

// Looks for anything that only a ZenFS writes, on a device without a readable superblock. A volume that lost its metadata must
// not look like a device without a volume, or it would be overwritten.
class RemainsSearch {
 public:
  explicit RemainsSearch(ZonedDevice& device) : device_(device), block_(device.geometry().block_size) {}

  // Describes the first remains; empty if there are none.
  Result<std::string> Run() {
    ZENFS_ASSIGN_OR_RETURN(const std::vector<ZoneInfo> report, ReportAll(device_));
    std::size_t metadata_places = 0;
    std::size_t others = 0;
    for (const ZoneInfo& zone : report) {
      if (zone.type == ZoneType::kConventional) continue;
      const bool may_be_metadata = metadata_places < kMaxMetadataZones;
      if (may_be_metadata) ++metadata_places;
      if (may_be_metadata && zone.condition == ZoneCondition::kOffline) offline_.push_back(zone.id.value);
      if (zone.WrittenBytes() > 0) ++written_;
      if (zone.WrittenBytes() == 0 || (!may_be_metadata && ++others > kMostOthers)) continue;
      const std::uint64_t most = may_be_metadata ? kMostInMetadataZone : block_;
      if (std::string found = In(zone, std::min(zone.WrittenBytes(), most)); !found.empty()) return found;
    }
    return std::string();
  }
  // Offline zones in places of metadata; known after Run.
  const std::vector<std::uint32_t>& offline() const { return offline_; }
  // Zones with data; all of them are known if Run found no remains.
  std::uint64_t written() const { return written_; }

 private:
  // A superblock or frame may begin at any block of a metadata zone, and in a log zone a frame is in the first block. Bounds,
  // so that a device with other contents is looked at in seconds.
  static constexpr std::uint64_t kMostInMetadataZone = 1 << 20;
  static constexpr std::size_t kMostOthers = 1024;

  std::string In(const ZoneInfo& zone, std::uint64_t end) {
    ZoneReader reader(device_, zone.id, end);
    for (std::uint64_t at = 0; at < reader.end(); at += block_) {
      const ByteView bytes = reader.View(at, block_);
      const char* what = nullptr;
      if (at == 0 && HasSuperblockMagic(bytes)) what = "a copy of a superblock";
      if (LooksLikeFrame(bytes)) what = LooksLikeLogHeader(bytes) ? "a header of a metadata log" : "a frame";
      if (what != nullptr) return fmt::format("{} in zone {} at byte {}", what, zone.id.value, at);
    }
    return {};
  }

  static bool HasSuperblockMagic(ByteView bytes) {
    std::uint64_t magic = 0;
    std::memcpy(&magic, bytes.data(), sizeof magic);
    return magic == kSuperblockMagic;
  }
  // As far as that can be said without the seed of the CRC.
  static bool LooksLikeFrame(ByteView bytes) {
    FrameHeader header;
    std::memcpy(&header, bytes.data(), sizeof header);
    return header.magic == kFrameMagic && header.kind >= FrameKind::kLogHeader &&
           header.kind <= FrameKind::kSwitchBegin && header.reserved == 0 &&
           header.payload_bytes <= kMaxFramePayload && header.header_bytes <= kMaxFrameHeaderBytes;
  }

  ZonedDevice& device_;
  const std::uint64_t block_;
  std::vector<std::uint32_t> offline_;
  std::uint64_t written_ = 0;
};

// No copy of the superblock was found, not even a damaged one.
Error NotFound(ZonedDevice& device) {
  RemainsSearch search(device);
  const Result<std::string> remains = search.Run();
  if (!remains) return remains.error();
  const std::string offline =
      search.offline().empty() ? "" : fmt::format("; zone {} is offline", fmt::join(search.offline(), ", "));
  if (!remains->empty()) {
    return Error(
        Code::kCorruption,
        fmt::format("{}: no superblock can be read, but remains of a ZenFS are there: {}{}; without a "
                    "superblock nothing can be verified: restore from a backup",
                    device.name(), *remains, offline));
  }
  if (!offline.empty()) {
    return Error(Code::kNotFound, fmt::format("no ZenFS is found on {}{}, so one may have been there",
                                              device.name(), offline));
  }
  if (search.written() > 0) {
    return Error(
        Code::kNotFound,
        fmt::format(
            "no ZenFS can be read on {}, but {} of its zones hold data: of another program, or of a ZenFS "
            "whose "
            "superblocks are gone; restore a backup or, if the data may be lost, use zenfs mkfs --force",
            device.name(), search.written()));
  }
  return Error(Code::kNotFound, fmt::format("no ZenFS on {}; make one with zenfs mkfs", device.name()));
}

// The first copy in a metadata zone of its own; with `only_logs` of those of a log device.
Result<Superblock> FindCopy(ZonedDevice& device, bool only_logs) {
  const Geometry& geometry = device.geometry();
  std::optional<Error> worst;
  bool has_other = false;
  AlignedBuffer buffer(RoundUp(kSuperblockBytes, geometry.block_size));
  buffer.Resize(buffer.capacity());
  std::size_t looked_at = 0;
  for (std::uint32_t i = 0; i < geometry.zone_count && looked_at < kMaxMetadataZones; ++i) {
    const ZoneId zone(i);
    ZENFS_ASSIGN_OR_RETURN(const ZoneInfo info, device.ReportZone(zone));
    if (info.type == ZoneType::kConventional) continue;
    ++looked_at;  // offline zones count: they may be metadata zones
    if (info.WrittenBytes() < buffer.size()) continue;
    const Result<Superblock> found = ReadCopy(device, info, buffer);
    if (found) {
      if (std::ranges::find(found->metadata_zones, zone) == found->metadata_zones.end())
        continue;  // not a metadata zone of that volume: a remainder of an earlier one
      if (!only_logs || found->is_log_device()) return found;
      has_other = true;
      continue;
    }
    if (!worst || Weight(found.error().code()) > Weight(worst->code())) {
      worst = found.error().With(fmt::format("{}: zone {}", device.name(), i));
    }
  }
  if (worst && worst->code() != Code::kNotFound) return Fail(*worst);
  if (has_other) {
    return Fail(Code::kInvalidArgument,
                fmt::format("{} has a ZenFS, but not the logs of another device", device.name()));
  }
  return Fail(NotFound(device));
}

}  // namespace

Result<Superblock> FindSuperblock(ZonedDevice& device) { return FindCopy(device, /*only_logs=*/false); }
Result<Superblock> FindLogSuperblock(ZonedDevice& device) { return FindCopy(device, /*only_logs=*/true); }

Result<Superblock> ProbeSuperblock(ZonedDevice& device) {
  const PresenceMark mark = PresenceMark::Now(device);
  Result<Superblock> found = FindSuperblock(device);
  ZENFS_RETURN_IF_ERROR(mark.Check(device));
  if (!found) return found;
  ZENFS_RETURN_IF_ERROR(CheckGeometry(device, *found));
  if (!found->was_older()) return found;
  ZENFS_ASSIGN_OR_RETURN(const OlderRemains remains, FindOlderRemains(device));
  ZENFS_RETURN_IF_ERROR(mark.Check(device));
  if (remains != OlderRemains::kLog) return found;
  // A volume that was mounted read-write is never the older one again.
  if (const auto replayed = Replay(device, *found); replayed && replayed->state.epoch() != 0) return found;
  return Fail(
      Code::kNotSupported,
      fmt::format("{}: still a volume of the older ZenFS, because its upgrade was interrupted: run zenfs "
                  "upgrade again",
                  device.name()));
}

Result<Superblock> ProbeReadable(ZonedDevice& device) {
  const PresenceMark mark = PresenceMark::Now(device);
  Result<Superblock> found = ProbeSuperblock(device);
  // With small blocks, an older superblock and its first records are shorter than ours.
  if (found || (found.error().code() != Code::kNotSupported && found.error().code() != Code::kNotFound))
    return found;
  Result<Superblock> older = FindOlderSuperblock(device);
  ZENFS_RETURN_IF_ERROR(mark.Check(device));
  if (!older && older.error().code() == Code::kNotFound) return found;
  if (older) ZENFS_RETURN_IF_ERROR(CheckGeometry(device, *older));
  return older;
}

Result<std::vector<SuperblockCopy>> ScanSuperblocks(ZonedDevice& device) {
  const Geometry& geometry = device.geometry();
  ZENFS_ASSIGN_OR_RETURN(const std::vector<ZoneInfo> report, ReportAll(device));
  std::vector<SuperblockCopy> copies;
  AlignedBuffer buffer(RoundUp(kSuperblockBytes, geometry.block_size));
  buffer.Resize(buffer.capacity());
  std::size_t looked_at = 0;
  for (const ZoneInfo& info : report) {
    if (looked_at == kMaxMetadataZones) break;
    if (info.type == ZoneType::kConventional) continue;
    ++looked_at;
    if (info.WrittenBytes() < buffer.size()) continue;
    copies.push_back({info.id, ReadCopy(device, info, buffer)});
  }
  return copies;
}

Result<SuperblockCopy> CorrectedSuperblock(ZonedDevice& device) {
  ZENFS_ASSIGN_OR_RETURN(const std::vector<SuperblockCopy> copies, ScanSuperblocks(device));
  const MetazoneLayout layout(device.geometry().block_size);
  for (const SuperblockCopy& copy : copies) {
    if (copy.superblock || copy.superblock.error().code() != Code::kCorruption) continue;
    ZoneReader reader(device, copy.zone, layout.frames_at);
    const std::optional<Superblock> corrected = CorrectSuperblock(reader.View(0, kSuperblockBytes));
    if (!corrected) continue;
    ZENFS_RETURN_IF_ERROR(CheckGeometry(device, *corrected));
    const bool named =
        std::ranges::find(corrected->metadata_zones, copy.zone) != corrected->metadata_zones.end();
    const ByteView behind = reader.View(layout.header_at, layout.frames_at - layout.header_at);
    if (named && FindLogHeader(behind, corrected->seed, copy.zone, layout.block_size)) {
      return SuperblockCopy{copy.zone, *corrected};
    }
  }
  return Fail(Code::kCorruption, fmt::format("{}: no copy of the superblock is valid", device.name()));
}

}  // namespace zenfs
