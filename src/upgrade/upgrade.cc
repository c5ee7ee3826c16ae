#include "upgrade/upgrade.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "base/aligned_buffer.h"
#include "base/assert.h"
#include "base/clock.h"
#include "base/crc32c.h"
#include "device/flush_mark.h"
#include "device/guarded_device.h"
#include "device/presence.h"
#include "file/extent_reader.h"
#include "format/older_format.h"
#include "metalog/metalog.h"
#include "metalog/older_log.h"
#include "metalog/probe.h"
#include "metalog/replay.h"
#include "repair/metadata_file.h"

namespace zenfs {
namespace {

constexpr std::uint64_t kPieceBytes = 1 << 20;
// The new state is as of this commit; commit 0 is an empty volume.
constexpr std::uint64_t kFirstSequence = 1;
constexpr std::uint64_t kFirstGeneration = 1;

bool Contains(std::span<const ZoneId> zones, ZoneId zone) {
  return std::ranges::find(zones, zone) != zones.end();
}

Status CheckExclusive(const ZonedDevice& device) {
  if (device.mode() == OpenMode::kExclusive) return {};
  return Fail(Code::kReadOnly, fmt::format("{} is open for reading only", device.name()));
}

bool IsBad(ZoneCondition condition) {
  return condition == ZoneCondition::kOffline || condition == ZoneCondition::kReadOnly;
}

// Resets and flushes, unless the zone is empty or can't be written any more.
Status MakeEmpty(ZonedDevice& device, ZoneId zone) {
  ZENFS_ASSIGN_OR_RETURN(const ZoneInfo info, device.ReportZone(zone));
  if (info.condition == ZoneCondition::kEmpty || IsBad(info.condition)) return {};
  if (Status reset = device.Reset(zone); !reset.ok())
    return Fail(reset.error().With(fmt::format("zone {}", zone.value)));
  return FlushDevice(device);
}

}  // namespace

// --- CarryOutUpgrade ---

namespace {

class Upgrader {
 public:
  Upgrader(ZonedDevice& device, UpgradePlan plan, const UpgradeProgress& progress)
      : device_(device), plan_(std::move(plan)), block_(device.geometry().block_size), progress_(progress) {}

  Status Run(const std::string& save_to) {
    // What was just read may be in the device's cache only, and the new metadata relies on it.
    ZENFS_RETURN_IF_ERROR(FlushDevice(device_));
    ZENFS_RETURN_IF_ERROR(SaveMetadata(device_, plan_.older,
                                       {.made_seconds = WallSeconds(),
                                        .highest_sequence = plan_.older_sequence,
                                        .next_generation = kFirstGeneration,
                                        .repaired_sequence = kFirstSequence},
                                       save_to));
    for (const ZoneId zone : plan_.resets) ZENFS_RETURN_IF_ERROR(device_.Reset(zone));
    ZENFS_RETURN_IF_ERROR(FlushDevice(device_));
    for (const ZoneId zone : plan_.older.metadata_zones) {
      if (zone != plan_.older_log) ZENFS_RETURN_IF_ERROR(MakeEmpty(device_, zone));
    }
    ZENFS_RETURN_IF_ERROR(WriteParts());
    ZENFS_RETURN_IF_ERROR(WriteMetadata());
    return MakeEmpty(device_, plan_.older_log);  // the switch
  }

 private:
  // --- data ---

  Status WriteParts() {
    if (plan_.rewritten.empty()) return {};
    ZENFS_RETURN_IF_ERROR(FreeSlots(1));
    const FlushMark mark = FlushMark::Now(device_);
    for (const RewrittenPart& part : plan_.rewritten) {
      for (Extent& extent : NewExtents(part)) {
        if (Status written = Write(part, extent); !written.ok()) return Fail(written.error().With(part.path));
      }
    }
    ZENFS_RETURN_IF_ERROR(FlushWrittenSince(device_, mark));
    for (const RewrittenPart& part : plan_.rewritten) {
      for (const Extent& extent : NewExtents(part)) ZENFS_RETURN_IF_ERROR(Verify(part, extent));
    }
    const ZoneId last = device_.geometry().ZoneOf(NewExtents(plan_.rewritten.back()).back().place);
    plan_.may_finish.push_back(last);  // the last choice, because its room is lost then
    return {};
  }

  std::span<Extent> NewExtents(const RewrittenPart& part) {
    return std::span(std::get<SetExtents>(plan_.edits[part.edit]).extents).subspan(part.first);
  }

  // Copies the bytes of `extent` from where they are, and sets its checksum.
  Status Write(const RewrittenPart& part, Extent& extent) {
    std::uint32_t crc = 0;
    for (std::uint64_t at = 0; at < extent.length; at += kPieceBytes) {
      const std::uint64_t bytes = std::min(kPieceBytes, extent.length - at);
      buffer_.Resize(bytes);
      ZENFS_RETURN_IF_ERROR(ReadExtents(device_, part.sources, extent.file_offset + at, buffer_.Span()));
      crc = Crc32c(buffer_.View(), crc);
      buffer_.Resize(RoundUp(bytes, block_));
      std::ranges::fill(buffer_.Span().subspan(bytes), std::byte{0});
      ZENFS_RETURN_IF_ERROR(device_.Write(extent.place + at, buffer_.View()));
      Advance(bytes);
    }
    extent.crc = crc;
    return {};
  }

  Status Verify(const RewrittenPart& part, const Extent& extent) {
    std::uint32_t crc = 0;
    for (std::uint64_t at = 0; at < extent.length; at += kPieceBytes) {
      const std::uint64_t bytes = std::min(kPieceBytes, extent.length - at);
      buffer_.Resize(RoundUp(bytes, block_));
      ZENFS_RETURN_IF_ERROR(device_.Read(extent.place + at, buffer_.Span()));
      crc = Crc32c(buffer_.View().first(bytes), crc);
      Advance(bytes);
    }
    if (crc == extent.crc) return {};
    return Fail(Code::kCorruption,
                fmt::format("{}: {}: bytes {} to {} read back differently than they were written to zone {}",
                            device_.name(), part.path, extent.file_offset, extent.end(),
                            device_.geometry().ZoneOf(extent.place).value));
  }

  void Advance(std::uint64_t bytes) {
    done_ += bytes;
    if (progress_) progress_(done_, 2 * plan_.rewritten_bytes);
  }

  // Finishes active zones until `count` more may be active.
  Status FreeSlots(std::uint32_t count) {
    const std::uint32_t limit = device_.geometry().max_active;
    if (limit == 0) return {};
    for (;;) {
      ZENFS_ASSIGN_OR_RETURN(const std::vector<ZoneInfo> report, ReportAll(device_));
      const auto active = static_cast<std::uint32_t>(
          std::ranges::count_if(report, [](const ZoneInfo& zone) { return IsActive(zone.condition); }));
      if (active + count <= limit) return {};
      if (plan_.may_finish.empty()) {
        return Fail(
            Code::kBusy,
            fmt::format(
                "{}: {} of {} active zones are in use, and the upgrade needs {}; the others have files "
                "that were open when the older ZenFS ended: mount the volume with it once, and end it "
                "cleanly",
                device_.name(), active, limit, count));
      }
      const ZoneId zone = plan_.may_finish.front();
      plan_.may_finish.erase(plan_.may_finish.begin());
      ZENFS_ASSIGN_OR_RETURN(const ZoneInfo info, device_.ReportZone(zone));
      if (IsActive(info.condition)) ZENFS_RETURN_IF_ERROR(device_.Finish(zone));
    }
  }

  // --- metadata ---

  Status WriteMetadata() {
    ZENFS_RETURN_IF_ERROR(FreeSlots(plan_.copies));
    State state;
    ZENFS_RETURN_IF_ERROR(state.Apply(plan_.edits));
    ZENFS_RETURN_IF_ERROR(Metalog::Rebuild(device_, plan_.superblock, state,
                                           {.generation = kFirstGeneration,
                                            .sequence = kFirstSequence,
                                            .keep = plan_.keep,
                                            .may_finish_kept = false}));
    ZENFS_ASSIGN_OR_RETURN(const Replayed replayed, Replay(device_, plan_.superblock));
    if (replayed.state == state) return {};
    return Fail(
        Code::kCorruption,
        fmt::format("{}: the new metadata reads back differently than it was written", device_.name()));
  }

  ZonedDevice& device_;
  UpgradePlan plan_;
  const std::uint32_t block_;
  const UpgradeProgress& progress_;
  AlignedBuffer buffer_{kPieceBytes};
  std::uint64_t done_ = 0;
};

}  // namespace

Status CarryOutUpgrade(ZonedDevice& device, UpgradePlan plan, const std::string& save_to,
                       const UpgradeProgress& progress) {
  ZENFS_RETURN_IF_ERROR(CheckExclusive(device));
  const std::unique_ptr<ZonedDevice> guarded = GuardDevice(device);
  return Upgrader(*guarded, std::move(plan), progress).Run(save_to);
}

// --- UndoUpgrade ---

namespace {

// What the copy on the host has.
struct SavedLog {
  MetadataCopy copy;
  CopiedZone zone;           // of the older log
  std::uint64_t offset = 0;  // of its bytes in the file
  AlignedBuffer superblock;  // its record, in whole blocks
  Superblock older;
};

Result<SavedLog> ReadSavedLog(const HostFile& file) {
  SavedLog saved;
  ZENFS_ASSIGN_OR_RETURN(saved.copy, VerifyMetadataFile(file));
  saved.offset = kMetadataCopyHeadBytes;
  const std::uint64_t bytes = RoundUp(kOlderSuperblockRecordBytes, saved.copy.block_size);
  saved.superblock = AlignedBuffer(bytes);
  saved.superblock.Resize(bytes);
  for (const CopiedZone& zone : saved.copy.zones) {
    if (zone.bytes >= bytes) {
      ZENFS_ASSIGN_OR_RETURN(const std::size_t got, file.Read(saved.offset, saved.superblock.Span()));
      const auto payload = got == bytes ? ParseOlderRecord(saved.superblock.View()) : std::nullopt;
      const auto found =
          payload ? DecodeOlderSuperblock(*payload) : Result<OlderSuperblock>(Fail(Code::kNotFound, ""));
      if (found && found->sequence == saved.copy.highest_sequence) {
        saved.zone = zone;
        saved.older = found->superblock;
        for (const CopiedZone& each : saved.copy.zones) saved.older.metadata_zones.push_back(each.zone);
        return saved;
      }
    }
    saved.offset += zone.bytes;
  }
  return Fail(Code::kInvalidArgument, fmt::format("{} is not the copy that an upgrade made", file.path()));
}

class Undoer {
 public:
  Undoer(ZonedDevice& device, const HostFile& file, SavedLog saved)
      : device_(device), file_(file), saved_(std::move(saved)) {}

  Status Run() {
    ZENFS_RETURN_IF_ERROR(CheckDevice());
    ZENFS_ASSIGN_OR_RETURN(const Superblock found, ProbeReadable(device_));
    ZENFS_RETURN_IF_ERROR(CheckUuid(found.uuid));
    if (found.is_older()) {  // before the switch of an upgrade, or after that of an undo
      ZENFS_RETURN_IF_ERROR(CheckNotWrittenSince(found));
      return End();
    }
    if (!found.was_older())
      return Fail(Code::kInvalidArgument, fmt::format("{}: the volume was never upgraded", device_.name()));
    ZENFS_ASSIGN_OR_RETURN(Replayed replayed, Replay(device_, found));
    if (replayed.state.epoch() != 0) {
      return Fail(
          Code::kReadOnly,
          fmt::format(
              "{}: the volume was mounted read-write since its upgrade, and may have written where older "
              "files were; it can't be undone",
              device_.name()));
    }
    ZENFS_RETURN_IF_ERROR(LeaveOlderPlaces(found, replayed));
    ZENFS_ASSIGN_OR_RETURN(const ZoneId marker, ChooseMarker(replayed));
    ZENFS_RETURN_IF_ERROR(WriteMarker(marker, found));
    ZENFS_RETURN_IF_ERROR(RestoreLog(found));
    ZENFS_ASSIGN_OR_RETURN(const std::string changed, ChangedFile(replayed.state));
    if (!changed.empty()) {
      ZENFS_RETURN_IF_ERROR(MakeEmpty(device_, saved_.zone.zone));
      ZENFS_RETURN_IF_ERROR(MakeEmpty(device_, marker));
      return Fail(Code::kReadOnly,
                  fmt::format("{}: {} was open when the older ZenFS ended, and its zone was finished since "
                              "the upgrade, so the "
                              "older ZenFS would read more than the file has; nothing was undone",
                              device_.name(), changed));
    }
    ZENFS_RETURN_IF_ERROR(MakeEmpty(device_, marker));  // the switch
    return End();
  }

 private:
  Status CheckDevice() const {
    const Geometry& geometry = device_.geometry();
    const MetadataCopy& copy = saved_.copy;
    if (geometry.block_size == copy.block_size && geometry.zone_size == copy.zone_size &&
        geometry.zone_count == copy.zone_count)
      return {};
    return Fail(
        Code::kInvalidArgument,
        fmt::format("the copy is of a device with another block size, zone size or number of zones than {}",
                    device_.name()));
  }
  Status CheckUuid(const Uuid& uuid) const {
    if (uuid == saved_.copy.uuid) return {};
    return Fail(Code::kInvalidArgument,
                fmt::format("the copy is of volume {}, and {} holds {}", saved_.copy.uuid.ToString(),
                            device_.name(), uuid.ToString()));
  }

  // Each mount of the older program that writes goes on in another zone, with the next sequence. Then its log must not be wiped.
  Status CheckNotWrittenSince(const Superblock& older) const {
    OlderLog log(device_, older);
    ZENFS_RETURN_IF_ERROR(log.Read());
    const Replayed& now = log.replayed();
    if (now.chain.front() == saved_.zone.zone && now.generation == saved_.copy.highest_sequence) return {};
    return Fail(Code::kInvalidArgument,
                fmt::format("{}: the older ZenFS has written to its volume since the copy was made; there is "
                            "nothing to undo, and nothing was changed",
                            device_.name()));
  }

  // A log switch since the upgrade, for checksums, may have moved the new metadata to the place of the older log. Then it moves on.
  Status LeaveOlderPlaces(const Superblock& superblock, Replayed& replayed) {
    if (!Contains(replayed.chain, saved_.zone.zone)) return {};
    std::vector<ZoneId> keep = replayed.chain;
    keep.insert(keep.end(), saved_.older.metadata_zones.begin(), saved_.older.metadata_zones.end());
    ZENFS_RETURN_IF_ERROR(Metalog::Rebuild(device_, superblock, replayed.state,
                                           {.generation = replayed.highest_generation + 1,
                                            .sequence = replayed.sequence + 1,
                                            .keep = std::move(keep),
                                            .may_finish_kept = false}));
    ZENFS_ASSIGN_OR_RETURN(replayed, Replay(device_, superblock));
    return {};
  }

  // One that has the marker already, or another place of the older metadata that the new metadata does not use.
  Result<ZoneId> ChooseMarker(const Replayed& replayed) {
    std::vector<ZoneInfo> zones;
    for (const ZoneId zone : saved_.older.metadata_zones) {
      if (zone == saved_.zone.zone || Contains(replayed.chain, zone) || Contains(replayed.tail, zone))
        continue;
      ZENFS_ASSIGN_OR_RETURN(zones.emplace_back(), device_.ReportZone(zone));
      if (IsBad(zones.back().condition)) zones.pop_back();
    }
    if (zones.empty()) {
      return Fail(Code::kNoSpace,
                  fmt::format("{}: no place of the older metadata is free for the undo; copy the files "
                              "with zenfs backup",
                              device_.name()));
    }
    const auto sequences = OlderSequences(device_, zones);
    const auto marked = std::ranges::find(sequences, std::optional(kOlderUndoSequence));
    return zones[marked == sequences.end() ? 0 : static_cast<std::size_t>(marked - sequences.begin())].id;
  }

  Status WriteMarker(ZoneId zone, const Superblock& superblock) {
    ZENFS_ASSIGN_OR_RETURN(const ZoneInfo info, device_.ReportZone(zone));
    const std::size_t bytes = saved_.superblock.size() + device_.geometry().block_size;
    const bool is_there = OlderSequences(device_, {info}).front() == kOlderUndoSequence;
    if (is_there && info.WrittenBytes() >= bytes) return FlushDevice(device_);
    ZENFS_RETURN_IF_ERROR(MakeEmpty(device_, zone));
    SetOlderSequence(saved_.superblock.Span(), kOlderUndoSequence);
    AlignedBuffer invalid(device_.geometry().block_size);
    invalid.Resize(device_.geometry().block_size);
    std::ranges::fill(invalid.Span(), std::byte{0});
    const auto put = [&](DeviceOffset place, ByteView blocks) -> Status {
      ZENFS_RETURN_IF_ERROR(WithSlots(superblock, [&] { return device_.Write(place, blocks); }));
      return FlushDevice(device_);
    };
    // A torn write may return what was there before the reset: an older log. Its superblock goes first.
    const DeviceOffset behind = info.start + saved_.superblock.size();
    AlignedBuffer zeros(saved_.superblock.size());
    zeros.Resize(saved_.superblock.size());
    std::ranges::fill(zeros.Span(), std::byte{0});
    ZENFS_RETURN_IF_ERROR(put(info.start, zeros.View()));
    ZENFS_RETURN_IF_ERROR(put(behind, invalid.View()));
    ZENFS_RETURN_IF_ERROR(MakeEmpty(device_, zone));
    SetInvalidOlderRecord(invalid.Span());
    ZENFS_RETURN_IF_ERROR(put(info.start, saved_.superblock.View()));
    return put(behind, invalid.View());
  }

  Status RestoreLog(const Superblock& superblock) {
    ZENFS_RETURN_IF_ERROR(
        WithSlots(superblock, [&] { return RestoreZone(device_, saved_.zone, file_, saved_.offset); }));
    return FlushDevice(device_);
  }

  // The path of a file that the restored log gives another size than `upgraded` has; empty if there is none.
  Result<std::string> ChangedFile(const State& upgraded) {
    ZENFS_ASSIGN_OR_RETURN(const ZoneInfo info, device_.ReportZone(saved_.zone.zone));
    OlderLog log(device_, saved_.older);
    ZENFS_RETURN_IF_ERROR(log.Read({info}));
    const auto older = SizesByPath(log.replayed().state);
    for (const auto& [path, size] : SizesByPath(upgraded)) {
      const auto found = older.find(path);
      if (found == older.end() || found->second != size) return path;
    }
    return std::string();
  }

  static std::map<std::string, std::uint64_t> SizesByPath(const State& state) {
    std::map<std::string, std::uint64_t> sizes;
    std::deque<std::pair<FileId, std::string>> directories{{kRootDirectory, ""}};
    for (; !directories.empty(); directories.pop_front()) {
      const auto& [directory, path] = directories.front();
      for (const auto& [name, id] : state.FindDirectory(directory)->entries) {
        const auto file = state.FindFile(id);
        if (file == nullptr) {
          directories.emplace_back(id, path + "/" + name);
        } else {
          sizes.emplace(path + "/" + name, file->size);
        }
      }
    }
    return sizes;
  }

  // Runs `work`, and again after finishing the zones of the new metadata log if no slot is free: they are only read any more.
  Status WithSlots(const Superblock& superblock, const std::function<Status()>& work) {
    Status done = work();
    if (done.ok() || done.error().code() != Code::kBusy) return done;
    for (const ZoneId zone : superblock.metadata_zones) {
      ZENFS_ASSIGN_OR_RETURN(const ZoneInfo info, device_.ReportZone(zone));
      const bool is_older = Contains(saved_.older.metadata_zones, zone);
      if (IsActive(info.condition) && !is_older) ZENFS_RETURN_IF_ERROR(device_.Finish(zone));
    }
    return work();
  }

  // The volume is the older one. The marker must not return behind a torn write of its program. If it returns while it is wiped, the
  // new volume counts, so that goes last.
  Status End() {
    ZENFS_RETURN_IF_ERROR(WipeOlderPlaces(device_, std::vector{saved_.zone.zone}));
    return RemoveNewMetadata();
  }

  // Also that of earlier upgrades that were interrupted. A superblock may name zones that have data of the older volume since, so
  // each zone must have one itself.
  Status RemoveNewMetadata() {
    ZENFS_ASSIGN_OR_RETURN(const std::vector<SuperblockCopy> copies, ScanSuperblocks(device_));
    for (const SuperblockCopy& copy : copies) {
      if (copy.superblock && copy.superblock->was_older() && copy.superblock->uuid == saved_.copy.uuid)
        ZENFS_RETURN_IF_ERROR(MakeEmpty(device_, copy.zone));
    }
    return {};
  }

  ZonedDevice& device_;
  const HostFile& file_;
  SavedLog saved_;
};

}  // namespace

Status UndoUpgrade(ZonedDevice& device, const std::string& file) {
  // The path is opened once: later changes of the name do not matter.
  ZENFS_ASSIGN_OR_RETURN(const HostFile copy, OpenMetadataFile(file));
  ZENFS_ASSIGN_OR_RETURN(SavedLog saved, ReadSavedLog(copy));
  ZENFS_RETURN_IF_ERROR(CheckExclusive(device));
  const std::unique_ptr<ZonedDevice> guarded = GuardDevice(device);
  return Undoer(*guarded, copy, std::move(saved)).Run();
}

// The marker goes last: without it, an older log that is whole would count.
Result<bool> EndInterruptedUndo(ZonedDevice& device) {
  ZENFS_RETURN_IF_ERROR(CheckExclusive(device));
  const std::unique_ptr<ZonedDevice> guarded = GuardDevice(device);
  ZENFS_ASSIGN_OR_RETURN(const Superblock superblock, ProbeSuperblock(*guarded));
  if (!superblock.was_older()) return false;
  ZENFS_ASSIGN_OR_RETURN(const OlderRemains remains, FindOlderRemains(*guarded));
  if (remains != OlderRemains::kUndo) return false;
  ZENFS_ASSIGN_OR_RETURN(const Replayed replayed, Replay(*guarded, superblock));
  std::vector<ZoneInfo> zones;
  for (const ZoneId zone : superblock.metadata_zones) {
    if (Contains(replayed.chain, zone) || Contains(replayed.tail, zone)) continue;
    ZENFS_ASSIGN_OR_RETURN(zones.emplace_back(), guarded->ReportZone(zone));
  }
  const auto sequences = OlderSequences(*guarded, zones);
  for (const bool markers : {false, true}) {
    for (std::size_t i = 0; i < zones.size(); ++i) {
      if ((sequences[i] == kOlderUndoSequence) == markers)
        ZENFS_RETURN_IF_ERROR(MakeEmpty(*guarded, zones[i].id));
    }
  }
  return true;
}

}  // namespace zenfs
