#include "upgrade/upgrade_plan.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <unordered_map>
#include <utility>

#include "base/assert.h"
#include "base/clock.h"
#include "base/counted.h"
#include "base/short_bytes.h"
#include "base/uuid.h"
#include "device/guarded_device.h"
#include "device/presence.h"
#include "format/older_format.h"
#include "metalog/metazones.h"
#include "metalog/older_log.h"
#include "metalog/probe.h"
#include "metalog/replica.h"
#include "model/state.h"
#include "volume/mkfs.h"
#include "zone/zone_limits.h"
#include "zone/zone_manager.h"

namespace zenfs {
namespace {

constexpr std::uint64_t kRoomForCommits = 64 << 10;

// Zones, and who needs them before the switch.
struct ZoneUse {
  ZoneInfo info;
  std::uint64_t live = 0;  // bytes of extents
  bool metadata = false;   // of the older volume
  bool open = false;       // has a file that was open

  bool is_writable() const {
    return info.type == ZoneType::kSequentialRequired && info.condition != ZoneCondition::kOffline &&
           info.condition != ZoneCondition::kReadOnly;
  }
  bool is_free() const { return is_writable() && live == 0 && !metadata && !open; }
};

class Planner {
 public:
  Planner(ZonedDevice& device, Superblock older) : device_(device), block_(device.geometry().block_size) {
    plan_.older = std::move(older);
  }

  Result<UpgradePlan> Run() {
    ZENFS_RETURN_IF_ERROR(ReadOlder());
    ZENFS_RETURN_IF_ERROR(LookAtZones());
    MakeEdits();
    ZENFS_RETURN_IF_ERROR(ChooseMetadataZones());
    ZENFS_RETURN_IF_ERROR(PlaceRewritten());
    ChooseResets();
    return std::move(plan_);
  }

 private:
  Status ReadOlder() {
    OlderLog log(device_, plan_.older);
    ZENFS_RETURN_IF_ERROR(log.Read());
    older_ = log.replayed().state;
    open_zones_ = log.open_zones();
    plan_.older_log = log.replayed().chain.front();
    plan_.older_sequence = static_cast<std::uint32_t>(log.replayed().generation);
    for (const OlderFlaw& flaw : log.flaws()) {
      if (flaw.loss) plan_.losses.Add(flaw.text);
    }
    return {};
  }

  Status LookAtZones() {
    ZENFS_ASSIGN_OR_RETURN(const std::vector<ZoneInfo> report, ReportAll(device_));
    for (const ZoneInfo& info : report) zones_.push_back({.info = info});
    for (const ZoneId zone : plan_.older.metadata_zones) zones_[zone.value].metadata = true;
    for (const ZoneId zone : open_zones_) zones_[zone.value].open = true;
    plan_.older_log_bytes = zones_[plan_.older_log.value].info.WrittenBytes();
    for (const auto& [id, file] : older_.files()) {
      for (const Extent& extent : file->extents) {
        ZoneUse& zone = zones_[device_.geometry().ZoneOf(extent.place).value];
        zone.live += extent.length;
        const std::uint64_t end = extent.place + extent.length - zone.info.start;
        if (zone.info.condition == ZoneCondition::kOffline || end <= zone.info.WrittenBytes()) continue;
        return Fail(
            Code::kCorruption,
            fmt::format("{}: {} has bytes up to byte {} of zone {}, but only {} are written there; copy the "
                        "other files with zenfs backup, and restore them to a new file system",
                        device_.name(), NameOf(id), end, zone.info.id.value, zone.info.WrittenBytes()));
      }
    }
    return {};
  }

  std::string NameOf(FileId file) const {
    for (const auto& [id, directory] : older_.directories()) {
      for (const auto& [name, entry] : directory.entries) {
        if (entry == file) return name;
      }
    }
    return fmt::format("file {}", file.value);
  }

  // --- the new state ---

  // In the order of the tree, with numbers from 2 on: the older ZenFS has none for directories.
  void MakeEdits() {
    const std::uint64_t now = WallSeconds();
    struct Known {
      FileId id;  // there
      FileId now;
      std::string path;
    };
    std::deque<Known> directories{{kRootDirectory, kRootDirectory, ""}};
    std::unordered_map<FileId, FileId> files;
    std::uint64_t next = kRootDirectory.value + 1;
    for (; !directories.empty(); directories.pop_front()) {
      const Known& at = directories.front();
      for (const auto& [name, id] : older_.FindDirectory(at.id)->entries) {
        std::string path = at.path + "/" + name;
        if (older_.FindDirectory(id) != nullptr) {
          const FileId made(next++);
          plan_.edits.emplace_back(
              CreateDirectory{.id = made, .parent = at.now, .name = name, .mtime_seconds = now});
          directories.push_back({id, made, std::move(path)});
          ++plan_.directories;
          continue;
        }
        const auto [known, is_new] = files.try_emplace(id, FileId(next));
        if (is_new) AddFile(*older_.FindFile(id), FileId(next++), path);
        plan_.edits.emplace_back(LinkFile{.parent = at.now, .name = name, .id = known->second});
      }
    }
    plan_.edits.emplace_back(RaiseCounters{.next_id = next});
  }

  void AddFile(const FileRecord& file, FileId id, const std::string& path) {
    ++plan_.files;
    plan_.edits.emplace_back(
        CreateFile{.id = id, .lifetime = file.lifetime, .mtime_seconds = file.mtime_seconds});
    if (file.extents.empty()) return;
    SetExtents made{.id = id, .size = file.size, .mtime_seconds = file.mtime_seconds};
    std::uint64_t stays = 0;  // bytes
    for (const Extent& extent : file.extents) {
      if (!IsMultiple(extent.file_offset, block_) || !IsMultiple(extent.place.value, block_)) break;
      made.extents.push_back(extent);
      stays = extent.end();
    }
    if (stays != file.size) {
      stays = RoundDown(stays, block_);  // the rest must begin on a block of the file
      while (!made.extents.empty() && made.extents.back().end() > stays) {
        Extent& last = made.extents.back();
        if (last.file_offset >= stays) {
          made.extents.pop_back();
        } else {
          last.length = stays - last.file_offset;
        }
      }
      plan_.rewritten.push_back(
          {.path = path, .edit = plan_.edits.size(), .first = made.extents.size(), .sources = file.extents});
      // Stands for those that PlaceRewritten makes.
      made.extents.push_back(
          {.file_offset = stays, .place = file.extents.front().place, .length = file.size - stays});
    }
    plan_.staying_bytes += stays;
    plan_.rewritten_bytes += file.size - stays;
    plan_.edits.emplace_back(std::move(made));
  }

  // --- where the metadata goes ---

  Status ChooseMetadataZones() {
    const Geometry& geometry = device_.geometry();
    ZENFS_RETURN_IF_ERROR(MeasureSnapshot());
    std::vector<ZoneInfo> usable;
    std::vector<ZoneId> candidates;  // those of the older volume first
    std::uint64_t smallest = geometry.zone_size;
    std::size_t sequential = 0;
    for (const ZoneUse& zone : zones_) {
      if (zone.is_writable()) usable.push_back(zone.info);
      if (zone.info.type == ZoneType::kConventional || sequential++ >= kMaxMetadataZones) continue;
      if (!zone.is_writable() || (!zone.metadata && !zone.is_free())) continue;
      candidates.push_back(zone.info.id);
      smallest = std::min(smallest, zone.info.capacity);
    }
    if (const auto zone = FindUnresettable()) {
      return Fail(
          Code::kReadOnly,
          fmt::format(
              "{}: zone {}, which holds the older metadata, can't be reset; copy the files with zenfs "
              "backup, and restore them to a new file system",
              device_.name(), zone->value));
    }
    const MetazoneLayout layout(block_);
    const auto space = [&](std::uint32_t zones, std::uint32_t copies) {
      return MetalogSpace{.zone_bytes = smallest - std::min(smallest, layout.frames_at),
                          .zones = zones,
                          .block_size = block_,
                          .copies = copies,
                          .may_grow = true};
    };
    // Room for the snapshot; comfortable, if the next commits need no more zones.
    const auto fewest = [&](std::uint32_t copies, bool comfortable) {
      std::uint32_t zones = 2 * copies + 1;
      for (; zones <= kMaxMetadataZones; ++zones) {
        const MetalogSpace room = space(zones, copies);
        const std::uint64_t limit = room.SnapshotLimit(Growth::kGrows);
        if (comfortable ? room.ZonesNeeded(plan_.snapshot_bytes, 0) == 0
                        : plan_.snapshot_bytes + std::min(kRoomForCommits, limit / 2) <= limit)
          break;
      }
      return zones;
    };
    const MetadataPlan preferred = PlanMetadata(geometry, usable);
    plan_.copies = preferred.copies;
    plan_.why_one_copy = preferred.why_one_copy;
    if (plan_.copies == 2 && candidates.size() < fewest(2, false)) {
      plan_.why_one_copy = fmt::format("two copies take {} zones, and {} of the first {} are free",
                                       fewest(2, false), candidates.size(), kMaxMetadataZones);
      plan_.copies = 1;
    }
    if (candidates.size() < fewest(1, false)) {
      return NoRoom(fmt::format("its metadata needs {} among the first {}", Counted(fewest(1, false), "zone"),
                                kMaxMetadataZones),
                    (fewest(1, false) - candidates.size()) * geometry.zone_size, kMaxMetadataZones);
    }
    const std::uint32_t usual =
        plan_.copies == preferred.copies ? preferred.zones : (preferred.zones - 1) / 2 + 1;
    const auto count = std::min<std::size_t>(
        {std::max(usual, fewest(plan_.copies, true)), candidates.size(), kMaxMetadataZones});
    candidates.resize(count);
    KeepOlder(candidates, count / 2);
    MakeSuperblock(std::move(candidates));
    return {};
  }

  // A zone with a superblock of the older ZenFS that would stay: it would count after the switch.
  std::optional<ZoneId> FindUnresettable() {
    for (const ZoneId zone : plan_.older.metadata_zones) {
      const ZoneInfo& info = zones_[zone.value].info;
      if (info.condition == ZoneCondition::kReadOnly && OlderSequences(device_, {info}).front()) return zone;
    }
    return std::nullopt;
  }

  Status MeasureSnapshot() {
    State state;
    ZENFS_RETURN_IF_ERROR(state.Apply(plan_.edits));
    // A rewritten part may take more extents than it has now, one for each zone that it touches.
    plan_.snapshot_bytes = Footprint(state).bytes() + 64 * plan_.rewritten.size();
    return {};
  }

  // All zones of the older volume, if the new generation, of at most `generation_zones`, has enough others; else the one that counts and one that an undo needs.
  void KeepOlder(const std::vector<ZoneId>& chosen, std::uint64_t generation_zones) {
    std::vector<ZoneId> older;
    for (const ZoneId zone : chosen) {
      if (zones_[zone.value].metadata) older.push_back(zone);
    }
    if (chosen.size() - older.size() < generation_zones) {
      std::erase(older, plan_.older_log);
      older.resize(std::min<std::size_t>(older.size(), 1));
      older.push_back(plan_.older_log);
    }
    std::ranges::sort(older);
    plan_.keep = std::move(older);
  }

  void MakeSuperblock(std::vector<ZoneId> zones) {
    const Geometry& geometry = device_.geometry();
    plan_.superblock = {.uuid = plan_.older.uuid,
                        .seed = Uuid::Generate(),
                        .created_seconds = WallSeconds(),
                        .block_size = geometry.block_size,
                        .zone_size = geometry.zone_size,
                        .zone_count = geometry.zone_count,
                        .compatible = kWasOlder,
                        .incompatible = kMoreMetadataZones,
                        .finish_threshold_percent = plan_.older.finish_threshold_percent,
                        .metadata_zones = std::move(zones),
                        .made_by = "ZenFS " ZENFS_VERSION};
    if (plan_.copies == 2) plan_.superblock.incompatible |= kTwoMetadataCopies;
  }

  // --- where the parts go that are written anew ---

  Status PlaceRewritten() {
    std::vector<ZoneInfo> free;
    for (const ZoneUse& zone : zones_) {
      if (zone.is_free() && !IsMetadata(zone.info.id)) free.push_back(zone.info);
    }
    // Empty ones first, and away from the metadata: the first zones are the only ones where more metadata can begin.
    std::ranges::sort(free, std::ranges::greater(), [](const ZoneInfo& zone) {
      return std::pair(zone.condition == ZoneCondition::kEmpty, zone.id);
    });
    auto at = free.begin();
    std::uint64_t used = 0;  // of *at
    for (RewrittenPart& part : plan_.rewritten) {
      auto& made = std::get<SetExtents>(plan_.edits[part.edit]);
      made.extents.resize(part.first);
      std::uint64_t from = made.extents.empty() ? 0 : made.extents.back().end();
      while (from < made.size) {
        if (at != free.end() && used == at->capacity) {
          ++at;
          used = 0;
        }
        if (at == free.end()) return NoRoomForRewritten(free);
        const std::uint64_t length = std::min(made.size - from, at->capacity - used);
        made.extents.push_back({.file_offset = from, .place = at->start + used, .length = length});
        used += RoundUp(length, block_);
        from += length;
      }
    }
    if (used != 0) ++at;
    written_ = {free.begin(), at};
    const auto space = SpaceOptions(device_.geometry(), plan_.superblock.metadata_zones);
    plan_.wanted_empty = space.log.least + space.headroom;
    plan_.empty_after = static_cast<std::uint32_t>(free.size() - written_.size());
    return {};
  }

  Status NoRoomForRewritten(const std::vector<ZoneInfo>& free) const {
    std::uint64_t room = 0;
    for (const ZoneInfo& zone : free) room += zone.capacity;
    std::uint64_t needed = 0;
    for (const RewrittenPart& part : plan_.rewritten) {
      const auto& made = std::get<SetExtents>(plan_.edits[part.edit]);
      const std::uint64_t stays = part.first == 0 ? 0 : made.extents[part.first - 1].end();
      needed += RoundUp(made.size - stays, block_);
    }
    return NoRoom(
        fmt::format("{} of {} are written anew", ShortBytes(needed), Counted(plan_.rewritten.size(), "file")),
        needed - std::min(needed, room), zones_.size());
  }

  // `among`: the first so many sequential zones, one of which must become empty.
  Status NoRoom(const std::string& why, std::uint64_t missing, std::size_t among) const {
    const ZoneUse* least = nullptr;
    std::size_t sequential = 0;
    for (const ZoneUse& zone : zones_) {
      if (zone.info.type == ZoneType::kConventional || sequential++ >= among) continue;
      if (!zone.is_writable() || zone.metadata || zone.is_free()) continue;
      if (least == nullptr || zone.live < least->live) least = &zone;
    }
    std::string advice = "delete files with the older ZenFS";
    if (least != nullptr) {
      advice = fmt::format(
          "zone {} has the fewest live bytes, {} of {}: copy them with zenfs backup and delete them with "
          "the older ZenFS",
          least->info.id.value, ShortBytes(least->live), NamesIn(least->info.id));
    }
    return Fail(Code::kNoSpace,
                fmt::format("{}: no room for the upgrade: {}, and {} of empty zones are missing; {}",
                            device_.name(), why, ShortBytes(missing), advice));
  }

  std::string NamesIn(ZoneId zone) const {
    constexpr std::size_t kMostNames = 3;
    std::vector<std::string> names;
    std::size_t others = 0;
    for (const auto& [id, directory] : older_.directories()) {
      for (const auto& [name, entry] : directory.entries) {
        const auto file = older_.FindFile(entry);
        const auto is_there = [&](const Extent& extent) {
          return device_.geometry().ZoneOf(extent.place) == zone;
        };
        if (!file || std::ranges::none_of(file->extents, is_there)) continue;
        names.push_back(name);
      }
    }
    std::ranges::sort(names);
    if (names.size() > kMostNames) {
      others = names.size() - kMostNames;
      names.resize(kMostNames);
    }
    if (names.empty()) return "a file that was open";
    return fmt::format("{}{}", fmt::join(names, ", "),
                       others == 0 ? "" : fmt::format(" and {} more", others));
  }

  // --- what happens to zones before anything is written ---

  // What an interrupted upgrade has left in places of metadata must go before new metadata is written, because a probe would find it.
  void ChooseResets() {
    std::size_t sequential = 0;
    for (const ZoneUse& zone : zones_) {
      if (zone.info.type == ZoneType::kConventional) continue;
      const bool may_be_metadata = sequential++ < kMaxMetadataZones;
      if (IsActive(zone.info.condition) && !zone.open && !zone.metadata && zone.live != 0)
        plan_.may_finish.push_back(zone.info.id);
      if (zone.info.condition == ZoneCondition::kEmpty || !zone.is_free()) continue;
      const bool is_written = std::ranges::find(written_, zone.info.id, &ZoneInfo::id) != written_.end();
      if (may_be_metadata || is_written || IsActive(zone.info.condition))
        plan_.resets.push_back(zone.info.id);
    }
    std::ranges::sort(plan_.may_finish, std::ranges::greater(),
                      [&](ZoneId zone) { return zones_[zone.value].info.WrittenBytes(); });
  }

  bool IsMetadata(ZoneId zone) const {
    return std::ranges::find(plan_.superblock.metadata_zones, zone) != plan_.superblock.metadata_zones.end();
  }

  ZonedDevice& device_;
  const std::uint32_t block_;
  UpgradePlan plan_;
  State older_;
  std::set<ZoneId> open_zones_;
  std::vector<ZoneUse> zones_;     // by number
  std::vector<ZoneInfo> written_;  // of what is written anew
};

Result<UpgradePlan> PlanFor(ZonedDevice& device) {
  ZENFS_ASSIGN_OR_RETURN(Superblock found, ProbeReadable(device));
  if (!found.is_older())
    return Fail(Code::kExists,
                fmt::format("{}: the volume has format {} already", device.name(), found.version));
  ZENFS_RETURN_IF_ERROR(PlanSlots(device.geometry(), device.name()));
  return Planner(device, std::move(found)).Run();
}

}  // namespace

Result<UpgradePlan> PlanUpgrade(ZonedDevice& device) {
  const std::unique_ptr<ZonedDevice> guarded = GuardDevice(device);
  Result<UpgradePlan> plan = PlanFor(*guarded);
  ZENFS_RETURN_IF_ERROR(PresenceMark::AtOpen().Check(*guarded));
  return plan;
}

}  // namespace zenfs
