#include "repair/repair.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "base/assert.h"
#include "base/clock.h"
#include "base/counted.h"
#include "buffers/buffer_area_place.h"
#include "device/guarded_device.h"
#include "device/presence.h"
#include "metalog/metadata_scan.h"
#include "metalog/metalog.h"
#include "metalog/older_log.h"
#include "metalog/probe.h"
#include "metalog/reconstruct.h"
#include "metalog/replay.h"
#include "metalog/replica.h"
#include "model/state.h"
#include "repair/metadata_file.h"
#include "repair/repair_extents.h"
#include "repair/repair_logs.h"
#include "repair/repair_names.h"
#include "volume/fsck/file_names.h"
#include "volume/pair_proof.h"
#include "zone/zone_limits.h"

namespace zenfs {

// --- PlanRepair: finds the damage, plans the steps, and computes the state of the repaired volume ---

namespace {

// The number of ids and of log-zone generations that lost commits may have used.
constexpr std::uint64_t kLostNumbers = 1 << 20;
// The number of generations that a log switch may have tried to write in a zone that can't be read
// now.
constexpr std::uint64_t kLostGenerations = kMaxMetadataZones + 1;

class Planner {
 public:
  // `corrected`: the zone whose copy of the superblock was corrected, if no copy is valid.
  Planner(ZonedDevice& device, Superblock superblock, std::optional<ZoneId> corrected = std::nullopt)
      : device_(device) {
    plan_.superblock = std::move(superblock);
    if (!corrected) return;
    plan_.steps.Add(
        fmt::format("correct a flipped bit in the superblock in metadata zone {}, byte 0; the log behind it "
                    "proves the correction",
                    corrected->value));
  }

  Result<RepairPlan> Run() {
    ZENFS_ASSIGN_OR_RETURN(const LogFingerprint before, TakeLogFingerprint(device_, plan_.superblock));
    ZENFS_ASSIGN_OR_RETURN(scan_, ScanMetadata(device_, plan_.superblock));
    ZENFS_RETURN_IF_ERROR(MakeDraft());
    ZENFS_RETURN_IF_ERROR(RepairState());
    ZENFS_ASSIGN_OR_RETURN(const LogFingerprint after, TakeLogFingerprint(device_, plan_.superblock));
    if (!SameLog(before, after)) {
      return Fail(Code::kBusy,
                  fmt::format("{}: the volume is being written; unmount it before a repair", device_.name()));
    }
    if (!plan_.steps.empty()) ZENFS_RETURN_IF_ERROR(PlanGeneration());
    return std::move(plan_);
  }

 private:
  // The replayed state, as large as the draft, is gone when this returns.
  Status MakeDraft() {
    const Result<Replayed> replayed = Replay(device_, plan_.superblock);
    if (!replayed && replayed.error().code() != Code::kCorruption) return Fail(replayed.error());
    if (!replayed) return PlanForDamaged(replayed.error());
    PlanForReplayed(*replayed);
    return {};
  }

  void PlanForReplayed(const Replayed& replayed) {
    draft_ = StateDraft(replayed.state);
    plan_.sequence = replayed.sequence;
    plan_.keep = replayed.chain;
    if (replayed.doubt) {
      lossy_ = true;
      plan_.steps.Add(
          fmt::format("continue from commit {} of generation {}: a switch of the metadata log had begun, and "
                      "commits after it, if any, are in a zone that is offline or can't be read now",
                      replayed.sequence, replayed.generation));
    } else if (scan_.EndsInSwitch(replayed.generation)) {
      lossy_ = true;
      plan_.steps.Add(fmt::format(
          "continue from commit {} of generation {}: a switch of the metadata log had begun, and no "
          "next generation is complete: it was never completed, or it is lost",
          replayed.sequence, replayed.generation));
    }
    for (const MetadataFlaw& flaw : scan_.flaws) {
      const auto in_use = [&](ZoneId zone) {
        return std::ranges::find(replayed.chain, zone) != replayed.chain.end();
      };
      if (flaw.whole_in && in_use(*flaw.whole_in)) {
        plan_.steps.Add(fmt::format("write both copies of the metadata log anew: {}", FlawText(flaw)));
        continue;
      }
      if (!in_use(flaw.zone)) continue;
      if (flaw.kind == MetadataFlaw::Kind::kTail) {
        lossy_ = true;
        plan_.steps.Add(
            fmt::format("treat commit {} as the last one: {}", replayed.sequence, FlawText(flaw)));
      } else if (flaw.kind == MetadataFlaw::Kind::kSuperblock) {
        plan_.steps.Add(fmt::format("rewrite all copies of the superblock: {}", FlawText(flaw)));
      }
    }
  }

  Status PlanForDamaged(const Error& error) {
    ZENFS_ASSIGN_OR_RETURN(Reconstructed found, Reconstruct(device_, plan_.superblock, scan_));
    lossy_ = found.lossy();
    plan_.sequence = found.sequence;
    plan_.keep = found.sources;
    plan_.steps.Add(
        fmt::format("rebuild the metadata log ({}): {}", error.ToString(), ReconstructionText(found)));
    for (const std::string& misfit : found.misfits) {
      plan_.steps.Add(fmt::format("leave out what depends on the lost commits: {}", misfit));
    }
    if (found.misfits.omitted() != 0) {
      plan_.steps.Add(fmt::format("leave out {} that depend on the lost commits",
                                  Counted(found.misfits.omitted(), "other change")));
    }
    draft_ = std::move(found.draft);
    return {};
  }

  // The frames on a wrong log device would be taken for all there are. But if the main device is the older one, its last commits
  // may be lost, and a repair is how to go on without them.
  Status RepairPair() {
    ZENFS_ASSIGN_OR_RETURN(const std::optional<PairRecord> logs, PairRecordOf(device_));
    const PairClaim main{.key = draft_.pair_key, .epoch = draft_.epoch};
    const PairVerdict verdict = JudgePair(main, logs);
    if (verdict == PairVerdict::kTogether) return {};
    if (verdict != PairVerdict::kMainOlder) return PairRefusal(device_, main, logs, verdict);
    lossy_ = true;
    plan_.steps.Add(fmt::format(
        "pair {} with {} again: the commit that began mount {} is lost, and all later ones; do this "
        "only if no newer copy of the main device exists",
        device_.parts().main->name(), device_.parts().logs->name(), logs->epoch));
    draft_.pair_key = logs->key;
    last_epoch_ = logs->epoch;
    return {};
  }

  Status RepairState() {
    ZENFS_RETURN_IF_ERROR(RepairPair());
    const Geometry& geometry = device_.geometry();
    ZENFS_ASSIGN_OR_RETURN(const std::vector<ZoneInfo> report, ReportAll(device_));
    const std::vector<ZoneId> metadata_zones = MetadataZones(device_, plan_.superblock);
    LogFrames frames = ScanLogs(draft_, device_, plan_.superblock.seed, report, metadata_zones);
    lossy_ = lossy_ || frames.epoch_check.SawBehind(draft_.epoch);
    if (lossy_) {
      draft_.next_id += kLostNumbers;
      draft_.next_generation += kLostNumbers;
    }
    const FileNames names([this](FileId id) -> const Directory* {
      const auto found = draft_.directories.find(id);
      return found == draft_.directories.end() ? nullptr : &found->second;
    });
    RepairNames(draft_, plan_.steps);
    if (!draft_.buffers.place.empty() && !BufferAreaPlace::Parse(draft_.buffers.place)) {
      plan_.steps.Add(
          fmt::format("remove the recorded place of the last mount's append buffers, because \"{}\" is not a "
                      "valid one",
                      draft_.buffers.place));
      draft_.buffers = {};
    }
    RepairExtents(draft_, {.geometry = geometry, .report = report, .metadata_zones = metadata_zones}, names,
                  plan_.steps);
    RepairLogs(draft_, std::move(frames),
               {.names = names, .commits_are_lost = lossy_, .last_epoch = last_epoch_}, plan_.steps,
               plan_.losses);
    NameLostExtents(report, names);
    if (lossy_) RescueOrphans(draft_, device_, report, metadata_zones, plan_.steps);
    Result<State> state = draft_.ToState();
    if (!state) return Fail(state.error().With(device_.name() + ": the metadata can't be repaired"));
    plan_.state = *std::move(state);
    draft_ = {};
    return {};
  }

  void NameLostExtents(const std::vector<ZoneInfo>& report, const FileNames& names) {
    for (const auto& [id, file] : draft_.files) {
      for (const Extent& extent : file.extents) {
        const ZoneId zone = device_.geometry().ZoneOf(extent.place);
        if (report[zone.value].condition != ZoneCondition::kOffline) continue;
        plan_.losses.Add([&] {
          return fmt::format("{}: bytes {} to {} are lost: zone {} is offline; the file stays as it is",
                             names.Describe(id), extent.file_offset, extent.end(), zone.value);
        });
      }
    }
  }

  Status PlanGeneration() {
    plan_.highest_sequence = std::max(scan_.HighestSequence(), plan_.sequence);
    // Above every earlier commit, so that no old commit is replayed after the snapshot.
    plan_.sequence = plan_.highest_sequence + 1;
    const bool unread = std::ranges::any_of(scan_.flaws, [](const MetadataFlaw& flaw) {
      return flaw.kind == MetadataFlaw::Kind::kOffline || flaw.generation == 0;
    });
    plan_.generation = scan_.HighestGeneration() + 1 + (unread ? kLostGenerations : 0);
    if (std::max(plan_.sequence, plan_.generation) >= kCredibleEnd) {
      return Fail(Code::kCorruption,
                  fmt::format("{}: the metadata log claims generation {} and commit {}, numbers that no "
                              "writer reaches; restore from a backup",
                              device_.name(), scan_.HighestGeneration(), plan_.highest_sequence));
    }
    if (const auto flaw = FindNumberFrom(plan_.state, kStateNumbersStart)) {
      return Fail(Code::kCorruption,
                  fmt::format("{}: {}; restore from a backup", device_.name(), flaw->text));
    }
    ZENFS_ASSIGN_OR_RETURN(plan_.copy_bytes, MetadataFileBytes(device_, plan_.superblock));
    ZENFS_RETURN_IF_ERROR(KeepASuperblock());
    std::uint64_t room = 0;
    for (const ZoneInfo& zone : scan_.zones) {
      const bool kept = std::ranges::find(plan_.keep, zone.id) != plan_.keep.end();
      const bool bad =
          zone.condition == ZoneCondition::kOffline || zone.condition == ZoneCondition::kReadOnly;
      if (!kept && !bad) room += zone.capacity;
    }
    const std::uint64_t slack = std::uint64_t{32} * device_.geometry().block_size;
    plan_.in_place = room < Footprint(plan_.state).bytes() + slack;
    if (plan_.in_place) {
      plan_.keep.clear();
      plan_.steps.Add(
          "reset the metadata zones with the present metadata first, because the others have no room for the "
          "new metadata: until the repair ends, the copy on the host is the only one, and --undo-repair "
          "restores it");
    }
    plan_.steps.Add(
        fmt::format("write {} and {} as generation {} of the metadata log, then once more as the next one, "
                    "each with a copy of the superblock, and reset all other metadata zones",
                    Counted(plan_.state.files().size(), "file"),
                    Counted(plan_.state.directories().size(), "directory", "directories"), plan_.generation));
    return {};
  }

  // A crash in the middle must leave a superblock.
  Status KeepASuperblock() {
    ZENFS_ASSIGN_OR_RETURN(const std::vector<SuperblockCopy> copies, ScanSuperblocks(device_));
    std::vector<ZoneId> valid;
    for (const SuperblockCopy& copy : copies) {
      const bool ours = copy.superblock && copy.superblock->uuid == plan_.superblock.uuid &&
                        std::ranges::find(plan_.superblock.metadata_zones, copy.zone) !=
                            plan_.superblock.metadata_zones.end();
      if (ours) valid.push_back(copy.zone);
    }
    const bool has_one = std::ranges::any_of(
        valid, [&](ZoneId zone) { return std::ranges::find(plan_.keep, zone) != plan_.keep.end(); });
    if (!has_one && !valid.empty()) plan_.keep.push_back(valid.back());
    std::ranges::sort(plan_.keep);
    return {};
  }

  ZonedDevice& device_;
  MetadataScan scan_;
  StateDraft draft_;
  bool lossy_ = false;            // commits are or may be lost
  std::uint64_t last_epoch_ = 0;  // of the last mount that the second device knows; 0: not needed
  RepairPlan plan_;
};

Result<RepairPlan> PlanFor(ZonedDevice& device) {
  ZENFS_RETURN_IF_ERROR(PlanSlots(device.geometry(), device.name()));
  Result<Superblock> superblock = ProbeSuperblock(device);
  if (!superblock) {
    const Code code = superblock.error().code();
    if (code != Code::kCorruption && code != Code::kIo) return Fail(superblock.error());
    // A superblock with one flipped bit can be corrected, and is then as good as a valid one.
    Result<SuperblockCopy> corrected = CorrectedSuperblock(device);
    if (corrected) {
      ZENFS_RETURN_IF_ERROR(CheckWritable(*corrected->superblock));
      return Planner(device, *std::move(corrected->superblock), corrected->zone).Run();
    }
    return Fail(Code::kCorruption, fmt::format("{}: no copy of the superblock is valid, and nothing can be "
                                               "rebuilt without one; restore from a backup ({})",
                                               device.name(), superblock.error().ToString()));
  }
  ZENFS_RETURN_IF_ERROR(CheckWritable(*superblock));
  ZENFS_RETURN_IF_ERROR(CheckNotBeingUndone(device, *superblock));
  return Planner(device, *std::move(superblock)).Run();
}

}  // namespace

Result<RepairPlan> PlanRepair(ZonedDevice& device) {
  // A read that fails once is not damage, and a device that is gone is not a damaged volume.
  const std::unique_ptr<ZonedDevice> guarded = GuardDevice(device);
  Result<RepairPlan> plan = PlanFor(*guarded);
  ZENFS_RETURN_IF_ERROR(PresenceMark::AtOpen().Check(*guarded));
  return plan;
}

// --- CarryOut ---

namespace {

Status CarryOutOn(ZonedDevice& device, const RepairPlan& plan, const std::string& save_to) {
  ZENFS_RETURN_IF_ERROR(SaveMetadata(device, plan.superblock,
                                     {.made_seconds = WallSeconds(),
                                      .highest_sequence = plan.highest_sequence,
                                      .next_generation = plan.generation,
                                      .repaired_sequence = plan.sequence},
                                     save_to));
  if (plan.superblock.was_older() && plan.state.epoch() == 0)
    ZENFS_RETURN_IF_ERROR(WipeOlderPlaces(device, plan.keep));
  ZENFS_RETURN_IF_ERROR(
      Metalog::Rebuild(device, plan.superblock, plan.state,
                       {.generation = plan.generation, .sequence = plan.sequence, .keep = plan.keep}));
  // From here on the volume is repaired. A second log switch resets every other zone, damaged ones
  // too, and leaves a second generation to fall back to.
  ZENFS_ASSIGN_OR_RETURN(const std::unique_ptr<Metalog> log, Metalog::Open(device, plan.superblock));
  const Status switched = log->Switch();
  log->Stop();
  // With too few zones for a second generation the volume is still sound, if the flush succeeds.
  if (!switched.ok() && switched.error().code() == Code::kNoSpace) return device.Flush();
  return switched;
}

}  // namespace

Status CarryOut(ZonedDevice& device, const RepairPlan& plan, const std::string& save_to) {
  if (device.mode() != OpenMode::kExclusive) {
    return Fail(Code::kReadOnly, fmt::format("{} is open for reading only", device.name()));
  }
  if (plan.nothing_to_do()) return {};
  // Above all that the device has, so that nothing old is replayed after the new state.
  ZENFS_ASSERT(plan.generation != 0 && plan.sequence > plan.highest_sequence);
  const std::unique_ptr<ZonedDevice> guarded = GuardDevice(device);
  return CarryOutOn(*guarded, plan, save_to);
}

// --- UndoRepair: restores the metadata zones from the copy on the host ---

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
