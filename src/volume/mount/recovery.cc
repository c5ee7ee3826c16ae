#include "volume/mount/recovery.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/assert.h"
#include "base/sync_point.h"
#include "buffers/orphaned_buffers.h"
#include "device/presence.h"
#include "device/remembered_holes.h"
#include "format/buffer_area_layout.h"
#include "metalog/metazones.h"
#include "model/state.h"
#include "volume/flushed_bytes.h"
#include "volume/fsck/file_names.h"
#include "volume/fsck/log_losses.h"
#include "volume/fsck/places.h"
#include "volume/pair_proof.h"
#include "wal/frame_read.h"
#include "wal/wal_recovery.h"
#include "zone/spread.h"
#include "zone/zone_manager.h"

namespace zenfs {
namespace {

// The committed files that have or may have frames.
using RecoveredLogs = std::unordered_map<FileId, ReplayedLog>;

// The orphaned buffers of a mount whose process died: flushed bytes that the device lacks. They go into the buffers of this mount
// as they are, so a mount needs no room on the device. The device gets them at the end of the mount, if it has room, and otherwise
// later (wal/log_drain.h).
//
//   Open -> CommitExtents -> TakeOver -> [the first commit of the mount] -> [files opened with BytesOf] -> Remove
//
// A piece that gets no slot of the new buffers is taken over in private memory. Then the metadata log names the old buffers
// until the device has these bytes (needs_old_buffers), and the mount fails if it has no room for them.
//
// Ownership: keeps a copy of the old buffers until Remove.
class BufferRecovery {
 public:
  // Adds a notice to `device` for lost bytes; `device` outlives this object.
  explicit BufferRecovery(MountedDevice& device) : device_(device) {}

  // Opens the buffers that `state` names. Errors: those of OpenOrphanedBuffers, unless the option discard_unsynced is set.
  [[nodiscard]] Status Open(const State& state);
  // Commits extents that the dead process wrote and named only in its buffers. Returns the state with them, or nothing if
  // there are none. Errors: kCorruption if they contradict `state`; those of Metalog::Commit.
  [[nodiscard]] Result<std::optional<State>> CommitExtents(Metalog& metalog, const State& state,
                                                           const KnownZones& zones) const;
  // Plain files that lack bytes. After they are taken over, one commit makes the file framed, because a mount opens all
  // framed files, and the log has room when data has none. An earlier version of ZenFS that was killed before that commit may
  // have written some bytes as frames.
  std::set<FileId> PlainFiles(const State& state) const;
  // The buffers that TakeOver needs: as many, and as large, as hold bytes now. 0 if none do.
  AppendBuffers::Shape shape() const;
  // Copies the bytes that the device lacks into `present`, or into private memory. Adds a notice for bytes behind a gap.
  // Errors: kCorruption if a file has more buffers than any mount makes.
  [[nodiscard]] Status TakeOver(const State& state, const RecoveredLogs& logs, const AppendBuffers& present);
  // The files for which TakeOver found bytes, also after BytesOf.
  std::set<FileId> TakenOver() const;
  // The bytes of `file` that were taken over. Call this once for each file.
  FrameBuffers::TakenOver BytesOf(FileId file);
  // Call this once the metadata log names other buffers or none. Removes the old buffers, and unfinished ones in the
  // directory of `present`.
  void Remove(const AppendBuffers& present);

  // The file of the old buffers; empty if there is none.
  const std::string& path() const { return left_.memory.path(); }
  // True if some bytes are in private memory.
  bool needs_old_buffers() const { return needs_old_buffers_; }
  // For an error while the device must get the bytes in private memory.
  Error NoRoom(const Error& cause) const;

 private:
  // For extents that can't be committed.
  Error Unusable(const Error& error) const;
  [[nodiscard]] Status TakeOverPiece(const OrphanedBytes& piece, std::uint64_t have,
                                     const AppendBuffers& present);

  MountedDevice& device_;
  OrphanedBuffers left_;
  std::vector<std::uint32_t> owners_;  // users whose append buffers are trusted, see WhoseBuffers
  std::map<FileId, FrameBuffers::TakenOver> taken_over_;
  bool needs_old_buffers_ = false;
};

// One mount. The steps of recovery.h are declared and defined in the order in which they run.
//
// Threads: the mounting thread only. Those of the metadata log, of the zone manager and of reclaim may run meanwhile.
class Recovery {
 public:
  // `device` outlives this object.
  explicit Recovery(MountedDevice& device) : device_(device), orphans_(device) {}

  // Steps 1 to 9. On OK the first commit of the mount has succeeded: from now on only an unmount may end it. After an error no
  // thread runs.
  [[nodiscard]] Status MakeMount();
  // Its parts. Call this once.
  std::unique_ptr<VolumeParts> TakeParts() { return std::move(parts_); }
  // Steps 10 and 11. `parts` are those of TakeParts. After an error the caller unmounts.
  [[nodiscard]] Status Start(VolumeParts& parts);

 private:
  [[nodiscard]] Status CheckOptions() const;
  [[nodiscard]] Status ReplayMetadata();
  [[nodiscard]] Status OpenBuffers();
  [[nodiscard]] Status CountZones();
  [[nodiscard]] Status ReplayLogs();
  [[nodiscard]] Status MakeParts();
  // Steps 6 to 9.
  [[nodiscard]] Status BeginNewEpoch();
  [[nodiscard]] Status RecoverSyncBlocks();
  [[nodiscard]] Status MoveSyncBlocks();
  [[nodiscard]] Status MoveSyncBlock(FileId owner, Piece& piece, ReplayedLog& replayed);
  [[nodiscard]] Status CommitMount(const PairRenewal& renewal);
  std::vector<Edit> SealEdits() const;
  void OpenLogs();
  [[nodiscard]] Status SyncTakenOver(VolumeParts& parts);

  // The committed state, with the extents of orphaned buffers.
  const State& state() const { return extended_ ? *extended_ : metalog_state(); }
  // The metadata log keeps it as it is.
  const State& metalog_state() const { return (parts_ ? *parts_->metalog : *metalog_).recovered(); }
  KnownZones known() const { return {device_.geometry, report_, metadata_zones_}; }
  bool HasSyncBlocks() const;
  [[nodiscard]] Result<std::unique_ptr<TraceRecorder>> OpenTrace() const;
  std::uint64_t LogZoneCapacity() const;
  std::optional<std::uint32_t> UserOfBuffers() const;
  [[nodiscard]] static Status StartReclaim(VolumeParts& parts);

  MountedDevice& device_;
  std::unique_ptr<Metalog> metalog_;  // until it belongs to parts_
  std::vector<ZoneInfo> report_;      // of all zones, before the first write
  std::vector<ZoneId> metadata_zones_;
  BufferRecovery orphans_;
  std::optional<State> extended_;
  SlotPlan plan_;
  std::unique_ptr<ZoneManager> zones_;  // until it belongs to parts_
  RecoveredLogs logs_;
  bool resets_run_ = false;  // the threads of the zone manager and the collector run since step 6
  std::unique_ptr<VolumeParts> parts_;
  // Frames are counted as live when OpenLogs opens their files. If a step fails before that, these pins keep the zones from being
  // reset until everything is stopped.
  std::vector<ZonePin> pins_;
};

Status Recovery::MakeMount() {
  ZENFS_RETURN_IF_ERROR(CheckOptions());
  ZENFS_RETURN_IF_ERROR(ReplayMetadata());
  ZENFS_RETURN_IF_ERROR(OpenBuffers());
  ZENFS_RETURN_IF_ERROR(CountZones());
  ZENFS_RETURN_IF_ERROR(ReplayLogs());
  ZENFS_RETURN_IF_ERROR(MakeParts());
  if (const Status begun = BeginNewEpoch(); !begun.ok()) {
    parts_->Abandon();
    return begun;
  }
  if (!orphans_.needs_old_buffers()) orphans_.Remove(*parts_->buffers);
  pins_.clear();
  logs_.clear();
  extended_.reset();
  return {};
}

// --- 1: the metadata ---

Status Recovery::CheckOptions() const {
  if (device_.options.wal != WalSending::kAppend || device_.geometry.max_append_bytes != 0) return {};
  return Fail(
      Code::kInvalidArgument,
      fmt::format("{}: option wal:append: this way to the device has no zone append; use wal:auto, or a "
                  "drive by nvme:",
                  device_.name));
}

Status Recovery::ReplayMetadata() {
  ZENFS_ASSIGN_OR_RETURN(
      metalog_, Metalog::Open(*device_.device, device_.superblock,
                              [&](const State& state) { return CheckPair(*device_.device, state); }));
  metalog_->SetMetrics(&device_.metrics);
  if (std::string lost = metalog_->stats().lost_copy; !lost.empty())
    device_.notices.push_back(std::move(lost));
  ZENFS_ASSIGN_OR_RETURN(report_, device_.device->Report(ZoneId(0), device_.geometry.zone_count));
  ZENFS_ASSERT(report_.size() == device_.geometry.zone_count);
  metadata_zones_ = metalog_->zones();
  // The replayed metadata must be possible on this device.
  ZENFS_RETURN_IF_ERROR(CheckPlaces(state(), known(), device_.name));
  if (const auto flaw = FindNumberFrom(state(), kStateNumbersStart)) {
    return Fail(Code::kCorruption,
                fmt::format("{}: {}; a read-only mount (?ro) shows the volume", device_.name, flaw->text));
  }
  return {};
}

// --- 2: the buffers of a dead process ---

Status Recovery::OpenBuffers() {
  ZENFS_RETURN_IF_ERROR(orphans_.Open(state()));
  ZENFS_ASSIGN_OR_RETURN(extended_, orphans_.CommitExtents(*metalog_, state(), known()));
  return {};
}

Status BufferRecovery::Open(const State& state) {
  const WhoseBuffers whose = BuffersOf(state, device_.superblock.uuid, *device_.device);
  owners_ = whose.owners;
  Result<OrphanedBuffers> left = OpenOrphanedBuffers(whose);
  if (!left && !device_.options.discard_unsynced) return Fail(left.error().With(device_.name));
  if (!left) {
    device_.notices.push_back(
        fmt::format("flushed bytes that were not synced were discarded: {}", left.error().ToString()));
    return {};
  }
  if (device_.options.discard_unsynced) {
    if (!left->pieces.empty()) {
      device_.notices.push_back("flushed bytes that were not synced were discarded (discard_unsynced)");
    }
    left->pieces.clear();
  }
  std::erase_if(left->pieces, [&](const OrphanedBytes& piece) {
    const auto record = state.FindFile(piece.owner);
    return record != nullptr && record->shape == FileShape::kPlain && piece.IsStale(record->size);
  });
  if (!left->notice.empty()) device_.notices.push_back(left->notice);
  left_ = *std::move(left);
  return {};
}

// A log zone is reset without a check for extents in it.
Status CheckNotInLogZones(std::span<const Edit> edits, const State& state, const Geometry& geometry) {
  for (const Edit& edit : edits) {
    for (const Extent& extent : std::get<SetExtents>(edit).extents) {
      const ZoneId zone = geometry.ZoneOf(extent.place);
      if (!state.log_zones().contains(zone)) continue;
      return Fail(Code::kCorruption, fmt::format("an extent at device byte {} lies in log zone {}",
                                                 extent.place.value, zone.value));
    }
  }
  return {};
}

Result<std::optional<State>> BufferRecovery::CommitExtents(Metalog& metalog, const State& state,
                                                           const KnownZones& zones) const {
  std::vector<Edit> edits;
  SumOfExtents sum;
  for (const OrphanedBytes& piece : left_.pieces) {
    const auto record = piece.uncommitted ? state.FindFile(piece.owner) : nullptr;
    if (record == nullptr || record->shape != FileShape::kPlain || piece.end() <= record->size) continue;
    if (const Status fits = sum.Add(piece.uncommitted->extents, device_.geometry); !fits.ok())
      return Fail(Unusable(fits.error()));
    const auto is_there = [&](const Extent& extent) {
      return StandsOnDevice(*device_.device, zones.report, extent);
    };
    // If the device has lost some of them, TakeOver finds a gap and reports it.
    if (std::ranges::all_of(piece.uncommitted->extents, is_there)) edits.emplace_back(*piece.uncommitted);
  }
  if (edits.empty()) return std::nullopt;
  State extended = state;
  Status sound = extended.Apply(edits);
  if (sound.ok()) sound = CheckPlaces(extended, zones, device_.name);
  if (sound.ok()) sound = CheckNotInLogZones(edits, state, device_.geometry);
  if (const auto flaws = sound.ok() ? extended.Check() : std::vector<std::string>(); !flaws.empty()) {
    sound = Fail(Code::kCorruption, flaws.front());
  }
  if (!sound.ok()) return Fail(Unusable(sound.error()));
  ZENFS_RETURN_IF_ERROR(metalog.Commit(std::move(edits), {.data_since = FlushMark::AtOpen()}));
  return extended;
}

Error BufferRecovery::Unusable(const Error& error) const {
  return error.With(
      fmt::format("{}: extents that were flushed and not synced, from {} (mount with "
                  "discard_unsynced to discard them)",
                  device_.name, left_.memory.path()));
}

// --- 3: the zones ---

Status Recovery::CountZones() {
  ZENFS_ASSIGN_OR_RETURN(
      plan_, PlanSlots(device_.geometry, device_.name, CopiesOf(device_.superblock, device_.geometry)));
  ZoneManager::Options space = SpaceOptions(device_.geometry, metadata_zones_);
  space.placement = device_.options.placement;
  if (!device_.options.reclaim) {
    space.reclaims = false;  // with the headroom: the next mount may need it
    space.log.needs = space.log.least;
  }
  ZENFS_ASSIGN_OR_RETURN(zones_, ZoneManager::Create(*device_.device, plan_, report_, std::move(space)));
  zones_->Adopt(state());
  return {};
}

// --- 4: the logs ---

std::set<FileId> BufferRecovery::PlainFiles(const State& state) const {
  std::set<FileId> files;
  for (const OrphanedBytes& piece : left_.pieces) {
    const auto record = state.FindFile(piece.owner);
    if (record == nullptr || record->shape != FileShape::kPlain) continue;
    if (piece.end() > record->size) files.insert(piece.owner);
  }
  return files;
}

// Scans the log zones and replays the logs. Adds a notice for each damage. Writes nothing. Errors: kCorruption if a frame proves
// that commits are lost.
Status Recovery::ReplayLogs() {
  ZonedDevice& device = *device_.device;
  const std::set<FileId> plain_tails = orphans_.PlainFiles(state());
  const auto is_log = [&](const FileRecord& record) {
    return record.shape == FileShape::kFramed || plain_tails.contains(record.id);
  };
  ZENFS_RETURN_IF_ERROR(CheckSyncZonesReadable(device, state().log_zones()));
  EpochCheck epoch_check;
  std::unordered_map<FileId, std::vector<ScannedFrame>> frames;
  std::vector<ZoneId> offline;
  RememberedHoles scanned(device);
  for (const auto& [id, zone] : state().log_zones()) {
    ZENFS_ASSERT(id.value < report_.size());  // CheckPlaces
    // Before anything is written; also for what the mount read until now.
    ZENFS_RETURN_IF_ERROR(PresenceMark::AtOpen().Check(device));
    if (report_[id.value].condition == ZoneCondition::kOffline) offline.push_back(id);
    ScanLogZone(scanned, device_.superblock.seed, zone, report_[id.value], [&](const ScannedFrame& frame) {
      epoch_check.See(frame);
      const auto record = state().FindFile(FileId(frame.owner));
      if (record != nullptr && is_log(*record)) frames[record->id].push_back(frame);
    });
  }
  ZENFS_RETURN_IF_ERROR(PresenceMark::AtOpen().Check(device));
  if (epoch_check.SawBehind(state().epoch())) {
    return Fail(
        Code::kCorruption,
        fmt::format(
            "{}: {}; zenfs check --repair rebuilds the metadata from the log, a read-only mount (?ro) "
            "shows the volume without the lost commits",
            device_.name, epoch_check.Text(state().epoch())));
  }
  for (const auto& [id, record] : state().files()) {
    if (!is_log(*record)) continue;
    logs_.emplace(id, ReplayLog(*record, state().epoch(), std::move(frames[id])));
  }
  const bool damaged =
      std::ranges::any_of(logs_, [](const auto& entry) { return !entry.second.damage.empty(); });
  if (!damaged && offline.empty()) return {};
  const LogLosses lost = FindLogLosses(device_.name, device_.geometry, state(), FileNames(state()), offline,
                                       [&](FileId id) -> const ReplayedLog* {
                                         const auto it = logs_.find(id);
                                         return it == logs_.end() ? nullptr : &it->second;
                                       });
  for (const Finding& finding : lost.findings) device_.notices.push_back(finding.text);
  if (const std::string rest = lost.findings.OmittedText(); !rest.empty())
    device_.notices.push_back(fmt::format("{}: {}", device_.name, rest));
  return {};
}

// --- 5: the buffers and parts of this mount ---

Status Recovery::MakeParts() {
  ZENFS_ASSIGN_OR_RETURN(std::unique_ptr<TraceRecorder> trace, OpenTrace());
  // After all other steps that may fail before the parts exist. No thread counts metrics while they move there: the commit
  // of step 2 may have started a log switch.
  metalog_->AwaitSwitch();
  ZENFS_ASSIGN_OR_RETURN(
      std::unique_ptr<AppendBuffers> buffers,
      AppendBuffers::Make({.device_name = device_.name,
                           .identity = device_.device->identity(),
                           .volume = device_.superblock.uuid,
                           .epoch = state().epoch() + 1,
                           .buffer_bytes = WalBufferBytes(device_.options, LogZoneCapacity()),
                           .zones = device_.geometry.zone_count,
                           .least = orphans_.shape(),
                           .user = UserOfBuffers()},
                          device_.options, device_.metrics, device_.notices));
  const State& committed = state();  // the metadata log keeps it
  const std::uint32_t spread =
      device_.options.spread != 0 ? device_.options.spread : DefaultSpread(device_.geometry, plan_);
  parts_ = std::make_unique<VolumeParts>(device_,
                                         VolumeParts::Base{.metalog = std::move(metalog_),
                                                           .zones = std::move(zones_),
                                                           .buffers = std::move(buffers),
                                                           .trace = std::move(trace),
                                                           .sync_blocks = plan_.sync_zone,
                                                           .spread = spread},
                                         committed);
  return {};
}

// Null without the option trace_file.
Result<std::unique_ptr<TraceRecorder>> Recovery::OpenTrace() const {
  if (device_.options.trace_file.empty()) return nullptr;
  TraceDevice traced{.zone_size = device_.geometry.zone_size,
                     .zones = device_.geometry.main_zones(),
                     .metadata_zones = static_cast<std::uint32_t>(device_.superblock.metadata_zones.size()),
                     .block_size = device_.geometry.block_size,
                     .max_open = device_.geometry.max_open,
                     .max_active = device_.geometry.max_active};
  for (const ZoneInfo& zone : report_) {
    if (!device_.geometry.OnLogDevice(zone.id))
      traced.zone_capacity = std::max(traced.zone_capacity, zone.capacity);
  }
  auto recorder = TraceRecorder::Open(device_.options.trace_file, traced, state());
  if (!recorder) return Fail(recorder.error().With(device_.name + ": option trace_file"));
  return recorder;
}

AppendBuffers::Shape BufferRecovery::shape() const {
  AppendBuffers::Shape shape;
  for (const OrphanedBytes& piece : left_.pieces) {
    shape.slots += 1;
    shape.buffer_bytes = std::max(shape.buffer_bytes,
                                  RoundUp(kBufferAreaPayloadAt + piece.bytes.size(), kBufferAreaHeaderBytes));
  }
  return shape;
}

// The largest capacity of a zone of the log's device, in bytes.
std::uint64_t Recovery::LogZoneCapacity() const {
  std::uint64_t capacity = 0;
  for (const ZoneInfo& zone : report_) {
    if (device_.geometry.log_zones == 0 || device_.geometry.OnLogDevice(zone.id))
      capacity = std::max(capacity, zone.capacity);
  }
  return capacity;
}

// The user whose process mounts the volume usually. If root mounts it once to free space, that user must be able to take over
// what still waits.
std::optional<std::uint32_t> Recovery::UserOfBuffers() const {
  const SetBufferPlace& last = state().buffers();
  if (!last.key.empty()) return last.maker;
  const auto owner = device_.device->owner();
  return owner ? std::optional(owner->user) : std::nullopt;
}

// --- 6 to 9: the new epoch ---

Status Recovery::BeginNewEpoch() {
  for (const auto& [id, zone] : state().log_zones()) parts_->log.Adopt(zone, report_[id.value]);
  ZENFS_RETURN_IF_ERROR(RecoverSyncBlocks());
  ZENFS_RETURN_IF_ERROR(orphans_.TakeOver(state(), logs_, *parts_->buffers));
  SyncPoint::Reach("RecoverVolume:replayed");
  parts_->log.FinishSpares();
  ZENFS_ASSIGN_OR_RETURN(PairRenewal renewal, PairRenewal::Offer(*device_.device, state(), parts_->epoch));
  ZENFS_RETURN_IF_ERROR(CommitMount(renewal));
  ZENFS_RETURN_IF_ERROR(renewal.Settle());
  OpenLogs();
  parts_->log.ResetSyncZones();
  return {};
}

// --- 6: sync blocks of earlier mounts (wal/zrwa_sync_blocks.h) ---

bool InSyncBlock(const Piece& piece) { return piece.in_sync_block; }

bool Recovery::HasSyncBlocks() const {
  return std::ranges::any_of(
      logs_, [](const auto& log) { return std::ranges::any_of(log.second.index.pieces(), InSyncBlock); });
}

// All log zones may be full, because a mount that dies early releases none. So dead zones are released and reset first, and
// a commit must precede that. The found frames are not counted as live yet, so their zones are pinned.
Status Recovery::RecoverSyncBlocks() {
  if (!HasSyncBlocks()) return {};
  resets_run_ = true;
  for (const auto& [id, log] : logs_) {
    for (const auto& [zone, bytes] : log.zones) pins_.push_back(parts_->zones->Pin(zone));
  }
  ZENFS_RETURN_IF_ERROR(
      parts_->metalog->Commit({RaiseCounters{0, state().next_generation()}}));  // see CommitMount
  ZENFS_RETURN_IF_ERROR(parts_->zones->Start());
  parts_->log.MayRelease();
  std::set<FileId> recovering;
  for (const auto& [id, log] : logs_) recovering.insert(id);
  parts_->mover.KeepUntilRecovered(std::move(recovering));
  ZENFS_RETURN_IF_ERROR(StartReclaim(*parts_));  // the frames may need room that only reclaim can make
  return MoveSyncBlocks();
}

// Moves the frames into log zones, unchanged, so that the sync zones can be reset. Changes their places in logs_. Errors: those of
// a read and of FrameWriter::Write; kCorruption if a frame is no longer there.
Status Recovery::MoveSyncBlocks() {
  for (auto& [id, replayed] : logs_) {
    for (std::size_t i = 0; i < replayed.index.size(); ++i) {
      Piece piece = replayed.index[i];
      if (!InSyncBlock(piece)) continue;
      if (const Status moved = MoveSyncBlock(id, piece, replayed); !moved.ok()) {
        return Fail(moved.error().With(
            fmt::format("{}: moving the last synced bytes of file {} into the log", device_.name, id.value)));
      }
      replayed.index.Replace(i, piece);
    }
  }
  ZENFS_ASSERT(!HasSyncBlocks());
  return {};
}

// Counts are by file and zone in `zones`; OpenLogs counts the new frame as live, with all frames of the file. Until then a pin
// keeps its zone.
Status Recovery::MoveSyncBlock(FileId owner, Piece& piece, ReplayedLog& replayed) {
  LogSpace& log = parts_->log;
  const ZoneId old_zone = device_.geometry.ZoneOf(piece.place);
  const std::optional<FrameSeed> seed = log.zones().SeedOf(old_zone);
  if (!seed) return Fail(Code::kCorruption, fmt::format("zone {} is not a log zone", old_zone.value));
  AlignedBuffer block(device_.geometry.block_size);
  ZENFS_ASSIGN_OR_RETURN(const FrameHeader header,
                         ReadSyncBlock(*device_.device, *seed, owner, piece, block));
  ZENFS_ASSIGN_OR_RETURN(std::vector<PlacedFrame> placed,
                         log.writer().Write({.owner = owner.value,
                                             .sequence = header.sequence,
                                             .file_offset = header.file_offset,
                                             .stable_sequence = header.stable_sequence,
                                             .buffer = &block,
                                             .epoch = header.epoch,
                                             .time = header.time,
                                             .unsplit = true}));
  ZENFS_ASSERT(placed.size() == 1);
  PlacedFrame& frame = placed.front();
  const ZoneId zone = frame.pin.zone();
  ZENFS_ASSERT(replayed.zones[old_zone] >= piece.frame_bytes);
  if ((replayed.zones[old_zone] -= piece.frame_bytes) == 0) replayed.zones.erase(old_zone);
  replayed.zones[zone] += frame.device_bytes;
  log.zones().RemoveLive(zone, {frame.device_bytes, frame.length});
  piece.place = frame.payload + (piece.file_offset - frame.file_offset);
  piece.frame_bytes = frame.device_bytes;
  piece.in_sync_block = false;
  piece.skipped = piece.file_offset - frame.file_offset;
  pins_.push_back(std::move(frame.pin));
  return {};
}

// --- 7: flushed bytes are taken over ---

Status BufferRecovery::TakeOver(const State& state, const RecoveredLogs& logs, const AppendBuffers& present) {
  const FileNames names(state);
  for (const OrphanedBytes& piece : left_.pieces) {
    const auto replayed = logs.find(piece.owner);
    // The file was deleted, was never durable and so never flushed, or its bytes were committed since.
    if (replayed == logs.end()) continue;
    const auto before = taken_over_.find(piece.owner);
    const std::uint64_t have =
        before == taken_over_.end() ? replayed->second.index.end() : before->second.second.end();
    if (piece.end() <= have) continue;  // they reached the device before the process died
    if (piece.file_offset > have) {     // the device has lost bytes: with its cache, or with an offline zone
      device_.notices.push_back(
          LostBeforeFlushedText(names.Describe(piece.owner), have, piece.file_offset, piece.bytes.size()));
      continue;
    }
    ZENFS_RETURN_IF_ERROR(TakeOverPiece(piece, have, present));
  }
  return {};
}

// The device, or an earlier piece, has the bytes of the file up to `have`, which lies in the piece.
Status BufferRecovery::TakeOverPiece(const OrphanedBytes& piece, std::uint64_t have,
                                     const AppendBuffers& present) {
  ZENFS_ASSERT(piece.file_offset <= have && have < piece.end());
  FrameBuffers::TakenOver& taken_over = taken_over_[piece.owner];
  if (!taken_over.first.empty()) {
    return Fail(Code::kCorruption, fmt::format("{}: {} has more than two buffers of file {}", device_.name,
                                               left_.memory.path(), piece.owner.value));
  }
  // No mount may find the second part of a file's bytes without the first.
  const bool behind_private = !taken_over.second.empty() && !taken_over.second.in_slot();
  if (!taken_over.second.empty()) std::swap(taken_over.first, taken_over.second);
  AppendBuffer& buffer = taken_over.second;
  const ByteView bytes = piece.bytes.subspan(have - piece.file_offset);
  buffer.Begin(behind_private ? nullptr : present.area(),
               RoundUp(kBufferAreaPayloadAt + bytes.size(), device_.geometry.block_size), piece.owner.value,
               have);
  const std::size_t taken = buffer.Append(bytes, piece.appended_seconds);
  ZENFS_CHECK(taken == bytes.size(), "a buffer has less room than was asked for");
  taken_over.appended_seconds = piece.appended_seconds;
  needs_old_buffers_ = needs_old_buffers_ || !buffer.in_slot();
  return {};
}

std::set<FileId> BufferRecovery::TakenOver() const {
  std::set<FileId> files;
  for (const auto& [file, buffers] : taken_over_) files.insert(file);
  return files;
}

// --- 8: the first commit of the mount ---

// Seals the logs, begins the epoch, sets the key of the pair and names the append buffers.
Status Recovery::CommitMount(const PairRenewal& renewal) {
  ZENFS_ASSERT(parts_->epoch == state().epoch() + 1);
  std::vector<Edit> edits = SealEdits();
  if (auto key = renewal.edit()) edits.push_back(*std::move(key));
  edits.push_back(BeginEpoch{parts_->epoch});
  edits.push_back(RaiseCounters{state().next_id() + IdAllocator::kBatch, state().next_generation()});
  if (!orphans_.needs_old_buffers()) {
    if (auto name = parts_->buffers->Name(state().buffer_place())) edits.push_back(*std::move(name));
  }
  // Not by CommitPath, which exchanges empty zones with the zone manager: that knows its empty zones only once it has started,
  // usually in step 10. CommitPath also stops resets if the outcome is unknown; these edits name no extents, so none must stop.
  return parts_->metalog->Commit(std::move(edits), {.data_since = FlushMark::AtOpen()});
}

// The edits that seal every log with an open window, and make plain files framed whose bytes were taken over. Once they are
// committed, frames beyond the found ones are dead forever.
std::vector<Edit> Recovery::SealEdits() const {
  const std::set<FileId> taken_over = orphans_.TakenOver();
  std::vector<Edit> edits;
  for (const auto& [id, log] : logs_) {
    const auto record = state().FindFile(id);
    ZENFS_ASSERT(record != nullptr);
    const bool becomes_framed = record->shape == FileShape::kPlain && taken_over.contains(id);
    if (!log.open_window && !becomes_framed) continue;
    SealLog seal{.id = id,
                 .windows = record->windows,
                 .next_sequence = record->next_sequence,
                 .size = record->size,
                 .mtime_seconds = log.mtime_seconds};
    if (log.open_window) {
      ZENFS_ASSERT(log.open_window->last_sequence >= record->next_sequence);  // no sequence is used again
      seal.windows.push_back(*log.open_window);
      seal.next_sequence = log.open_window->last_sequence + 1;
      seal.size = log.open_window->end;
    }
    edits.push_back(std::move(seal));
  }
  return edits;
}

// --- 9: the framed files ---

// Opens them from the records in the catalog. CommitEffects has applied the commit of step 8 to it, so the records are sealed.
void Recovery::OpenLogs() {
  for (auto& [id, log] : logs_) {
    const auto record = parts_->catalog.FindFile(id);
    ZENFS_ASSERT(record != nullptr);  // nobody deletes files before the mount is complete
    // The window itself is not in the record if its frames added no byte.
    ZENFS_ASSERT(!log.open_window || record->next_sequence == log.open_window->last_sequence + 1);
    if (record->shape == FileShape::kPlain) continue;  // nothing behind its extents was found
    parts_->logs.Add(parts_->factory.RecoveredLog(*record, std::move(log), orphans_.BytesOf(id)));
  }
  parts_->mover.LogsAreRecovered();
}

FrameBuffers::TakenOver BufferRecovery::BytesOf(FileId file) {
  const auto found = taken_over_.find(file);
  return found == taken_over_.end() ? FrameBuffers::TakenOver() : std::exchange(found->second, {});
}

void BufferRecovery::Remove(const AppendBuffers& present) {
  if (left_.memory.valid()) IgnoreError(left_.memory.Unlink());  // after an error a later mount removes it
  left_ = OrphanedBuffers();
  if (present.area() == nullptr) return;
  SweepOrphanedBuffers(present.directory(), device_.device->identity(), present.path(), owners_);
}

// --- 10: threads ---

Status Recovery::Start(VolumeParts& parts) {
  ZENFS_ASSERT(parts_ == nullptr && pins_.empty());
  if (!resets_run_) ZENFS_RETURN_IF_ERROR(parts.zones->Start());
  ZENFS_RETURN_IF_ERROR(parts.log.Start());
  ZENFS_RETURN_IF_ERROR(parts.drain.Start());
  if (!resets_run_) ZENFS_RETURN_IF_ERROR(StartReclaim(parts));
  parts.zones->TidyData();
  return SyncTakenOver(parts);
}

Status Recovery::StartReclaim(VolumeParts& parts) {
  return parts.device.options.reclaim ? parts.reclaimer.Start() : Status();
}

// --- 11: the device gets the bytes that were taken over ---

// If the device has no room, those in shared memory wait there.
Status Recovery::SyncTakenOver(VolumeParts& parts) {
  for (const FileId file : orphans_.TakenOver()) {
    const auto log = parts.logs.Find(file);
    const Status synced = log == nullptr ? Status() : log->Sync();
    if (synced.ok()) continue;
    if (synced.error().code() != Code::kNoSpace) return synced;
    parts.drain.NoteBuffered();                // it tries again
    if (!orphans_.needs_old_buffers()) break;  // there is no room for the others either
    if (!log->KeptForNextMount()) return Fail(orphans_.NoRoom(synced.error()));
  }
  if (!orphans_.needs_old_buffers()) return {};
  if (auto name = parts.buffers->Name(orphans_.path()))
    ZENFS_RETURN_IF_ERROR(parts.commits.Commit({*std::move(name)}));
  orphans_.Remove(*parts.buffers);
  return {};
}

Error BufferRecovery::NoRoom(const Error& cause) const {
  return cause.With(
      fmt::format("{}: bytes that were flushed and not synced wait in {}. Mount with flush_dir:DIRECTORY, a "
                  "tmpfs with room for {} bytes, "
                  "to keep them there until the device has room (or with discard_unsynced to discard them)",
                  device_.name, left_.memory.path(), shape().slots * shape().buffer_bytes));
}

}  // namespace

Result<std::shared_ptr<WriterMount>> RecoverVolume(std::unique_ptr<ZonedDevice> unmetered,
                                                   Superblock superblock, const MountOptions& options) {
  ZENFS_ASSERT(unmetered->mode() == OpenMode::kExclusive);
  auto device = std::make_unique<MountedDevice>(std::move(unmetered), std::move(superblock), options);
  auto recovery = std::make_unique<Recovery>(*device);
  if (const Status made = recovery->MakeMount(); !made.ok()) {
    recovery.reset();
    device->metrics.RaiseTo(Value::kEmulationCpu, device->device->emulation_cpu_ns());
    IgnoreError(device->KeepMetrics());  // the error of the mount is the one to report
    ZENFS_RETURN_IF_ERROR(PresenceMark::AtOpen().Check(*device->device));  // else it may look like damage
    return Fail(made.error());
  }
  std::unique_ptr<VolumeParts> parts = recovery->TakeParts();
  device->metrics.Set(Value::kEpoch, parts->epoch);
  device->metrics.Set(Value::kMountTime, WallSeconds());
  auto mount = std::make_shared<WriterMount>(std::move(device), std::move(parts));
  // After an error from here on, the mount's destructor unmounts.
  ZENFS_RETURN_IF_ERROR(mount->KeepMetrics());  // reports now if the file can't be written
  ZENFS_RETURN_IF_ERROR(recovery->Start(mount->parts()));
  return mount;
}

}  // namespace zenfs
