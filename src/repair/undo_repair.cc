// UndoRepair: restores the metadata zones from the copy on the host.
#include <fmt/format.h>

#include <algorithm>

#include "device/guarded_device.h"
#include "device/presence.h"
#include "metalog/metadata_scan.h"
#include "metalog/probe.h"
#include "repair/metadata_file.h"
#include "repair/repair.h"

namespace zenfs {
namespace {

bool IsBad(ZoneCondition condition) {
  return condition == ZoneCondition::kOffline || condition == ZoneCondition::kReadOnly;
}

Status CheckSameVolume(const ZonedDevice& device, const Superblock& superblock, const MetadataCopy& copy) {
  const Geometry& geometry = device.geometry();
  std::vector<ZoneId> zones;
  for (const CopiedZone& zone : copy.zones) zones.push_back(zone.zone);
  // The copy also has the zones that were added.
  if (superblock.uuid != copy.uuid || superblock.seed != copy.seed ||
      !std::ranges::includes(zones, superblock.metadata_zones)) {
    return Fail(Code::kInvalidArgument,
                fmt::format("the copy is of volume {}, and {} holds {}", copy.uuid.ToString(), device.name(),
                            superblock.uuid.ToString()));
  }
  if (geometry.block_size != copy.block_size || geometry.zone_size != copy.zone_size ||
      geometry.zone_count != copy.zone_count) {
    return Fail(
        Code::kInvalidArgument,
        fmt::format("the copy is of a device with another block size, zone size or number of zones than {}",
                    device.name()));
  }
  return {};
}

// Returns the superblock of the device. If an interrupted repair or undo left none, returns the
// superblock that the copy describes.
Result<Superblock> SuperblockFor(ZonedDevice& device, const MetadataCopy& copy) {
  Result<Superblock> probed = ProbeSuperblock(device);
  if (probed) return probed;
  const Code code = probed.error().code();
  if (code != Code::kNotFound && code != Code::kCorruption && code != Code::kIo) return probed;
  Superblock superblock;
  superblock.uuid = copy.uuid;
  superblock.seed = copy.seed;
  for (const CopiedZone& zone : copy.zones) superblock.metadata_zones.push_back(zone.zone);
  return superblock;
}

// A read-write mount commits before it does anything else. A commit that neither the old volume nor
// the repair wrote therefore proves such a mount.
Status RefuseIfMountedSince(ZonedDevice& device, const Superblock& superblock, const MetadataCopy& copy) {
  ZENFS_ASSIGN_OR_RETURN(const MetadataScan scan, ScanMetadata(device, superblock));
  for (const ScannedGeneration& generation : scan.generations) {
    const std::uint64_t known =
        generation.generation < copy.next_generation ? copy.highest_sequence : copy.repaired_sequence;
    for (const MetadataFrame& frame : generation.frames) {
      if (frame.last_sequence <= known) continue;
      return Fail(
          Code::kReadOnly,
          fmt::format("{} was mounted read-write since the copy was made (commit {} in zone {}): data zones "
                      "may have been reset since, so the old metadata cannot be restored",
                      device.name(), frame.last_sequence, frame.zone.value));
    }
  }
  return {};
}

Status CheckWritableZones(ZonedDevice& device, const MetadataCopy& copy) {
  for (const CopiedZone& zone : copy.zones) {
    ZENFS_ASSIGN_OR_RETURN(const ZoneInfo info, device.ReportZone(zone.zone));
    const ZoneCondition now = info.condition;
    const bool was_bad = IsBad(ConditionOf(zone));
    if (IsBad(now) && !was_bad) {
      return Fail(Code::kReadOnly, fmt::format("{}: metadata zone {} is {} now and cannot be restored",
                                               device.name(), zone.zone.value, ConditionName(now)));
    }
  }
  return {};
}

// Finishes the active data zone with the least room; its data stays readable. Returns false if
// there is none. Not on a second device, which has slots of its own and is not written.
bool FreeSlot(ZonedDevice& device, const MetadataCopy& copy) {
  Result<std::vector<ZoneInfo>> report = ReportAll(device);
  if (!report) return false;
  std::erase_if(*report, [&](const ZoneInfo& zone) {
    return !IsActive(zone.condition) || device.geometry().OnLogDevice(zone.id) ||
           std::ranges::find(copy.zones, zone.id, &CopiedZone::zone) != copy.zones.end();
  });
  const auto fullest = std::ranges::max_element(*report, {}, &ZoneInfo::WrittenBytes);
  return fullest != report->end() && device.Finish(fullest->id).ok();
}

bool IsBusy(const Status& status) { return !status.ok() && status.error().code() == Code::kBusy; }

Status UndoOn(ZonedDevice& device, const std::string& path) {
  // The path is opened once: later changes of the name do not matter.
  ZENFS_ASSIGN_OR_RETURN(const HostFile file, OpenMetadataFile(path));
  ZENFS_ASSIGN_OR_RETURN(const MetadataCopy copy, VerifyMetadataFile(file));
  ZENFS_ASSIGN_OR_RETURN(const Superblock superblock, SuperblockFor(device, copy));
  ZENFS_RETURN_IF_ERROR(CheckSameVolume(device, superblock, copy));
  if (device.mode() != OpenMode::kExclusive) {
    return Fail(Code::kReadOnly, fmt::format("{} is open for reading only", device.name()));
  }
  ZENFS_RETURN_IF_ERROR(RefuseIfMountedSince(device, superblock, copy));
  ZENFS_RETURN_IF_ERROR(CheckWritableZones(device, copy));
  // Else an outage may have hidden the superblock of another volume, or a mount since.
  ZENFS_RETURN_IF_ERROR(PresenceMark::AtOpen().Check(device));
  struct Place {
    CopiedZone zone;
    std::uint64_t offset = 0;
  };
  std::vector<Place> order;
  // Restore zones with contents first, so that a superblock exists at every moment.
  for (const bool holds_something : {true, false}) {
    std::uint64_t offset = kMetadataCopyHeadBytes;
    for (const CopiedZone& zone : copy.zones) {
      if ((zone.bytes != 0) == holds_something) order.push_back({zone, offset});
      offset += zone.bytes;
    }
  }
  for (std::size_t i = 0; i < order.size(); ++i) {
    const CopiedZone& zone = order[i].zone;
    if (IsBad(ConditionOf(zone))) continue;
    Status restored = RestoreZone(device, zone, file, order[i].offset);
    if (IsBusy(restored)) {
      // No free slot: finish zones that the repair left active; they are reset in their turn.
      for (std::size_t j = i + 1; j < order.size(); ++j) IgnoreError(device.Finish(order[j].zone.zone));
      restored = RestoreZone(device, zone, file, order[i].offset);
    }
    while (IsBusy(restored) && FreeSlot(device, copy)) {
      restored = RestoreZone(device, zone, file, order[i].offset);
    }
    if (!restored.ok()) return Fail(restored.error().With(fmt::format("zone {}", zone.zone.value)));
    ZENFS_RETURN_IF_ERROR(device.Flush());
  }
  return {};
}

}  // namespace

Status UndoRepair(ZonedDevice& device, const std::string& file) {
  const std::unique_ptr<ZonedDevice> guarded = GuardDevice(device);
  return UndoOn(*guarded, file);
}

}  // namespace zenfs
