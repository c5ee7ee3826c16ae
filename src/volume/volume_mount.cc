// Recovery: from a device to a volume that can be used.
//
//   superblock -> metadata log replayed -> zones told what is live -> log zones scanned, logs put together
//   what a dead process left in its append buffers goes to the device, as more of its epoch
//   flush; one commit that seals every log's tail and begins a new epoch; then resets may start
//
// The flush comes first because what a scan found may be in the device's cache only: a seal must not outlive
// the frames it vouches for. Nothing is reset before a commit, because what the metadata log said may
// itself have been in the cache only until then.
#include <fmt/format.h>

#include "device/guarded_device.h"
#include "device/metered_device.h"
#include "metalog/probe.h"
#include "model/number_limits.h"
#include "reclaim/log_fold.h"
#include "volume/counting_sink.h"
#include "volume/file_names.h"
#include "volume/log_reserve.h"
#include "volume/places.h"
#include "volume/reader_volume.h"
#include "volume/volume_core.h"
#include "wal/epoch_witness.h"
#include "wal/log_scan.h"

namespace zenfs {
Result<std::shared_ptr<Volume>> Volume::Mount(std::unique_ptr<ZonedDevice> device,
                                              const MountOptions& options) {
  device = GuardDevice(std::move(device));
  ZENFS_RETURN_IF_ERROR(PlanSlots(device->geometry(), device->name()));
  if (device->mode() == OpenMode::kReadOnly) return ReaderVolume::Mount(std::move(device));
  ZENFS_ASSIGN_OR_RETURN(Superblock superblock, ProbeSuperblock(*device));
  const std::uint64_t unknown = superblock.read_only_compatible & ~kKnownReadOnlyCompatible;
  if (unknown != 0) {
    return Fail(Code::kReadOnly,
                fmt::format("{}: read-only-compatible feature bits {:#x} are newer than this "
                            "program; mount it read-only (?ro) or use a newer zenfs",
                            device->name(), unknown));
  }
  auto core = std::make_shared<VolumeCore>(std::move(device), std::move(superblock), options);
  ZENFS_RETURN_IF_ERROR(core->Recover());
  // Handles keep the core; the caller's pointer is what keeps the volume mounted.
  Volume* const volume = core.get();
  return std::shared_ptr<Volume>(volume, [core = std::move(core)](Volume* mounted) {
    IgnoreError(mounted->Unmount());  // who wants to know calls Unmount
  });
}

VolumeCore::VolumeCore(std::unique_ptr<ZonedDevice> device, Superblock superblock,
                       const MountOptions& options)
    : superblock_(std::move(superblock)),
      options_(options),
      geometry_(device->geometry()),
      device_name_(device->name()),
      device_(MeterDevice(std::move(device), metrics_)) {
  notices_ = device_->notices();
}

Status VolumeCore::Recover() {
  ZENFS_ASSIGN_OR_RETURN(metalog_, Metalog::Open(*device_, superblock_));
  metalog_->SetMetrics(&metrics_);
  const State& replayed_state = metalog_->recovered();
  ZENFS_ASSIGN_OR_RETURN(const std::vector<ZoneInfo> report,
                         device_->Report(ZoneId(0), geometry_.zone_count));
  const KnownZones known{geometry_, report, superblock_.metadata_zones};
  ZENFS_RETURN_IF_ERROR(CheckPlaces(replayed_state, known, device_name_));
  if (const auto flaw = FindNumberFrom(replayed_state, kStateNumbersStart)) {
    return Fail(Code::kCorruption,
                fmt::format("{}: {}; a read-only mount (?ro) shows the volume", device_name_, flaw->text));
  }
  epoch_ = replayed_state.epoch();
  ZENFS_RETURN_IF_ERROR(OpenLeft(replayed_state));
  ZENFS_ASSIGN_OR_RETURN(const std::optional<State> extended, CommitLeftExtents(replayed_state, known));
  const State& state = extended ? *extended : replayed_state;
  catalog_ = std::make_unique<Catalog>(state);
  ZENFS_ASSIGN_OR_RETURN(const SlotPlan plan, PlanSlots(geometry_, device_name_));
  const ZoneManager::Options space = SpaceOptions(geometry_, superblock_.metadata_zones);
  ZENFS_ASSIGN_OR_RETURN(zones_, ZoneManager::Create(*device_, plan, report, space));
  for (const auto& [id, zone] : state.log_zones()) zones_->AdoptLogZone(id);
  for (const auto& [id, record] : state.files()) {
    for (const Extent& extent : record->extents) zones_->AdoptExtent(extent, record->lifetime);
  }
  ZENFS_ASSIGN_OR_RETURN(auto replayed, ReplayLogs(state, report));
  {
    MutexLock lock(generation_mutex_);
    next_generation_ = state.next_generation();
  }
  log_ = std::make_unique<LogSpace>(LogSpace::Env{.device = device_.get(),
                                                  .zones = zones_.get(),
                                                  .reservations = this,
                                                  .volume = superblock_.seed,
                                                  .epoch = epoch_ + 1,
                                                  .reserve_target = space.log_in_use - 1,
                                                  .space_wait = options_.space_wait});
  for (const auto& [id, zone] : state.log_zones()) log_->Adopt(zone, report[id.value]);
  raw_sink_ = MakeZoneExtentSink(*zones_);
  sink_ = MakeCountingSink(*raw_sink_, plain_bytes_);
  MakeReclaim();
  drain_ = std::make_unique<LogDrain>(logs_);
  // Before anything commits: nobody counts while the metrics move there.
  ZENFS_RETURN_IF_ERROR(MakeStaging());
  metalog_->SetSink(this);
  const bool brings_back = !left_.pieces.empty();
  ZENFS_RETURN_IF_ERROR(BringBack(state, replayed));
  log_->FinishSpares();
  ZENFS_RETURN_IF_ERROR(SealLogs(replayed, state));
  ForgetLeft();
  metrics_.Set(Value::kEpoch, epoch_);
  metrics_.Set(Value::kMountTime, WallSeconds());
  ZENFS_RETURN_IF_ERROR(KeepMetrics());  // a file that can't be written is told now
  if (!brings_back) ZENFS_RETURN_IF_ERROR(zones_->Start());
  ZENFS_RETURN_IF_ERROR(log_->Start());
  ZENFS_RETURN_IF_ERROR(drain_->Start());
  if (!brings_back) ZENFS_RETURN_IF_ERROR(reclaimer_->Start());
  return {};
}

Result<std::unordered_map<FileId, ReplayedLog>> VolumeCore::ReplayLogs(const State& state,
                                                                       std::span<const ZoneInfo> report) {
  const std::set<FileId> tails = PlainFilesToBringBack(state);
  const auto is_log = [&](const FileRecord& record) {
    return record.shape == FileShape::kFramed || tails.contains(record.id);
  };
  EpochWitness witness;
  std::unordered_map<FileId, std::vector<ScannedFrame>> frames;
  for (const auto& [id, zone] : state.log_zones()) {
    if (report[id.value].condition == ZoneCondition::kOffline) {
      notices_.push_back(OfflineLogText(device_name_, id));
    }
    ScanLogZone(*device_, superblock_.seed, zone, report[id.value], [&](const ScannedFrame& frame) {
      witness.See(frame);
      const auto record = state.FindFile(FileId(frame.owner));
      if (record != nullptr && is_log(*record)) frames[record->id].push_back(frame);
    });
  }
  if (witness.SawBehind(state.epoch())) {
    return Fail(
        Code::kCorruption,
        fmt::format("{}: {}; zenfs check --repair takes up what the log holds, a read-only mount (?ro) "
                    "shows the volume without it",
                    device_name_, witness.Text(state.epoch())));
  }
  std::unordered_map<FileId, ReplayedLog> replayed;
  for (const auto& [id, record] : state.files()) {
    if (!is_log(*record)) continue;
    ReplayedLog log = ReplayLog(*record, state.epoch(), std::move(frames[id]));
    for (const LogDamage& lost : log.damage) {
      notices_.push_back(DamageText(lost, FileNames(state).Describe(id)));
    }
    replayed.emplace(id, std::move(log));
  }
  return replayed;
}

Status VolumeCore::SealLogs(std::unordered_map<FileId, ReplayedLog>& replayed, const State& state) {
  std::vector<Edit> edits;
  for (const auto& [id, log] : replayed) {
    if (!log.open_window) continue;
    const auto record = state.FindFile(id);
    SealLog seal{.id = id,
                 .windows = record->windows,
                 .next_sequence = log.open_window->last_sequence + 1,
                 .size = log.open_window->end,
                 .mtime_seconds = log.mtime_seconds};
    seal.windows.push_back(*log.open_window);
    edits.push_back(std::move(seal));
  }
  const std::uint64_t first_id = state.next_id();
  epoch_ = state.epoch() + 1;
  edits.push_back(BeginEpoch{epoch_});
  edits.push_back(RaiseCounters{first_id + IdAllocator::kBatch, state.next_generation()});
  ids_ = std::make_unique<IdAllocator>(
      first_id, first_id + IdAllocator::kBatch,
      [this](std::uint64_t next_id) { return Commit({RaiseCounters{next_id, 0}}); });
  if (staging_ != nullptr || !state.buffer_place().empty()) {
    edits.push_back(staging_ == nullptr ? SetBufferPlace{""} : staging_->PlaceEdit());
  }
  staging_named_ = Named::kPerhaps;
  ZENFS_RETURN_IF_ERROR(metalog_->Commit(std::move(edits), {.data_since = FlushMark::AtOpen()}));
  staging_named_ = Named::kYes;
  // From the records as they are now: sealed.
  for (auto& [id, log] : replayed) {
    const auto record = catalog_->FindFile(id);
    if (record->shape == FileShape::kPlain) continue;  // nothing was brought back
    logs_.Add(std::make_shared<FramedFile>(FramedEnv(), *record, std::move(log)));
  }
  logs_ready_ = true;
  return {};
}

}  // namespace zenfs
