#include "volume/mkfs.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string_view>

#include "base/aligned_buffer.h"
#include "base/assert.h"
#include "base/clock.h"
#include "base/counted.h"
#include "device/forwarding_device.h"
#include "device/joined_device.h"
#include "metalog/metalog.h"
#include "metalog/metazones.h"
#include "metalog/pair_zones.h"
#include "metalog/probe.h"
#include "volume/pair_proof.h"
#include "zone/spread.h"
#include "zone/zone_limits.h"
#include "zone/zone_manager.h"

namespace zenfs {
namespace {

constexpr std::uint64_t kCapacityMin = 64 << 10;
constexpr std::uint32_t kMetadataZonesMin = 3;
// For the size of the metadata: one file of 128 metadata bytes for each MiB, more than RocksDB makes on any device.
constexpr std::uint64_t kBytesPerFile = 1 << 20;
constexpr std::uint64_t kMetadataPerFile = 128;
constexpr std::uint64_t kMetadataPerSpreadFile = 8 * 31;  // an extent for each 128 KiB

Status CheckSize(const ZonedDevice& device, std::span<const ZoneInfo> usable) {
  if (usable.size() < kFewestUsableZones) {
    return Fail(Code::kInvalidArgument, fmt::format("{}: {} usable sequential zones, at least {} are needed",
                                                    device.name(), usable.size(), kFewestUsableZones));
  }
  const std::uint64_t needed = std::max<std::uint64_t>(kCapacityMin, 16 * device.geometry().block_size);
  const ZoneInfo& smallest = *std::ranges::min_element(usable, {}, &ZoneInfo::capacity);
  if (smallest.capacity < needed) {
    return Fail(Code::kInvalidArgument,
                fmt::format("{}: zone {} has a capacity of {} KiB, at least {} KiB are needed", device.name(),
                            smallest.id.value, smallest.capacity / 1024, needed / 1024));
  }
  return {};
}

// --- other contents of the device ---

using namespace std::string_view_literals;

// The magic of each format and its offset in bytes from the start of the device, from the format's documentation.
struct Signature {
  std::size_t offset;
  std::string_view magic;
  std::string_view what;
};
constexpr Signature kSignatures[] = {
    {0, "XFSB"sv, "an XFS file system"},
    {0x438, "\x53\xef"sv, "an ext2, ext3 or ext4 file system"},
    {0x400, "\x10\x20\xf5\xf2"sv, "an F2FS file system"},
    {0x10040, "_BHRfS_M"sv, "a Btrfs file system"},
    {0, "SFOZ"sv, "a zonefs file system"},
    {0x200, "EFI PART"sv, "a GUID partition table"},
    {0x1000, "EFI PART"sv, "a GUID partition table"},
    {0x200, "LABELONE"sv, "an LVM physical volume"},
    {0, "LUKS\xba\xbe"sv, "a LUKS container"},
};
constexpr std::size_t kLookAt = 128 << 10;

std::optional<std::string> NameSignature(ByteView head) {
  for (const Signature& signature : kSignatures) {
    if (signature.offset + signature.magic.size() > head.size()) continue;
    if (AsText(head.subspan(signature.offset, signature.magic.size())) == signature.magic) {
      return std::string(signature.what);
    }
  }
  return std::nullopt;
}

// "an XFS file system", "data of an unknown kind in 12 zones", ...; nothing if the device is blank. Ignores blocks that can't
// be read. `report` covers all zones.
std::optional<std::string> FindForeignContent(ZonedDevice& device, std::span<const ZoneInfo> report) {
  // A zoned file system has its superblock in the first zone, conventional or not.
  const ZoneInfo& first = report.front();
  const std::uint64_t readable =
      first.type == ZoneType::kConventional ? first.capacity : first.WrittenBytes();
  AlignedBuffer head(kLookAt);
  head.Resize(RoundDown(std::min<std::uint64_t>(readable, kLookAt), device.geometry().block_size));
  if (!head.empty() && device.Read(first.start, head.Span()).ok()) {
    if (auto named = NameSignature(head.View())) return named;
  }
  // Read-only zones do not count: mkfs neither writes nor resets them, so their data stays.
  const auto written = std::ranges::count_if(report, [](const ZoneInfo& z) {
    return z.WrittenBytes() != 0 && z.condition != ZoneCondition::kReadOnly;
  });
  if (written != 0) {
    return fmt::format("data of an unknown kind in {}", Counted(static_cast<std::uint64_t>(written), "zone"));
  }
  return std::nullopt;
}

// The volume on a device, or the error that says why this is not the device it was made on. Two joined devices have another
// geometry than the one on which an earlier volume was.
Result<Superblock> ExistingVolume(ZonedDevice& device) {
  return device.geometry().log_zones != 0 ? FindSuperblock(device) : ProbeSuperblock(device);
}

Status RefuseExisting(ZonedDevice& device, std::span<const ZoneInfo> report) {
  const Result<Superblock> found = ExistingVolume(device);
  if (found) return Fail(Code::kExists, "Existing filesystem found, use --force if you want to replace it.");
  if (found.error().code() != Code::kNotFound) {
    return Fail(Code::kExists,
                fmt::format("Existing filesystem found ({}), use --force if you want to replace it.",
                            found.error().ToString()));
  }
  if (const auto foreign = FindForeignContent(device, report)) {
    return Fail(Code::kExists,
                fmt::format("{} holds {}, use --force if you want to replace it.", device.name(), *foreign));
  }
  return {};
}

// --- the metadata zones ---

Result<std::vector<ZoneId>> ChooseMetadataZones(const ZonedDevice& device, std::span<const ZoneInfo> report,
                                                std::span<const ZoneInfo> usable, std::uint32_t count) {
  if (count < kMetadataZonesMin || count > kMaxMetadataZones ||
      count + kFewestUsableZones - kMetadataZonesMin > usable.size()) {
    return Fail(
        Code::kInvalidArgument,
        fmt::format("{}: {} metadata zones requested; {} to {} are possible on this device", device.name(),
                    count, kMetadataZonesMin,
                    std::min(kMaxMetadataZones, usable.size() - kFewestUsableZones + kMetadataZonesMin)));
  }
  std::vector<ZoneId> zones;
  for (const ZoneInfo& zone : usable.first(count)) zones.push_back(zone.id);
  const auto before = std::ranges::count_if(report, [&](const ZoneInfo& z) {
    return z.type == ZoneType::kSequentialRequired && z.id <= zones.back();
  });
  if (static_cast<std::size_t>(before) > kMaxMetadataZones) {
    return Fail(
        Code::kNotSupported,
        fmt::format("{}: {} of the first {} sequential zones are offline or read-only; too few are left for "
                    "metadata",
                    device.name(), before - count, before));
  }
  return zones;
}

// Removes an existing file system: resets its metadata zones one by one, each durably before the next, those of the newest
// generation last. So a crash in between leaves the old file system either whole or gone, never an older state of it.
Status ResetOldMetadata(ZonedDevice& device) {
  const Result<Superblock> old = FindSuperblock(device);
  if (!old) return {};
  std::vector<ZoneId> zones = MetadataZones(device, *old);
  std::erase_if(zones, [&](ZoneId zone) { return zone.value >= device.geometry().zone_count; });
  const std::vector<ZoneId> newest = NewestGenerationZones(device, *old);
  std::erase_if(zones, [&](ZoneId zone) { return std::ranges::find(newest, zone) != newest.end(); });
  zones.insert(zones.end(), newest.begin(), newest.end());
  for (const ZoneId zone : zones) {
    ZENFS_RETURN_IF_ERROR(device.Reset(zone));
    ZENFS_RETURN_IF_ERROR(device.Flush());
  }
  return {};
}

// Removes the superblocks of earlier file systems from all zones that a probe reads.
Status ClearProbedZones(ZonedDevice& device, std::span<const ZoneInfo> usable) {
  ZENFS_RETURN_IF_ERROR(ResetOldMetadata(device));
  for (const ZoneInfo& zone : usable.first(std::min(usable.size(), kMaxMetadataZones))) {
    if (zone.condition != ZoneCondition::kEmpty) ZENFS_RETURN_IF_ERROR(device.Reset(zone.id));
  }
  return device.Flush();
}

// --- a second device for the logs ---

void NameLogDevice(const FormatOptions& options, const Geometry& joined, Superblock& superblock) {
  superblock.incompatible |= kHasLogDevice;
  superblock.log_zones = joined.log_zones;
  if (options.log_device != nullptr)
    superblock.first_log_zone = ZoneId(options.log_device->geometry().zone_count - joined.log_zones);
  superblock.peer = options.log_device_name;
}

// The usable zones before the first log zone get a copy of the superblock each, and the first key of the pair.
Status WriteLogDevice(ZonedDevice& device, const FormatOptions& options, const Superblock& main,
                      const PairRecord& pair) {
  const Geometry& geometry = device.geometry();
  ZENFS_ASSIGN_OR_RETURN(const std::vector<ZoneInfo> report, ReportAll(device));
  const std::vector<ZoneInfo> usable = UsableZones(geometry, report);
  ZENFS_RETURN_IF_ERROR(ClearProbedZones(device, usable));
  Superblock superblock = main;
  superblock.incompatible = kIsLogDevice;
  superblock.block_size = geometry.block_size;
  superblock.zone_size = geometry.zone_size;
  superblock.zone_count = geometry.zone_count;
  superblock.peer = options.main_name;
  superblock.metadata_zones.clear();
  for (const ZoneInfo& zone : usable) {
    if (zone.id < main.first_log_zone) superblock.metadata_zones.push_back(zone.id);
  }
  ZENFS_RETURN_IF_ERROR(CheckSuperblock(superblock));
  return WritePairRecord(device, superblock, pair);
}

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

std::vector<ZoneInfo> UsableZones(const Geometry& geometry, std::span<const ZoneInfo> report) {
  std::vector<ZoneInfo> usable;
  for (const ZoneInfo& zone : report) {
    if (zone.type != ZoneType::kSequentialRequired || geometry.OnLogDevice(zone.id)) continue;
    if (zone.condition == ZoneCondition::kOffline || zone.condition == ZoneCondition::kReadOnly) continue;
    usable.push_back(zone);
  }
  return usable;
}

MetadataPlan PlanMetadata(const Geometry& geometry, std::span<const ZoneInfo> usable, std::uint32_t zones) {
  constexpr std::uint64_t kLargestShare = 8;  // of the usable zones: one in so many
  std::uint64_t total = 0;
  for (const ZoneInfo& zone : usable) total += zone.capacity;
  const std::uint64_t snapshot =
      total / kBytesPerFile * (HasManySmallZones(geometry) ? kMetadataPerSpreadFile : kMetadataPerFile);
  const std::uint64_t places =
      std::max<std::uint64_t>((snapshot + usable.front().capacity - 1) / usable.front().capacity, 1);
  const std::uint64_t for_two = 4 * places + 1;
  MetadataPlan plan{.zones = zones, .copies = 2, .why_one_copy = {}};
  if (!AllowsTwoCopies(geometry)) {
    plan.why_one_copy = "the device allows too few active zones for two copies";
  } else if (zones != 0 && zones < for_two) {
    plan.why_one_copy = fmt::format("two copies need {} metadata zones", for_two);
  } else if (zones == 0 && (for_two > kMaxMetadataZones || for_two * kLargestShare > usable.size())) {
    plan.why_one_copy = fmt::format("two copies take {} zones, which is more than {}", for_two,
                                    for_two > kMaxMetadataZones
                                        ? "a superblock can name"
                                        : fmt::format("an eighth of the {} usable ones", usable.size()));
  }
  if (!plan.why_one_copy.empty()) plan.copies = 1;
  if (zones == 0) {
    plan.zones = static_cast<std::uint32_t>(
        std::clamp<std::uint64_t>(2 * plan.copies * places + 1, kMetadataZonesMin, kMaxMetadataZones));
  }
  return plan;
}

Result<FormatReport> FormatVolume(ZonedDevice& device, const FormatOptions& options) {
  const Geometry& geometry = device.geometry();
  ZENFS_ASSIGN_OR_RETURN(const std::vector<ZoneInfo> report, ReportAll(device));
  const std::vector<ZoneInfo> usable = UsableZones(geometry, report);
  ZENFS_RETURN_IF_ERROR(CheckSize(device, usable));
  ZENFS_RETURN_IF_ERROR(PlanSlots(geometry, device.name()));
  FormatReport result;
  MetadataPlan plan = PlanMetadata(geometry, usable, options.metadata_zones);
  ZENFS_ASSIGN_OR_RETURN(result.metadata_zones, ChooseMetadataZones(device, report, usable, plan.zones));
  result.metadata_copies = plan.copies;
  result.why_one_copy = std::move(plan.why_one_copy);
  result.uuid = options.uuid ? *options.uuid : Uuid::Generate();
  Superblock superblock{.uuid = result.uuid,
                        .seed = result.uuid,
                        .label = options.label,
                        .created_seconds = WallSeconds(),
                        .block_size = geometry.block_size,
                        .zone_size = geometry.zone_size,
                        .zone_count = geometry.zone_count,
                        .finish_threshold_percent = options.finish_threshold_percent,
                        .metadata_zones = result.metadata_zones,
                        .made_by = "ZenFS " ZENFS_VERSION,
                        .aux_path = options.aux_path,
                        .aux_secret = options.aux_secret};
  superblock.incompatible |= kMoreMetadataZones;
  if (plan.copies == 2) superblock.incompatible |= kTwoMetadataCopies;
  if (geometry.log_zones != 0) NameLogDevice(options, geometry, superblock);
  ZENFS_RETURN_IF_ERROR(CheckSuperblock(superblock));
  if (!options.force) ZENFS_RETURN_IF_ERROR(RefuseExisting(device, report));
  if (!options.force && options.log_device != nullptr) {
    ZENFS_ASSIGN_OR_RETURN(const std::vector<ZoneInfo> log_report, ReportAll(*options.log_device));
    if (const Status none = RefuseExisting(*options.log_device, log_report); !none.ok())
      return Fail(none.error().With(options.log_device->name()));
  }
  if (device.mode() != OpenMode::kExclusive) {
    return Fail(Code::kReadOnly, fmt::format("{}: is open read-only", device.name()));
  }

  // All checks have passed; from here on the device is written.
  ZENFS_ASSERT(result.metadata_zones.size() == plan.zones);
  ZENFS_ASSERT(std::ranges::is_sorted(result.metadata_zones, std::ranges::less_equal()));  // and distinct
  ZENFS_RETURN_IF_ERROR(ClearProbedZones(device, usable));
  std::vector<Edit> initial;
  if (options.log_device != nullptr) {
    const PairRecord pair = FirstPairRecord(device);
    ZENFS_RETURN_IF_ERROR(WriteLogDevice(*options.log_device, options, superblock, pair));
    initial.push_back(SetPairKey{pair.key});
  }
  ZENFS_RETURN_IF_ERROR(Metalog::Format(device, superblock, initial));
  // As a mount will report it: without the zones of the log, and the headroom of reclaim.
  const ZoneManager::Options space = SpaceOptions(geometry, result.metadata_zones);
  const std::size_t kept = result.metadata_zones.size() + space.log.least + space.headroom;
  for (const ZoneInfo& zone : std::span(usable).subspan(std::min(kept, usable.size()))) {
    result.free_bytes += zone.capacity;
  }
  return result;
}

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
