#include "metalog/metalog.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>
#include <utility>

#include "base/aligned_buffer.h"
#include "base/assert.h"
#include "base/random.h"
#include "metalog/older_log.h"
#include "metalog/replay.h"

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
    ZENFS_ASSIGN_OR_RETURN(const ZoneInfo info, device.ReportZone(zone));
    if (info.type != ZoneType::kSequentialRequired) {
      return Fail(Code::kInvalidArgument,
                  fmt::format("{}: metadata zone {} is {}, not sequential write required", device.name(),
                              zone.value, TypeName(info.type)));
    }
  }
  return {};
}

// Room for frames, in bytes, of the smallest metadata zone. Zones that are offline or cannot be reported do not count.
std::uint64_t SmallestZone(ZonedDevice& device, std::span<const ZoneId> zones) {
  const MetazoneLayout layout(device.geometry().block_size);
  std::uint64_t smallest = device.geometry().zone_size;
  for (const ZoneId zone : zones) {
    const Result<ZoneInfo> report = device.ReportZone(zone);
    if (!report || report->condition == ZoneCondition::kOffline) continue;
    smallest = std::min(smallest, report->capacity);
  }
  return smallest > layout.frames_at ? smallest - layout.frames_at : 0;
}

// --- a generation of Format and Rebuild ---

// Writes a complete, durable generation with `start.copies` copies that has room for commits after its SwitchComplete.
Status WriteGeneration(ZonedDevice& device, const Superblock& superblock, Metazones& zones,
                       GenerationWriter::Start start, const State& state) {
  GenerationWriter writer(device, superblock, zones, std::move(start));
  ZENFS_RETURN_IF_ERROR(writer.BeginZone());
  ZENFS_RETURN_IF_ERROR(writer.WriteSnapshot(state));
  const MetalogSpace space{.zone_bytes = SmallestZone(device, zones.zones()),
                           .zones = zones.usable(),
                           .block_size = device.geometry().block_size,
                           .copies = CopiesOf(superblock, device.geometry())};
  if (writer.room() < space.block_size + space.MinRoom()) ZENFS_RETURN_IF_ERROR(writer.BeginZone());
  ZENFS_RETURN_IF_ERROR(FlushDevice(device));
  ZENFS_RETURN_IF_ERROR(writer.WriteSwitchComplete());
  return FlushDevice(device);
}

// The same with as many copies as the volume wants, or with one if too few zones are good.
Status WriteCopies(ZonedDevice& device, const Superblock& superblock, Metazones& zones,
                   GenerationWriter::Start start, const State& state) {
  start.copies = CopiesOf(superblock, device.geometry());
  const Status written = WriteGeneration(device, superblock, zones, start, state);
  if (start.copies == 1 || written.ok() || written.error().code() != Code::kNoSpace) return written;
  ++start.generation;
  start.salt = RandomSeed();
  start.copies = 1;
  return WriteGeneration(device, superblock, zones, std::move(start), state);
}

// The zones that generation 1 does not use get a copy of the superblock; on a device with few slots only as many as may stay
// active until the first log switch. A zone that can't be written is left: generation 1 is there.
void WriteSpares(ZonedDevice& device, const Superblock& superblock) {
  const Geometry& geometry = device.geometry();
  const MetazoneLayout layout(geometry.block_size);
  const bool limited = geometry.max_active != 0 || geometry.max_open != 0;
  std::size_t left = limited ? CopiesOf(superblock, geometry) : superblock.metadata_zones.size();
  AlignedBuffer buffer(layout.frames_at);
  for (const ZoneId zone : superblock.metadata_zones) {
    const Result<ZoneInfo> info = device.ReportZone(zone);
    if (!info || info->condition != ZoneCondition::kEmpty) continue;
    if (left-- == 0) return;
    PutHead(superblock, LogHeader{}, zone, 0, layout, buffer);
    if (!device.Write(info->start, buffer.View(0, layout.frames_at)).ok()) IgnoreError(device.Finish(zone));
  }
}

// The added metadata zones of a log that may be damaged, without those that `state` uses for data.
std::vector<ZoneId> AddedZonesBeside(ZonedDevice& device, const Superblock& superblock, const State& state) {
  std::set<ZoneId> used(superblock.metadata_zones.begin(), superblock.metadata_zones.end());
  for (const auto& [id, zone] : state.log_zones()) used.insert(id);
  for (const auto& [id, file] : state.files()) {
    for (const Extent& extent : file->extents) used.insert(device.geometry().ZoneOf(extent.place));
  }
  std::vector<ZoneId> added = MetadataZones(device, superblock);
  std::erase_if(added, [&](ZoneId zone) { return used.contains(zone); });
  return added;
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
  ZENFS_RETURN_IF_ERROR(WriteCopies(device, superblock, zones,
                                    {.generation = 1,
                                     .salt = RandomSeed(),
                                     .base_sequence = 0,
                                     .keep = {},
                                     .after = superblock.metadata_zones.back()},
                                    state));
  WriteSpares(device, superblock);
  return FlushDevice(device);
}

Status Metalog::Rebuild(ZonedDevice& device, const Superblock& superblock, const State& state,
                        const NewGeneration& wanted) {
  ZENFS_RETURN_IF_ERROR(CheckZones(device, superblock));
  // The data just read may be in the device's cache only. The new generation relies on it.
  ZENFS_RETURN_IF_ERROR(FlushDevice(device));
  Metazones zones(device, superblock, AddedZonesBeside(device, superblock, state));
  Status result;
  for (std::size_t attempt = 0; attempt <= zones.zones().size(); ++attempt) {
    result =
        WriteCopies(device, superblock, zones,
                    {.generation = wanted.generation + 2 * attempt,
                     .salt = RandomSeed(),
                     .base_sequence = wanted.sequence,
                     .keep = wanted.keep,
                     .after = wanted.keep.empty() ? superblock.metadata_zones.back() : wanted.keep.back()},
                    state);
    if (result.ok() || result.error().code() == Code::kNoSpace) break;
    // No active slot is free. A finished zone needs no slot and stays readable.
    if (result.error().code() != Code::kBusy) continue;
    zones.FinishSuperseded(wanted.may_finish_kept ? std::vector<ZoneId>() : wanted.keep, 0);
  }
  return result;
}

// --- opening ---

namespace {

// Active zones of each copy of the metadata log: the current one and the one of a log switch.
constexpr std::uint32_t kSlots = 2;

// Number of superseded zones that may stay active. zone/zone_limits.h relies on it.
std::size_t SpareSlots(const Geometry& geometry, std::uint32_t copies) {
  const bool limited = geometry.max_active != 0 || geometry.max_open != 0;
  return limited ? copies : kMaxMetadataZones;
}

// Null if the device is read-only.
std::unique_ptr<GenerationWriter> WriterOf(ZonedDevice& device, const Superblock& superblock,
                                           Metazones& zones, const Replayed& replayed) {
  if (device.mode() == OpenMode::kReadOnly) return nullptr;
  return std::make_unique<GenerationWriter>(device, superblock, zones, replayed);
}

// MetalogStats::lost_copy. `zones`: those that lost more than a last frame.
std::string LostCopyText(const std::vector<std::uint32_t>& zones, std::uint32_t copies) {
  if (zones.empty()) return {};
  return fmt::format(
      "metadata zone {}: frames of the metadata log are gone or damaged there; they were read from their "
      "other copy. {}",
      fmt::join(zones, ", "),
      copies == 2
          ? "The log was written anew, and has two copies again"
          : "Too few other zones are good for a second copy: make a backup, and mkfs on a sound device");
}

}  // namespace

Result<std::unique_ptr<Metalog>> Metalog::Open(ZonedDevice& device, const Superblock& superblock,
                                               const std::function<Status(const State&)>& approve) {
  const bool exclusive = device.mode() == OpenMode::kExclusive;
  if (exclusive) ZENFS_RETURN_IF_ERROR(CheckWritable(superblock));
  if (exclusive) ZENFS_RETURN_IF_ERROR(CheckNotBeingUndone(device, superblock));
  ZENFS_ASSIGN_OR_RETURN(Replayed replayed, Replay(device, superblock));
  if (approve) ZENFS_RETURN_IF_ERROR(approve(replayed.state));
  if (exclusive && replayed.doubt) return Fail(Code::kReadOnly, *replayed.doubt);
  const bool newer_traces = replayed.newer_traces;
  const bool has_lost_copies = !replayed.lost_copies.empty();
  std::vector<std::uint32_t> lost;
  for (const ZoneId zone : replayed.lost_copies) {
    if (!replayed.torn_copies.contains(zone)) lost.push_back(zone.value);
  }
  auto log = std::make_unique<Metalog>(device, superblock, std::move(replayed));
  if (!exclusive) return log;
  ZENFS_RETURN_IF_ERROR(log->BeginWriting(newer_traces, has_lost_copies));
  {
    MutexLock lock(log->mutex_);
    log->stats_.lost_copy = LostCopyText(lost, log->stats_.copies);
  }
  return log;
}

Metalog::Metalog(ZonedDevice& device, const Superblock& superblock, Replayed replayed)
    : device_(device),
      superblock_(superblock),
      layout_(device.geometry().block_size),
      wanted_copies_(CopiesOf(superblock, device.geometry())),
      spare_slots_(SpareSlots(device.geometry(), wanted_copies_)),
      recovered_(replayed.state),
      zones_(device, superblock_, replayed.added_zones),
      current_(WriterOf(device, superblock_, zones_, replayed), replayed.tail_is_clean(),
               std::max(replayed.generation, replayed.highest_generation)),
      replica_(std::move(replayed.state)),
      log_switch_([this] { RunCheckpoint(); }),
      smallest_zone_bytes_(SmallestZone(device, zones_.zones())) {
  stats_.generation = replayed.generation;
  stats_.sequence = replayed.sequence;
  stats_.wanted_copies = wanted_copies_;
  stats_.copies = replayed.tail.size() == 2 && replayed.lost_copies.empty() ? 2 : 1;
  if (current_.has_writer())
    current_.SetSwitchRoom(std::min(space().SwitchReserve(), current_.writer().zone_capacity() / 4));
}

Result<bool> Metalog::WouldFinishData(ZonedDevice& device, const Superblock& superblock) {
  const std::uint32_t slots = device.geometry().max_active;
  if (slots == 0) return false;
  ZENFS_ASSIGN_OR_RETURN(std::vector<ZoneInfo> others, ReportAll(device));
  const std::vector<ZoneId> own = MetadataZones(device, superblock);
  std::erase_if(others, [&](const ZoneInfo& zone) {
    return !IsActive(zone.condition) || std::ranges::find(own, zone.id) != own.end();
  });
  return others.size() > slots - kSlots * CopiesOf(superblock, device.geometry());
}

Status Metalog::BeginWriting(bool newer_traces, bool has_lost_copies) {
  // The replayed frames may be in the device's cache only. New commits rely on them.
  ZENFS_RETURN_IF_ERROR(FlushDevice(device_));
  std::vector<ZoneId> chain;
  bool tail_is_clean = false;
  {
    MutexLock lock(mutex_);
    chain = current_.writer().chain();  // all zones, also those with damage
    tail_is_clean = current_.tail_is_clean();
  }
  // This mount ignored an unfinished log switch. No later mount may find it complete.
  if (newer_traces) zones_.ResetAllBut(chain);
  zones_.FinishSuperseded(chain, spare_slots_);
  if (const std::uint32_t slots = device_.geometry().max_active; slots != 0)
    zones_.LimitOthers(slots - kSlots * wanted_copies_);
  if (superblock_.was_older() && recovered_.epoch() == 0)
    ZENFS_RETURN_IF_ERROR(WipeOlderPlaces(device_, chain));
  // The other metadata zones may be reset, so a zone of the current generation must hold a superblock.
  const bool superblock_is_there = zones_.HoldSuperblock(chain);
  if (tail_is_clean && superblock_is_there) return ReplaceLostCopy(chain, has_lost_copies);
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

Status Metalog::ReplaceLostCopy(const std::vector<ZoneId>& chain, bool has_lost_copies) {
  if (wanted_copies_ == 1) return {};
  const bool whole = !has_lost_copies && zones_.AllHoldSuperblock(chain);
  {
    MutexLock lock(mutex_);
    if (whole && current_.writer().copies() == wanted_copies_) return {};
  }
  if (zones_.Others(chain) < wanted_copies_) return {};
  IgnoreError(Switch());
  return health();
}

void Metalog::SetSink(CommitSink* sink) {
  MutexLock lock(mutex_);
  sink_ = sink;
}

void Metalog::SetMetrics(Metrics* metrics) {
  MutexLock lock(mutex_);
  metrics_ = metrics;
  if (current_.has_writer()) CountWritten();
  NoteWanted();
}

// --- the zones of the log ---

MetalogSpace Metalog::space() const {
  MetalogSpace space{.zone_bytes = smallest_zone_bytes_,
                     .zones = zones_.usable(),
                     .block_size = layout_.block_size,
                     .copies = wanted_copies_};
  space.may_grow =
      superblock_.may_add_metadata_zones() && zones_.size() + space.ZonesOfPlace() <= kMaxMetadataZones;
  return space;
}

void Metalog::NoteWanted(std::uint64_t bytes) {
  // A running log switch can't name more zones.
  const bool may = current_.has_writer() && !log_switch_.running() && !zones_claimed_ && !zones_.HasFresh();
  wanted_zones_.store(may ? space().ZonesNeeded(replica_.used_bytes(), bytes) : 0, std::memory_order_relaxed);
}

std::uint32_t Metalog::ClaimWantedZones() {
  if (wanted_zones_.load(std::memory_order_relaxed) == 0) return 0;
  MutexLock lock(mutex_);
  const std::uint32_t wanted = wanted_zones_.exchange(0);
  if (wanted != 0) zones_claimed_ = true;
  return wanted;
}

void Metalog::AddZones(std::span<const ZoneInfo> zones) {
  MutexLock lock(mutex_);
  // A running log switch does not name them.
  log_switch_.AwaitEnd(mutex_);
  std::vector<ZoneId> ids;
  for (const ZoneInfo& zone : zones) {
    ids.push_back(zone.id);
    const std::uint64_t room = zone.capacity - std::min(zone.capacity, layout_.frames_at);
    smallest_zone_bytes_ = std::min(smallest_zone_bytes_, room);
  }
  zones_claimed_ = false;
  if (ids.empty()) return;  // they are wanted again after the next commit
  zones_.Add(ids);
  // Their room counts once the device knows of them. If this fails, the next log switch names them.
  if (health_.ok() && !stopping_) IgnoreError(log_switch_.Start(0));
}

std::vector<ZoneId> Metalog::TakeFreedZones() {
  if (!has_freed_zones_.exchange(false)) return {};
  MutexLock lock(mutex_);
  return std::exchange(freed_zones_, {});
}

// --- health and end ---

void Metalog::CheckReplica(const Status& applied) {
  if (applied.ok()) return;
  GoReadOnly(
      applied.error().With(device_.name() + ": a commit contradicts the metadata log's own state (a bug)"));
}

void Metalog::GoReadOnly(const Error& why) {
  if (health_.ok())
    health_ = Fail(why.code() == Code::kCorruption ? why : Error(Code::kReadOnly, why.text()));
  for (CommitCall* call : queue_.TakeAll()) {
    replica_.Release(call->reserved);
    call->Complete(health_);
  }
}

void Metalog::CountWritten() {
  if (metrics_ == nullptr) return;
  metrics_->RaiseTo(Value::kMetadataBytes, stats_.bytes_written + current_.writer().bytes_written());
  metrics_->RaiseTo(Value::kMetaFrames, stats_.frames_written);
  metrics_->Set(Value::kMetadataCopies, stats_.copies);
}

void Metalog::Stop() {
  Thread switcher;
  {
    MutexLock lock(mutex_);
    stopping_ = true;
    while (!queue_.idle() || log_switch_.running()) {
      log_switch_.AwaitEnd(mutex_);
      queue_.AwaitIdle(mutex_);
    }
    switcher = log_switch_.TakeThread();
  }
  switcher.Join();
  MutexLock lock(mutex_);
  if (current_.has_writer()) current_.writer().ReleaseDevice();
}

Status Metalog::health() const {
  MutexLock lock(mutex_);
  return health_;
}

MetalogStats Metalog::stats() const {
  MutexLock lock(mutex_);
  MetalogStats stats = stats_;
  if (current_.has_writer()) stats.bytes_written += current_.writer().bytes_written();
  return stats;
}

}  // namespace zenfs
