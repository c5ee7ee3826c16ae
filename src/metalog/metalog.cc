#include "metalog/metalog.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/random.h"
#include "format/metalog_payload.h"
#include "metalog/flush.h"
#include "metalog/metalog_impl.h"
#include "metalog/state_snapshot.h"

namespace zenfs {
namespace {

constexpr std::size_t kMinMetadataZones = 2;  // for the old and the new generation of a log switch

// Fails if the superblock lists too few zones, or one that is not sequential write required.
Status CheckZones(ZonedDevice& device, const Superblock& superblock) {
  if (superblock.metadata_zones.size() < kMinMetadataZones) {
    return Fail(Code::kInvalidArgument,
                fmt::format("{}: the metadata log needs at least {} zones, not {}", device.name(),
                            kMinMetadataZones, superblock.metadata_zones.size()));
  }
  for (const ZoneId zone : superblock.metadata_zones) {
    ZENFS_ASSIGN_OR_RETURN(const std::vector<ZoneInfo> report, device.Report(zone, 1));
    if (report.front().type != ZoneType::kSequentialRequired) {
      return Fail(Code::kInvalidArgument,
                  fmt::format("{}: metadata zone {} is {}, not sequential write required", device.name(),
                              zone.value, TypeName(report.front().type)));
    }
  }
  return {};
}

// Room for frames, in bytes, of the smallest metadata zone. Zones that are offline or cannot be reported do not count.
std::uint64_t SmallestZone(ZonedDevice& device, const Superblock& superblock) {
  const MetazoneLayout layout(device.geometry().block_size);
  std::uint64_t smallest = device.geometry().zone_size;
  for (const ZoneId zone : superblock.metadata_zones) {
    const auto report = device.Report(zone, 1);
    if (!report || report->front().condition == ZoneCondition::kOffline) continue;
    smallest = std::min(smallest, report->front().capacity);
  }
  return smallest > layout.frames_at ? smallest - layout.frames_at : 0;
}

// Active zones of the metadata log: the current one and the one of a log switch.
constexpr std::uint32_t kSlots = 2;

// Number of superseded zones that may stay active. zone/slot_plan.h relies on it.
std::size_t SpareSlots(const Geometry& geometry) {
  const bool limited = geometry.max_active != 0 || geometry.max_open != 0;
  return limited ? 1 : kMaxMetadataZones;
}

// Writes a complete, durable generation that has room for commits after its SwitchComplete.
Status WriteGeneration(ZonedDevice& device, const Superblock& superblock, Metazones& zones,
                       GenerationWriter::Start start, const State& state) {
  const std::uint64_t sequence = start.base_sequence;
  GenerationWriter writer(device, superblock, zones, std::move(start));
  ZENFS_RETURN_IF_ERROR(writer.BeginZone());
  ZENFS_RETURN_IF_ERROR(WriteSnapshot(writer, state, sequence));
  const MetalogSpace space{.zone_bytes = SmallestZone(device, superblock),
                           .zones = zones.usable(),
                           .block_size = device.geometry().block_size};
  if (writer.room() < space.block_size + space.MinRoom()) ZENFS_RETURN_IF_ERROR(writer.BeginZone());
  ZENFS_RETURN_IF_ERROR(FlushDevice(device));
  const SwitchComplete complete{.salt = writer.salt(),
                                .frames = writer.frames(),
                                .sequence = sequence,
                                .chain_index = writer.chain_index()};
  ZENFS_RETURN_IF_ERROR(
      writer.Write(FrameKind::kSwitchComplete, EncodeSwitchComplete(complete), sequence, sequence));
  ZENFS_RETURN_IF_ERROR(FlushDevice(device));
  return {};
}

}  // namespace

Status Metalog::Format(ZonedDevice& device, const Superblock& superblock, std::span<const Edit> initial) {
  ZENFS_RETURN_IF_ERROR(CheckSuperblock(superblock));
  ZENFS_RETURN_IF_ERROR(CheckZones(device, superblock));
  State state;
  if (Status done = state.Apply(initial); !done.ok())
    return Fail(Code::kInvalidArgument, done.error().text());
  Metazones zones(device, superblock);
  zones.ResetAllBut({});
  ZENFS_RETURN_IF_ERROR(FlushDevice(device));
  return WriteGeneration(device, superblock, zones,
                         {.generation = 1,
                          .salt = RandomSeed(),
                          .base_sequence = 0,
                          .keep = {},
                          .after = superblock.metadata_zones.back()},
                         state);
}

Status Metalog::Rebuild(ZonedDevice& device, const Superblock& superblock, const State& state,
                        const NewGeneration& wanted) {
  ZENFS_RETURN_IF_ERROR(CheckZones(device, superblock));
  // The data just read may be in the device's cache only. The new generation relies on it.
  ZENFS_RETURN_IF_ERROR(FlushDevice(device));
  Metazones zones(device, superblock);
  Status result;
  for (std::size_t attempt = 0; attempt <= superblock.metadata_zones.size(); ++attempt) {
    result = WriteGeneration(
        device, superblock, zones,
        {.generation = wanted.generation + attempt,
         .salt = RandomSeed(),
         .base_sequence = wanted.sequence,
         .keep = wanted.keep,
         .after = wanted.keep.empty() ? superblock.metadata_zones.back() : wanted.keep.back()},
        state);
    if (result.ok() || result.error().code() == Code::kNoSpace) break;
    // No active slot is free. A finished zone needs no slot and stays readable.
    if (result.error().code() == Code::kBusy) zones.FinishSuperseded({}, 0);
  }
  return result;
}

Result<std::unique_ptr<Metalog>> Metalog::Open(ZonedDevice& device, const Superblock& superblock) {
  const bool exclusive = device.mode() == OpenMode::kExclusive;
  if (exclusive) ZENFS_RETURN_IF_ERROR(CheckWritable(superblock));
  ZENFS_ASSIGN_OR_RETURN(Replayed replayed, Replay(device, superblock));
  if (exclusive && replayed.doubt) return Fail(Code::kReadOnly, *replayed.doubt);
  auto log = std::make_unique<MetalogImpl>(device, superblock, std::move(replayed));
  if (exclusive) ZENFS_RETURN_IF_ERROR(log->BeginWriting());
  return log;
}

MetalogImpl::MetalogImpl(ZonedDevice& device, const Superblock& superblock, Replayed replayed)
    : device_(device),
      superblock_(superblock),
      layout_(device.geometry().block_size),
      spare_slots_(SpareSlots(device.geometry())),
      read_only_device_(device.mode() == OpenMode::kReadOnly),
      zones_(device, superblock_),
      recovered_(replayed.state),
      tail_is_clean_(replayed.tail_is_clean),
      newer_traces_(replayed.newer_traces),
      last_generation_(std::max(replayed.generation, replayed.highest_generation)),
      state_(std::move(replayed.state)),
      footprint_(state_),
      smallest_zone_(SmallestZone(device, superblock)) {
  stats_.generation = replayed.generation;
  stats_.sequence = replayed.sequence;
  if (read_only_device_) return;
  current_ = std::make_unique<GenerationWriter>(device_, superblock_, zones_,
                                                GenerationWriter::Resume{.generation = replayed.generation,
                                                                         .salt = replayed.salt,
                                                                         .chain = std::move(replayed.chain),
                                                                         .capacity = replayed.capacity,
                                                                         .position = replayed.position,
                                                                         .ordinal = replayed.frames,
                                                                         .sequence = replayed.sequence});
  switch_at_room_ = std::min(space().SwitchReserve(), current_->zone_capacity() / 4);
}

Status MetalogImpl::BeginWriting() {
  // The replayed frames may be in the device's cache only. New commits rely on them.
  ZENFS_RETURN_IF_ERROR(FlushDevice(device_));
  std::vector<ZoneId> chain;
  bool tail_is_clean = false;
  {
    MutexLock lock(mutex_);
    chain = current_->chain();
    tail_is_clean = tail_is_clean_;
  }
  // This mount ignored an unfinished log switch. No later mount may find it complete.
  if (newer_traces_) zones_.ResetAllBut(chain);
  zones_.FinishSuperseded(chain, spare_slots_);
  if (const std::uint32_t slots = device_.geometry().max_active; slots != 0)
    zones_.LimitOthers(slots - kSlots);
  // The other metadata zones may be reset, so a zone of the current generation must hold a superblock.
  const bool superblock_is_there = zones_.HoldSuperblock(chain);
  if (tail_is_clean && superblock_is_there) return {};
  if (Status switched = Switch(); !switched.ok()) {
    return Fail(
        Code::kReadOnly,
        fmt::format("{}: {} and the metadata log cannot be moved to another zone ({}); mount read-only",
                    device_.name(),
                    superblock_is_there ? "the metadata log ends in a torn frame"
                                        : "the zones of the current metadata log hold no valid superblock",
                    switched.error().ToString()));
  }
  return {};
}

void MetalogImpl::SetSink(CommitSink* sink) {
  MutexLock lock(mutex_);
  sink_ = sink;
}

void MetalogImpl::Stop() {
  Thread switcher;
  {
    MutexLock lock(mutex_);
    stopping_ = true;
    while (commits_active_ != 0 || switch_running_) {
      if (switch_running_) {
        switch_ended_.Wait(mutex_);
      } else {
        idle_.Wait(mutex_);
      }
    }
    switcher = std::move(switch_thread_);
  }
  switcher.Join();
}

Status MetalogImpl::health() const {
  MutexLock lock(mutex_);
  return health_;
}

void MetalogImpl::SetMetrics(Metrics* metrics) {
  MutexLock lock(mutex_);
  metrics_ = metrics;
}

void MetalogImpl::CountWritten() {
  if (metrics_ == nullptr) return;
  metrics_->RaiseTo(Value::kMetadataBytes, stats_.bytes_written + current_->bytes_written());
  metrics_->RaiseTo(Value::kMetaFrames, stats_.frames_written);
}

MetalogStats MetalogImpl::stats() const {
  MutexLock lock(mutex_);
  MetalogStats stats = stats_;
  if (current_ != nullptr) stats.bytes_written += current_->bytes_written();
  return stats;
}

}  // namespace zenfs
