#include "metalog/metalog.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>
#include <utility>

#include "base/aligned_buffer.h"
#include "base/random.h"
#include "format/metalog_payload.h"
#include "metalog/flush.h"
#include "metalog/metalog_impl.h"
#include "metalog/replay.h"
#include "metalog/state_snapshot.h"
#include "metalog/switch_run.h"

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

// Active zones of each copy of the metadata log: the current one and the one of a log switch.
constexpr std::uint32_t kSlots = 2;

// Writes a complete, durable generation with `start.copies` copies that has room for commits after its SwitchComplete.
Status WriteGeneration(ZonedDevice& device, const Superblock& superblock, Metazones& zones,
                       GenerationWriter::Start start, const State& state) {
  const std::uint64_t sequence = start.base_sequence;
  GenerationWriter writer(device, superblock, zones, std::move(start));
  ZENFS_RETURN_IF_ERROR(writer.BeginZone());
  ZENFS_RETURN_IF_ERROR(WriteSnapshot(writer, state, sequence));
  const MetalogSpace space{.zone_bytes = SmallestZone(device, zones.zones()),
                           .zones = zones.usable(),
                           .block_size = device.geometry().block_size,
                           .copies = CopiesOf(superblock, device.geometry())};
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
    if (result.error().code() == Code::kBusy) zones.FinishSuperseded({}, 0);
  }
  return result;
}

Result<std::unique_ptr<Metalog>> Metalog::Open(ZonedDevice& device, const Superblock& superblock,
                                               const std::function<Status(const State&)>& approve) {
  const bool exclusive = device.mode() == OpenMode::kExclusive;
  if (exclusive) ZENFS_RETURN_IF_ERROR(CheckWritable(superblock));
  ZENFS_ASSIGN_OR_RETURN(Replayed replayed, Replay(device, superblock));
  if (approve) ZENFS_RETURN_IF_ERROR(approve(replayed.state));
  if (exclusive && replayed.doubt) return Fail(Code::kReadOnly, *replayed.doubt);
  auto log = std::make_unique<MetalogImpl>(device, superblock, std::move(replayed));
  if (exclusive) ZENFS_RETURN_IF_ERROR(log->BeginWriting());
  if (exclusive) log->NoteLostCopy();
  return log;
}

MetalogImpl::MetalogImpl(ZonedDevice& device, const Superblock& superblock, Replayed replayed)
    : recovered_(replayed.state),
      lost_copies_(replayed.lost_copies),
      torn_copies_(replayed.torn_copies),
      newer_traces_(replayed.newer_traces),
      log_(device, superblock, std::move(replayed), [this] { SwitchRun(log_).Run(); }) {}

Status MetalogImpl::BeginWriting() {
  // The replayed frames may be in the device's cache only. New commits rely on them.
  ZENFS_RETURN_IF_ERROR(FlushDevice(log_.device));
  std::vector<ZoneId> chain;
  bool tail_is_clean = false;
  {
    MutexLock lock(log_.mutex);
    chain = log_.current.writer().chain();  // all zones, also those with damage
    tail_is_clean = log_.current.tail_is_clean();
  }
  // This mount ignored an unfinished log switch. No later mount may find it complete.
  if (newer_traces_) log_.zones.ResetAllBut(chain);
  log_.zones.FinishSuperseded(chain, log_.spare_slots);
  if (const std::uint32_t slots = log_.device.geometry().max_active; slots != 0)
    log_.zones.LimitOthers(slots - kSlots * log_.copies);
  // The other metadata zones may be reset, so a zone of the current generation must hold a superblock.
  const bool superblock_is_there = log_.zones.HoldSuperblock(chain);
  if (tail_is_clean && superblock_is_there) return ReplaceLostCopy(chain);
  if (Status switched = Switch(); !switched.ok()) {
    return Fail(
        Code::kReadOnly,
        fmt::format("{}: {} and the metadata log cannot be moved to another zone ({}); mount read-only",
                    log_.device.name(),
                    superblock_is_there ? "the metadata log ends in a torn frame"
                                        : "the zones of the current metadata log hold no valid superblock",
                    switched.error().ToString()));
  }
  return {};
}

Status MetalogImpl::ReplaceLostCopy(const std::vector<ZoneId>& chain) {
  if (log_.copies == 1) return {};
  const bool whole = lost_copies_.empty() && log_.zones.AllHoldSuperblock(chain);
  {
    MutexLock lock(log_.mutex);
    if (whole && log_.current.writer().copies() == log_.copies) return {};
  }
  if (log_.zones.Others(chain) < log_.copies) return {};
  IgnoreError(Switch());
  return health();
}

void MetalogImpl::NoteLostCopy() {
  std::vector<std::uint32_t> zones;
  for (const ZoneId zone : lost_copies_) {
    if (!torn_copies_.contains(zone)) zones.push_back(zone.value);
  }
  if (zones.empty()) return;
  MutexLock lock(log_.mutex);
  log_.stats.lost_copy = fmt::format(
      "metadata zone {}: frames of the metadata log are gone or damaged there; they were read from their "
      "other copy. {}",
      fmt::join(zones, ", "),
      log_.stats.copies == 2 ? "The log was written anew, and has two copies again"
                             : "Too few other zones are good for a second copy: make a backup, and mkfs on a "
                               "sound device");
}

void MetalogImpl::SetSink(CommitSink* sink) {
  MutexLock lock(log_.mutex);
  log_.sink = sink;
}

void MetalogImpl::SetMetrics(Metrics* metrics) {
  MutexLock lock(log_.mutex);
  log_.metrics = metrics;
  if (log_.current.has_writer()) log_.CountWritten();
  log_.NoteWanted();
}

Status MetalogImpl::Commit(std::vector<Edit> edits, CommitOptions options) noexcept {
  return commits_.Commit(std::move(edits), options);
}

Status MetalogImpl::CheckRoom(std::uint64_t bytes) const { return commits_.CheckRoom(bytes); }

Status MetalogImpl::Switch() noexcept {
  MutexLock lock(log_.mutex);
  if (!log_.health.ok()) return log_.health;
  if (!log_.current.has_writer())
    return Fail(Code::kReadOnly, log_.device.name() + ": the metadata log was opened read-only");
  log_.log_switch.AwaitEnd(log_.mutex);
  if (log_.stopping) return Fail(Code::kShutdown, log_.device.name() + ": the metadata log was stopped");
  return log_.log_switch.StartAndWait(log_.mutex, 0);
}

std::vector<ZoneId> MetalogImpl::zones() const { return log_.zones.zones(); }

std::uint32_t MetalogImpl::ClaimWantedZones() {
  if (log_.wanted_zones.load(std::memory_order_relaxed) == 0) return 0;
  MutexLock lock(log_.mutex);
  const std::uint32_t wanted = log_.wanted_zones.exchange(0);
  if (wanted != 0) log_.zones_claimed = true;
  return wanted;
}

void MetalogImpl::AddZones(std::span<const ZoneInfo> zones) {
  MutexLock lock(log_.mutex);
  // A running log switch does not name them.
  log_.log_switch.AwaitEnd(log_.mutex);
  std::vector<ZoneId> ids;
  for (const ZoneInfo& zone : zones) {
    ids.push_back(zone.id);
    const std::uint64_t room = zone.capacity - std::min(zone.capacity, log_.layout.frames_at);
    log_.smallest_zone_bytes = std::min(log_.smallest_zone_bytes, room);
  }
  log_.zones_claimed = false;
  if (ids.empty()) return;  // they are wanted again after the next commit
  log_.zones.Add(ids);
  // Their room counts once the device knows of them. If this fails, the next log switch names them.
  if (log_.health.ok() && !log_.stopping) IgnoreError(log_.log_switch.Start(0));
}

std::vector<ZoneId> MetalogImpl::TakeFreedZones() {
  if (!log_.has_freed_zones.exchange(false)) return {};
  MutexLock lock(log_.mutex);
  return std::exchange(log_.freed_zones, {});
}

void MetalogImpl::AwaitSwitch() {
  MutexLock lock(log_.mutex);
  log_.log_switch.AwaitEnd(log_.mutex);
}

void MetalogImpl::Stop() {
  Thread switcher;
  {
    MutexLock lock(log_.mutex);
    log_.stopping = true;
    while (!log_.queue.idle() || log_.log_switch.running()) {
      log_.log_switch.AwaitEnd(log_.mutex);
      log_.queue.AwaitIdle(log_.mutex);
    }
    switcher = log_.log_switch.TakeThread();
  }
  switcher.Join();
  MutexLock lock(log_.mutex);
  if (log_.current.has_writer()) log_.current.writer().ReleaseDevice();
}

Status MetalogImpl::health() const {
  MutexLock lock(log_.mutex);
  return log_.health;
}

MetalogStats MetalogImpl::stats() const {
  MutexLock lock(log_.mutex);
  MetalogStats stats = log_.stats;
  if (log_.current.has_writer()) stats.bytes_written += log_.current.writer().bytes_written();
  return stats;
}

}  // namespace zenfs
