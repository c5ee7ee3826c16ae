#include "volume/mount/recovery.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "base/sync_point.h"
#include "device/presence.h"
#include "metalog/metazones.h"
#include "model/number_limits.h"
#include "volume/fsck/places.h"
#include "volume/mount/buffer_recovery.h"
#include "volume/mount/log_recovery.h"
#include "volume/mount/sync_block_recovery.h"
#include "volume/pair_proof.h"
#include "volume/space_options.h"
#include "zone/spread.h"

namespace zenfs {
namespace {

// The replayed metadata must be possible on this device.
Status CheckReplayed(const MountedDevice& device, const State& state, const KnownZones& known) {
  ZENFS_RETURN_IF_ERROR(CheckPlaces(state, known, device.name));
  if (const auto flaw = FindNumberFrom(state, kStateNumbersStart)) {
    return Fail(Code::kCorruption,
                fmt::format("{}: {}; a read-only mount (?ro) shows the volume", device.name, flaw->text));
  }
  return {};
}

Result<std::unique_ptr<ZoneManager>> AccountZones(MountedDevice& device, const State& state,
                                                  const SlotPlan& plan, const ZoneManager::Options& space,
                                                  const std::vector<ZoneInfo>& report) {
  ZENFS_ASSIGN_OR_RETURN(std::unique_ptr<ZoneManager> zones,
                         ZoneManager::Create(*device.device, plan, report, space));
  for (const auto& [id, zone] : state.log_zones()) zones->AdoptLogZone(id);
  for (const auto& [id, record] : state.files()) {
    for (const Extent& extent : record->extents) zones->AdoptExtent(extent, record->lifetime);
  }
  return zones;
}

// Zones of the log's device, in bytes.
std::uint64_t LogZoneCapacity(const MountedDevice& device, const std::vector<ZoneInfo>& report) {
  std::uint64_t capacity = 0;
  for (const ZoneInfo& zone : report) {
    if (device.geometry.log_zones == 0 || device.geometry.OnLogDevice(zone.id))
      capacity = std::max(capacity, zone.capacity);
  }
  return capacity;
}

// The user whose process mounts the volume usually. If root mounts it once to free space, that user must be able to take over
// what still waits.
std::optional<std::uint32_t> UserOfBuffers(const MountedDevice& device, const State& state) {
  const SetBufferPlace& last = state.buffers();
  if (!last.key.empty()) return last.maker;
  const auto owner = device.device->owner();
  return owner ? std::optional(owner->user) : std::nullopt;
}

Status StartReclaim(VolumeParts& parts) {
  return parts.device.options.reclaim ? parts.reclaimer.Start() : Status();
}

// All log zones may be full, because a mount that dies early releases none. So dead zones are released and reset first, and
// a commit must precede that. The found frames are not counted as live yet, so their zones are pinned.
Status RecoverSyncBlocks(const State& state, VolumeParts& parts, RecoveredLogs& logs,
                         std::vector<ZonePin>& pins) {
  if (!HasSyncBlocks(logs)) return {};
  for (const auto& [id, log] : logs) {
    for (const auto& [zone, bytes] : log.zones) pins.push_back(parts.zones->Pin(zone));
  }
  ZENFS_RETURN_IF_ERROR(parts.commits.Commit({RaiseCounters{0, state.next_generation()}}));
  ZENFS_RETURN_IF_ERROR(parts.zones->Start());
  parts.log.MayRelease();
  std::set<FileId> recovering;
  for (const auto& [id, log] : logs) recovering.insert(id);
  parts.mover.KeepUntilRecovered(std::move(recovering));
  ZENFS_RETURN_IF_ERROR(StartReclaim(parts));  // the frames may need room that only reclaim can make
  return MoveSyncBlocks(parts.device, parts.log, logs, pins);
}

// The first commit of the mount: seals the logs, begins the epoch, sets the key of the pair and names the append buffers.
Status CommitMount(VolumeParts& parts, const State& state, const RecoveredLogs& logs,
                   const BufferRecovery& orphans, const PairRenewal& renewal) {
  std::vector<Edit> edits = SealEdits(logs, state, orphans.TakenOver());
  if (auto key = renewal.edit()) edits.push_back(*std::move(key));
  edits.push_back(BeginEpoch{parts.epoch});
  edits.push_back(RaiseCounters{state.next_id() + IdAllocator::kBatch, state.next_generation()});
  if (!orphans.needs_old_buffers()) {
    if (auto name = parts.buffers->Name(state.buffer_place())) edits.push_back(*std::move(name));
  }
  return parts.metalog->Commit(std::move(edits), {.data_since = FlushMark::AtOpen()});
}

// Opens the framed files from the records in the catalog, which are sealed now.
void OpenLogs(VolumeParts& parts, RecoveredLogs& logs, BufferRecovery& orphans) {
  for (auto& [id, log] : logs) {
    const auto record = parts.catalog.FindFile(id);
    if (record->shape == FileShape::kPlain) continue;  // nothing behind its extents was found
    parts.logs.Add(parts.factory.RecoveredLog(*record, std::move(log), orphans.BytesOf(id)));
  }
  parts.mover.LogsAreRecovered();
}

Status MakeMount(VolumeParts& parts, const State& state, const std::vector<ZoneInfo>& report,
                 BufferRecovery& orphans, RecoveredLogs& logs, std::vector<ZonePin>& pins) {
  for (const auto& [id, zone] : state.log_zones()) parts.log.Adopt(zone, report[id.value]);
  ZENFS_RETURN_IF_ERROR(RecoverSyncBlocks(state, parts, logs, pins));
  ZENFS_RETURN_IF_ERROR(orphans.TakeOver(state, logs, *parts.buffers));
  SyncPoint::Reach("mount:replayed");
  parts.log.FinishSpares();
  ZENFS_ASSIGN_OR_RETURN(PairRenewal renewal, PairRenewal::Offer(*parts.device.device, state, parts.epoch));
  ZENFS_RETURN_IF_ERROR(CommitMount(parts, state, logs, orphans, renewal));
  ZENFS_RETURN_IF_ERROR(renewal.Settle());
  OpenLogs(parts, logs, orphans);
  parts.log.ResetSyncZones();
  return {};
}

std::uint32_t SpreadOf(const MountedDevice& device, const SlotPlan& plan) {
  return device.options.spread != 0 ? device.options.spread : DefaultSpread(device.geometry, plan);
}

Status CheckOptions(const MountedDevice& device) {
  if (device.options.wal != WalSending::kAppend || device.geometry.max_append_bytes != 0) return {};
  return Fail(
      Code::kInvalidArgument,
      fmt::format("{}: option wal:append: this way to the device has no zone append; use wal:auto, or a "
                  "drive by nvme:",
                  device.name));
}

// Null without the option trace_file.
Result<std::unique_ptr<TraceRecorder>> OpenTrace(const MountedDevice& device, const State& state,
                                                 const std::vector<ZoneInfo>& report) {
  if (device.options.trace_file.empty()) return nullptr;
  TraceDevice traced{.zone_size = device.geometry.zone_size,
                     .zones = device.geometry.main_zones(),
                     .metadata_zones = static_cast<std::uint32_t>(device.superblock.metadata_zones.size()),
                     .block_size = device.geometry.block_size,
                     .max_open = device.geometry.max_open,
                     .max_active = device.geometry.max_active};
  for (const ZoneInfo& zone : report) {
    if (!device.geometry.OnLogDevice(zone.id))
      traced.zone_capacity = std::max(traced.zone_capacity, zone.capacity);
  }
  auto recorder = TraceRecorder::Open(device.options.trace_file, traced, state);
  if (!recorder) return Fail(recorder.error().With(device.name + ": option trace_file"));
  return recorder;
}

// The parts of a mount whose first commit has succeeded. From now on only an unmount may end it.
struct Mounted {
  std::unique_ptr<VolumeParts> parts;
  BufferRecovery orphans;
  bool resets_run = false;  // the threads of the zone manager and the collector already run
};

Result<Mounted> Recover(MountedDevice& device) {
  ZENFS_RETURN_IF_ERROR(CheckOptions(device));
  ZENFS_ASSIGN_OR_RETURN(std::unique_ptr<Metalog> metalog,
                         Metalog::Open(*device.device, device.superblock,
                                       [&](const State& state) { return CheckPair(*device.device, state); }));
  metalog->SetMetrics(&device.metrics);
  if (std::string lost = metalog->stats().lost_copy; !lost.empty()) device.notices.push_back(std::move(lost));
  const State& replayed = metalog->recovered();
  ZENFS_ASSIGN_OR_RETURN(const std::vector<ZoneInfo> report,
                         device.device->Report(ZoneId(0), device.geometry.zone_count));
  const std::vector<ZoneId> metadata_zones = metalog->zones();
  const KnownZones known{device.geometry, report, metadata_zones};
  ZENFS_RETURN_IF_ERROR(CheckReplayed(device, replayed, known));
  ZENFS_ASSIGN_OR_RETURN(BufferRecovery orphans, BufferRecovery::Open(device, replayed));
  ZENFS_ASSIGN_OR_RETURN(const std::optional<State> extended,
                         orphans.CommitExtents(*metalog, replayed, known));
  // The metadata log keeps `replayed` as it is.
  const State& state = extended ? *extended : replayed;

  ZENFS_ASSIGN_OR_RETURN(const SlotPlan plan, PlanSlots(device.geometry, device.name,
                                                        CopiesOf(device.superblock, device.geometry)));
  ZoneManager::Options space = SpaceOptions(device.geometry, metadata_zones);
  space.placement = device.options.placement;
  if (!device.options.reclaim) {
    space.reclaims = false;  // with the headroom: the next mount may need it
    space.log.needs = space.log.least;
  }
  ZENFS_ASSIGN_OR_RETURN(std::unique_ptr<ZoneManager> zones,
                         AccountZones(device, state, plan, space, report));
  ZENFS_ASSIGN_OR_RETURN(RecoveredLogs logs, ReplayLogs(device, state, report, orphans.PlainFiles(state)));
  ZENFS_ASSIGN_OR_RETURN(std::unique_ptr<TraceRecorder> trace, OpenTrace(device, state, report));
  // After all other steps that may fail before the parts exist. No thread counts metrics while they move there: the commit
  // above may have started a log switch.
  metalog->AwaitSwitch();
  ZENFS_ASSIGN_OR_RETURN(
      std::unique_ptr<AppendBuffers> buffers,
      AppendBuffers::Make({.device_name = device.name,
                           .identity = device.device->identity(),
                           .volume = device.superblock.uuid,
                           .epoch = state.epoch() + 1,
                           .buffer_bytes = WalBufferBytes(device.options, LogZoneCapacity(device, report)),
                           .zones = device.geometry.zone_count,
                           .least = orphans.shape(),
                           .user = UserOfBuffers(device, state)},
                          device.options, device.metrics, device.notices));
  const bool resets_run = HasSyncBlocks(logs);
  auto parts = std::make_unique<VolumeParts>(device,
                                             VolumeParts::Base{.metalog = std::move(metalog),
                                                               .zones = std::move(zones),
                                                               .buffers = std::move(buffers),
                                                               .trace = std::move(trace),
                                                               .log_reserve_target = 1,
                                                               .sync_blocks = plan.sync_zone,
                                                               .spread = SpreadOf(device, plan)},
                                             state);
  // Frames are counted as live when OpenLogs opens their files. If MakeMount fails before that, these pins keep the zones
  // from being reset until everything is stopped.
  std::vector<ZonePin> pins;
  if (const Status made = MakeMount(*parts, state, report, orphans, logs, pins); !made.ok()) {
    parts->Abandon();
    return Fail(made.error());
  }
  if (!orphans.needs_old_buffers()) orphans.Remove(*parts->buffers);
  return Mounted{.parts = std::move(parts), .orphans = std::move(orphans), .resets_run = resets_run};
}

Status StartThreads(VolumeParts& parts, bool resets_run) {
  if (!resets_run) ZENFS_RETURN_IF_ERROR(parts.zones->Start());
  ZENFS_RETURN_IF_ERROR(parts.log.Start());
  ZENFS_RETURN_IF_ERROR(parts.drain.Start());
  if (!resets_run) ZENFS_RETURN_IF_ERROR(StartReclaim(parts));
  parts.zones->TidyData();
  return {};
}

// Syncs the bytes that were taken over. If the device has no room, those in shared memory wait there.
Status SyncTakenOver(VolumeParts& parts, BufferRecovery& orphans) {
  for (const FileId file : orphans.TakenOver()) {
    const auto log = parts.logs.Find(file);
    const Status synced = log == nullptr ? Status() : log->Sync();
    if (synced.ok()) continue;
    if (synced.error().code() != Code::kNoSpace) return synced;
    parts.drain.NoteBuffered();               // it tries again
    if (!orphans.needs_old_buffers()) break;  // there is no room for the others either
    if (!log->KeptForNextMount()) return Fail(orphans.NoRoom(synced.error()));
  }
  if (!orphans.needs_old_buffers()) return {};
  if (auto name = parts.buffers->Name(orphans.path()))
    ZENFS_RETURN_IF_ERROR(parts.commits.Commit({*std::move(name)}));
  orphans.Remove(*parts.buffers);
  return {};
}

}  // namespace

Result<std::shared_ptr<WriterMount>> RecoverVolume(std::unique_ptr<ZonedDevice> unmetered,
                                                   Superblock superblock, const MountOptions& options) {
  auto device = std::make_unique<MountedDevice>(std::move(unmetered), std::move(superblock), options);
  Result<Mounted> mounted = Recover(*device);
  if (!mounted) {
    device->metrics.RaiseTo(Value::kEmulationCpu, device->device->emulation_cpu_ns());
    IgnoreError(device->KeepMetrics());  // the error of the mount is the one to report
    ZENFS_RETURN_IF_ERROR(PresenceMark::AtOpen().Check(*device->device));  // else it may look like damage
    return Fail(mounted.error());
  }
  VolumeParts& parts = *mounted->parts;
  device->metrics.Set(Value::kEpoch, parts.epoch);
  device->metrics.Set(Value::kMountTime, WallSeconds());
  auto mount = std::make_shared<WriterMount>(std::move(device), std::move(mounted->parts));
  // After an error from here on, the mount's destructor unmounts.
  ZENFS_RETURN_IF_ERROR(mount->KeepMetrics());  // reports now if the file can't be written
  ZENFS_RETURN_IF_ERROR(StartThreads(parts, mounted->resets_run));
  ZENFS_RETURN_IF_ERROR(SyncTakenOver(parts, mounted->orphans));
  return mount;
}

}  // namespace zenfs
