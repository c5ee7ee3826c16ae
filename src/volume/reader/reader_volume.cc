#include "volume/reader/reader_volume.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <span>

#include "base/crc32c.h"
#include "base/sync_point.h"
#include "buffers/buffer_area_place.h"
#include "metalog/metazones.h"
#include "metalog/probe.h"
#include "volume/flushed_bytes.h"
#include "volume/pair_proof.h"
#include "volume/reader/reader_handle.h"
#include "wal/log_zones.h"
#include "zone/zone_manager.h"

namespace zenfs {

// --- the mount ---

namespace {

// The probe reads the copies of the superblock one after the other. If a writer switches the metadata log meanwhile, each
// copy may be unreadable just when it is read. Then the write pointers have moved, and the probe is repeated.
Result<Superblock> ProbeLive(ZonedDevice& device) {
  const Deadline deadline = Deadline::After(LogFollower::kPatience);
  const std::uint32_t count = std::min<std::uint32_t>(device.geometry().zone_count, kMaxMetadataZones);
  for (;;) {
    ZENFS_ASSIGN_OR_RETURN(const std::vector<ZoneInfo> before, device.Report(ZoneId(0), count));
    Result<Superblock> superblock = ProbeReadable(device);
    if (superblock) return superblock;
    ZENFS_ASSIGN_OR_RETURN(const std::vector<ZoneInfo> after, device.Report(ZoneId(0), count));
    const bool moved =
        !std::ranges::equal(before, after, {}, &ZoneInfo::WrittenBytes, &ZoneInfo::WrittenBytes);
    if (!moved || deadline.Passed()) return superblock;
  }
}

}  // namespace

Result<std::shared_ptr<ReaderMount>> ReaderMount::Open(std::unique_ptr<ZonedDevice> device) {
  ZENFS_ASSIGN_OR_RETURN(Superblock superblock, ProbeLive(*device));
  auto mount = std::make_shared<ReaderMount>(std::move(device), std::move(superblock));
  ZENFS_RETURN_IF_ERROR(mount->CheckPair());
  ZENFS_RETURN_IF_ERROR(mount->FindShortfall());  // both logs can be read
  return mount;
}

ReaderMount::ReaderMount(std::unique_ptr<ZonedDevice> device, Superblock superblock)
    : info_{.superblock = std::move(superblock),
            .geometry = device->geometry(),
            .device_name = device->name(),
            .read_only = true},
      gate_(info_.device_name),
      device_(std::move(device)),
      live_(std::make_unique<LiveState>(*device_, info_.superblock)),
      announcements_(std::make_unique<ReaderAnnouncements>(*live_, info_.superblock, *device_)) {}

Status ReaderMount::CheckPair() const {
  const auto claim = [this]() -> Result<PairClaim> {
    PairClaim now;
    ZENFS_RETURN_IF_ERROR(live_->Look([&](LiveState::View& view) -> Status {
      now = PairClaim::Of(view.state());
      return {};
    }));
    return now;
  };
  return CheckPairLive(*device_, claim);
}

Result<Shortfall> ReaderMount::FindShortfall() const {
  ZENFS_ASSIGN_OR_RETURN(const Gate::Entry gate, Enter());
  Shortfall shortfall;
  ZENFS_RETURN_IF_ERROR(live_->Look([&](LiveState::View& view) -> Status {
    ZENFS_ASSIGN_OR_RETURN(shortfall, view.FindShortfall());
    return {};
  }));
  return shortfall;
}

Status ReaderMount::Refuse() const {
  ZENFS_ASSIGN_OR_RETURN(const Gate::Entry entry, Enter());
  return Fail(Code::kReadOnly, fmt::format("{}: mounted read-only", info_.device_name));
}

void ReaderMount::Unmount() {
  if (!gate_.Close()) return;
  announcements_.reset();
  live_.reset();
  device_.reset();
}

// --- announcements ---

namespace {

constexpr std::chrono::seconds kLookAgain{1};

}  // namespace

std::shared_ptr<const AnnouncedZones::Hold> ReaderAnnouncements::Announce(std::vector<ZoneId> zones) {
  const std::shared_ptr<AnnouncedZones> writer = Writer();
  return writer == nullptr ? nullptr : writer->Announce(std::move(zones));
}

std::shared_ptr<AnnouncedZones> ReaderAnnouncements::Writer() {
  {
    MutexLock lock(mutex_);
    if (writer_ != nullptr && writer_->WriterRuns()) return writer_;
    if (SteadyNow() < look_at_) return nullptr;
    look_at_ = SteadyNow() + kLookAgain;
  }
  WhoseBuffers whose;
  const Status looked = live_.Look([&](LiveState::View& view) -> Status {
    whose = BuffersOf(view.state(), superblock_.uuid, device_);
    return {};
  });
  std::shared_ptr<AnnouncedZones> writer = looked.ok() ? AnnouncedZones::Open(whose) : nullptr;
  MutexLock lock(mutex_);
  writer_ = writer;
  return writer;
}

// --- calls ---

namespace {

FileStat StatOfDirectory(const Directory& directory) {
  return {.id = directory.id, .is_directory = true, .mtime_seconds = directory.mtime_seconds};
}

// Errors: kNotFound if the file is gone.
Result<FileStat> StatOf(LiveState::View& view, FileId id) {
  if (const Directory* directory = view.state().FindDirectory(id)) return StatOfDirectory(*directory);
  const auto record = view.state().FindFile(id);
  if (record == nullptr) return Fail(Code::kNotFound, fmt::format("file {} was deleted", id.value));
  ZENFS_ASSIGN_OR_RETURN(const LiveState::View::SizeAndTime measured, view.Measure(record));
  return FileStat{.id = id,
                  .shape = record->shape,
                  .size = measured.size,
                  .mtime_seconds = measured.mtime_seconds,
                  .links = record->links,
                  .lifetime = record->lifetime};
}

FileLayout LayoutOf(const LiveFile& file) {
  FileLayout layout{.extents = file.shown->extents};
  for (const FlushedPart& part : file.flushed) {
    if (part.bytes.empty()) continue;
    layout.flushed.push_back(
        {.file_offset = part.offset, .place = {}, .length = part.bytes.size(), .crc = Crc32c(part.bytes)});
  }
  if (file.log == nullptr) return layout;
  for (const auto& [zone, bytes] : file.log->zones) layout.frame_bytes += bytes;
  for (const Piece& piece : file.log->index.pieces()) {
    if (piece.sequence == 0 || piece.damaged) continue;
    layout.frames.push_back({piece.file_offset, piece.place, piece.length});
    layout.last_sequence = std::max(layout.last_sequence, piece.sequence);
  }
  return layout;
}

}  // namespace

Status ReaderVolume::Unmount() {
  mount_->Unmount();
  return {};
}

Result<std::unique_ptr<FileHandle>> ReaderVolume::Create(std::string_view, Lifetime) {
  return Fail(mount_->Refuse().error());
}

Result<std::unique_ptr<FileHandle>> ReaderVolume::OpenForAppend(std::string_view, bool) {
  return Fail(mount_->Refuse().error());
}

Result<std::unique_ptr<PathLock>> ReaderVolume::Lock(std::string_view) {
  return Fail(mount_->Refuse().error());
}

Result<std::unique_ptr<FileHandle>> ReaderVolume::OpenForRead(std::string_view path, FileId known) {
  ZENFS_ASSIGN_OR_RETURN(const Gate::Entry entry, mount_->Enter());
  const Deadline deadline = Deadline::After(LogFollower::kPatience);
  std::shared_ptr<const FileRecord> before;
  for (;;) {
    ZENFS_ASSIGN_OR_RETURN(std::shared_ptr<const LiveFile> file, mount_->live().Open(path, known));
    const bool same = file->record == before;
    before = file->record;
    auto handle = std::make_unique<ReaderHandle>(mount_, std::string(path), std::move(file));
    SyncPoint::Reach("ReaderVolume::OpenForRead:found");
    // Opened without a look at the device, or not replaced: then the error was one of a read, as in an offline zone.
    if (known != kNoFile || same) return handle;
    const Status secured = handle->Secure();
    // A file that the writer has replaced meanwhile has a successor. Any other error is one of the reads.
    if (secured.ok() || secured.error().code() != Code::kNotFound || deadline.Passed()) return handle;
  }
}

Result<FileStat> ReaderVolume::Stat(std::string_view path) const {
  ZENFS_ASSIGN_OR_RETURN(const Gate::Entry gate, mount_->Enter());
  FileStat stat;
  ZENFS_RETURN_IF_ERROR(mount_->live().Look([&](LiveState::View& view) -> Status {
    ZENFS_ASSIGN_OR_RETURN(const Entry entry, view.Resolve(path));
    ZENFS_ASSIGN_OR_RETURN(stat, StatOf(view, entry.id));
    return {};
  }));
  return stat;
}

Result<std::vector<DirectoryEntry>> ReaderVolume::List(std::string_view path, FileId known) const {
  ZENFS_ASSIGN_OR_RETURN(const Gate::Entry gate, mount_->Enter());
  std::vector<DirectoryEntry> list;
  ZENFS_RETURN_IF_ERROR(mount_->live().Look([&](LiveState::View& view) -> Status {
    FileId listed = known;
    if (known == kNoFile) {
      ZENFS_ASSIGN_OR_RETURN(const Entry entry, view.Resolve(path));
      listed = entry.id;
    }
    const Directory* const directory = view.state().FindDirectory(listed);
    if (directory == nullptr) {
      return known == kNoFile ? Fail(Code::kNotADirectory, fmt::format("{}: not a directory", path))
                              : Fail(Code::kNotFound, fmt::format("{}: no such directory", path));
    }
    const auto entries = directory->entries;  // a copy: what follows may look at newer metadata
    std::vector<FileId> ids;
    for (const auto& [name, id] : entries) ids.push_back(id);
    if (Status measured = view.MeasureTogether(ids); !measured.ok()) return measured;
    for (const auto& [name, id] : entries) {
      const Result<FileStat> stat = StatOf(view, id);
      if (!stat && stat.error().code() == Code::kNotFound) continue;
      if (!stat) return Fail(stat.error());
      list.push_back({name, *stat});
    }
    return {};
  }));
  return list;
}

Result<FileLayout> ReaderVolume::Layout(std::string_view path) const {
  ZENFS_ASSIGN_OR_RETURN(const Gate::Entry gate, mount_->Enter());
  ZENFS_ASSIGN_OR_RETURN(const std::shared_ptr<const LiveFile> file, mount_->live().Open(path));
  return LayoutOf(*file);
}

Status ReaderVolume::ForEachLayout(std::span<const FileId> files, const EachLayout& each) const {
  constexpr std::size_t kAtOnce = 4096;  // so that their memory is bounded
  ZENFS_ASSIGN_OR_RETURN(const Gate::Entry gate, mount_->Enter());
  for (std::size_t from = 0; from < files.size(); from += kAtOnce) {
    const auto ids = files.subspan(from, std::min(kAtOnce, files.size() - from));
    ZENFS_ASSIGN_OR_RETURN(const auto found, mount_->live().FindMany(ids));
    for (std::size_t i = 0; i < found.size(); ++i) {
      if (found[i] != nullptr) ZENFS_RETURN_IF_ERROR(each(from + i, LayoutOf(*found[i])));
    }
  }
  return {};
}

// --- space ---

namespace {

// A zone that was reset after `state` was read still counts with its former extents.
void CoverExtents(const Geometry& geometry, const State& state, std::vector<ZoneInfo>& report) {
  for (const auto& [id, record] : state.files()) {
    for (const Extent& extent : record->extents) {
      const ZoneId zone = geometry.ZoneOf(extent.place);
      if (zone.value >= report.size()) continue;
      ZoneInfo& info = report[zone.value];
      const std::uint64_t end = BlocksOf(extent, geometry.block_size).end() - info.start;
      const bool movable = info.condition == ZoneCondition::kEmpty || IsActive(info.condition);
      if (!movable || end <= info.WrittenBytes() || end > info.capacity) continue;
      info.condition = end == info.capacity ? ZoneCondition::kFull : ZoneCondition::kClosed;
      info.write_pointer = info.start + end;
    }
  }
}

std::uint64_t PaddingOf(const State& state, std::uint32_t block_size) {
  std::uint64_t padding = 0;
  for (const auto& [id, record] : state.files()) {
    for (const Extent& extent : record->extents)
      padding += BlocksOf(extent, block_size).bytes - extent.length;
  }
  return padding;
}

void CountLogsAndMetadata(const std::map<ZoneId, std::uint64_t>& frame_bytes, LiveZones& out) {
  for (ZoneStatus& zone : out.zones) {
    if (zone.phase == ZonePhase::kMetadata) {
      zone.live = zone.written;
      out.space.metadata_used += zone.written;
    } else if (zone.phase == ZonePhase::kLog) {
      const auto found = frame_bytes.find(zone.id);
      const std::uint64_t frames = found == frame_bytes.end() ? 0 : found->second;
      // The frames were counted before the report. A zone that was reset in between holds none of them.
      zone.live = std::min(frames, zone.written);
      out.space.log_used += zone.live;
      out.space.log_garbage += zone.written - zone.live;
    }
  }
}

std::uint64_t SpareOfLog(const State& state, std::span<const ZoneStatus> zones, std::uint32_t group) {
  std::vector<LogZoneStatus> log;
  for (const auto& [id, allocated] : state.log_zones()) {
    const ZoneStatus& zone = zones[id.value];
    const bool writable =
        zone.phase == ZonePhase::kLog && allocated.sync_bytes == 0 && zone.written < zone.capacity;
    log.push_back({.zone = id,
                   .generation = allocated.generation,
                   .capacity = zone.capacity,
                   .written = zone.written,
                   .writable = writable});
  }
  return SpareBytes(log, group);
}

// What only a writer of format 3 keeps for itself is free on a volume of the older ZenFS.
void GiveAllToFiles(SpaceReport& space) {
  space.free += space.log + space.reclaim;
  space.log = space.reclaim = space.log_limit = 0;
}

// Counts zones and space from `state`, `frame_bytes` (device bytes of live frames by log zone) and a new report of all
// zones. The report may be later than the state: then the writer's changes in between show as garbage. Writes nothing and
// starts no thread. Errors: those of PlanSlots and of a zone report.
Result<LiveZones> AccountLiveZones(ZonedDevice& device, const Superblock& superblock, const State& state,
                                   const std::vector<ZoneId>& metadata_zones,
                                   const std::map<ZoneId, std::uint64_t>& frame_bytes) {
  const Geometry& geometry = device.geometry();
  ZENFS_ASSIGN_OR_RETURN(const SlotPlan plan,
                         PlanSlots(geometry, device.name(), CopiesOf(superblock, geometry)));
  ZENFS_ASSIGN_OR_RETURN(std::vector<ZoneInfo> report, ReportAll(device));
  CoverExtents(geometry, state, report);
  ZoneManager::Options options = SpaceOptions(geometry, metadata_zones);
  options.read_only = true;
  const std::uint32_t log_group = options.log.group;
  ZENFS_ASSIGN_OR_RETURN(const std::unique_ptr<ZoneManager> zones,
                         ZoneManager::Create(device, plan, std::move(report), std::move(options)));
  zones->Adopt(state);
  ZENFS_RETURN_IF_ERROR(zones->Start());
  LiveZones out{.zones = zones->Zones(), .space = zones->Space()};
  CountLogsAndMetadata(frame_bytes, out);
  if (geometry.log_zones == 0) out.space.CountSpareOfLog(SpareOfLog(state, out.zones, log_group));
  if (superblock.is_older()) GiveAllToFiles(out.space);
  out.space.padding = std::min(PaddingOf(state, geometry.block_size), out.space.live);
  return out;
}

}  // namespace

Result<LiveZones> ReaderVolume::LookAtZones() const {
  ZENFS_ASSIGN_OR_RETURN(const Gate::Entry gate, mount_->Enter());
  LiveZones zones;
  ZENFS_RETURN_IF_ERROR(mount_->live().Look([&](LiveState::View& view) -> Status {
    ZENFS_ASSIGN_OR_RETURN(const auto frame_bytes, view.FrameBytes());
    ZENFS_ASSIGN_OR_RETURN(zones, AccountLiveZones(mount_->device(), info().superblock, view.state(),
                                                   view.metadata_zones(), frame_bytes));
    return {};
  }));
  return zones;
}

SpaceReport ReaderVolume::Space() const {
  const auto zones = LookAtZones();
  return zones ? zones->space : SpaceReport();
}

std::vector<ZoneStatus> ReaderVolume::Zones() const {
  auto zones = LookAtZones();
  return zones ? std::move(zones->zones) : std::vector<ZoneStatus>();
}

std::string ReaderVolume::shared_memory_path() const {
  const Result<Gate::Entry> gate = mount_->Enter();
  WhoseBuffers whose;
  if (!gate) return "";
  IgnoreError(mount_->live().Look([&](LiveState::View& view) -> Status {  // health() returns the error
    whose = BuffersOf(view.state(), info().superblock.uuid, mount_->device());
    return {};
  }));
  const auto place = BufferAreaPlace::Parse(whose.place);
  if (!place || place->boot != whose.boot) return "";
  const auto owner = OwnerOfName(place->path);
  const bool foreign = owner && !whose.key.empty() && !IsTrustedOwner(*owner, whose.owners);
  return foreign ? "" : place->path;
}

VolumeCounters ReaderVolume::counters() const {
  const Result<Gate::Entry> gate = mount_->Enter();
  VolumeCounters counters;
  if (!gate) return counters;
  IgnoreError(mount_->live().Look([&](LiveState::View& view) -> Status {  // health() returns the error
    counters.epoch = view.state().epoch();
    counters.metalog.generation = view.generation();
    counters.metalog.sequence = view.sequence();
    return {};
  }));
  return counters;
}

std::vector<std::string> ReaderVolume::notices() const {
  const Result<Gate::Entry> gate = mount_->Enter();
  if (!gate) return {};
  std::vector<std::string> notices = mount_->device().notices();
  if (info().superblock.is_older()) {
    notices.push_back(OlderVolumeText(info().device_name, info().superblock));
    IgnoreError(mount_->live().Look([&](LiveState::View& view) -> Status {  // health() returns the error
      for (const OlderFlaw& flaw : view.older_flaws()) notices.push_back(flaw.text);
      return {};
    }));
  }
  Result<Shortfall> shortfall = mount_->FindShortfall();
  if (!shortfall) {
    notices.push_back(shortfall.error().ToString());
    return notices;
  }
  for (const Finding& lost : shortfall->lost) notices.push_back(lost.text);
  if (std::string rest = shortfall->lost.OmittedText(); !rest.empty()) notices.push_back(std::move(rest));
  if (!shortfall->unsynced.empty()) notices.push_back(std::move(shortfall->unsynced));
  return notices;
}

Status ReaderVolume::health() const {
  ZENFS_ASSIGN_OR_RETURN(const Gate::Entry gate, mount_->Enter());
  return mount_->live().Look([](LiveState::View&) { return Status(); });
}

}  // namespace zenfs
