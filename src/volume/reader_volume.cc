#include "volume/reader_volume.h"

#include <fmt/format.h>

#include <algorithm>

#include "metalog/probe.h"
#include "staging/staging_place.h"
#include "volume/reader_handle.h"
#include "volume/waiting_bytes.h"

namespace zenfs {
namespace {

// What a writer does in its metadata zones may make every copy of the superblock unreadable for one that looks
// at them in turn. Then they have moved, and it is tried again.
Result<Superblock> ProbeLive(ZonedDevice& device) {
  const Deadline deadline = Deadline::After(LogFollower::kPatience);
  const std::uint32_t count = std::min<std::uint32_t>(device.geometry().zone_count, kMaxMetadataZones);
  for (;;) {
    ZENFS_ASSIGN_OR_RETURN(const std::vector<ZoneInfo> before, device.Report(ZoneId(0), count));
    Result<Superblock> superblock = ProbeSuperblock(device);
    if (superblock) return superblock;
    ZENFS_ASSIGN_OR_RETURN(const std::vector<ZoneInfo> after, device.Report(ZoneId(0), count));
    const bool moved =
        !std::ranges::equal(before, after, {}, &ZoneInfo::WrittenBytes, &ZoneInfo::WrittenBytes);
    if (!moved || deadline.Passed()) return superblock;
  }
}

FileStat StatOfDirectory(const Directory& directory) {
  return {.id = directory.id, .is_directory = true, .mtime_seconds = directory.mtime_seconds};
}

Result<FileStat> StatOf(LiveState::View& view, FileId id) {
  if (const Directory* directory = view.state().FindDirectory(id)) return StatOfDirectory(*directory);
  const auto record = view.state().FindFile(id);
  ZENFS_ASSIGN_OR_RETURN(const std::uint64_t size, view.SizeOf(record));
  ZENFS_ASSIGN_OR_RETURN(const std::uint64_t mtime_seconds, view.MtimeOf(record));
  return FileStat{.id = id,
                  .shape = record->shape,
                  .size = size,
                  .mtime_seconds = mtime_seconds,
                  .links = record->links,
                  .lifetime = record->lifetime};
}

}  // namespace

Result<std::shared_ptr<Volume>> ReaderVolume::Mount(std::unique_ptr<ZonedDevice> device) {
  ZENFS_ASSIGN_OR_RETURN(Superblock superblock, ProbeLive(*device));
  auto reader = std::make_shared<ReaderVolume>(std::move(device), std::move(superblock));
  ZENFS_RETURN_IF_ERROR(reader->Recover());
  // Handles keep the reader; the caller's pointer is what keeps the volume mounted.
  Volume* const volume = reader.get();
  return std::shared_ptr<Volume>(volume, [reader = std::move(reader)](Volume* mounted) {
    IgnoreError(mounted->Unmount());  // nothing can fail: nothing was written
  });
}

ReaderVolume::ReaderVolume(std::unique_ptr<ZonedDevice> device, Superblock superblock)
    : superblock_(std::move(superblock)),
      geometry_(device->geometry()),
      device_name_(device->name()),
      device_(std::move(device)),
      live_(std::make_unique<LiveState>(*device_, superblock_)) {}

Status ReaderVolume::Recover() {
  return live_->Look([&](LiveState::View& view) -> Status {
    ZENFS_ASSIGN_OR_RETURN(const std::vector<std::string> damage, view.Damage());
    notices_ = device_->notices();
    notices_.insert(notices_.end(), damage.begin(), damage.end());
    const auto size_of = [&](FileId id) -> std::optional<std::uint64_t> {
      const auto record = view.state().FindFile(id);
      if (record == nullptr) return std::nullopt;
      const Result<std::uint64_t> size = view.SizeOf(record);
      return size ? std::optional(*size) : std::nullopt;
    };
    std::string waiting = DescribeWaitingBytes(view.state(), superblock_.uuid, *device_, size_of);
    if (!waiting.empty()) notices_.push_back(std::move(waiting));
    return {};
  });
}

Status ReaderVolume::Unmount() {
  if (fork_guard_.InChild() || gate_.closed()) return {};
  gate_.Close();
  live_.reset();
  device_.reset();
  return {};
}

Result<Gate::Entry> ReaderVolume::Enter() const {
  if (fork_guard_.InChild()) {
    return Fail(Code::kShutdown,
                fmt::format("{}: this process was forked from the one that mounted it; a forked child can't "
                            "use the volume",
                            device_name_));
  }
  Gate::Entry entry = gate_.Enter();
  if (!entry) return Fail(Code::kShutdown, fmt::format("{}: the volume is unmounted", device_name_));
  return entry;
}

Status ReaderVolume::Refuse() const {
  ZENFS_ASSIGN_OR_RETURN(const Gate::Entry entry, Enter());
  return Fail(Code::kReadOnly, fmt::format("{}: mounted read-only", device_name_));
}

Result<std::unique_ptr<FileHandle>> ReaderVolume::Create(std::string_view, Lifetime) {
  return Fail(Refuse().error());
}

Result<std::unique_ptr<FileHandle>> ReaderVolume::OpenForAppend(std::string_view, bool) {
  return Fail(Refuse().error());
}

Result<std::unique_ptr<PathLock>> ReaderVolume::Lock(std::string_view) { return Fail(Refuse().error()); }

Result<std::unique_ptr<FileHandle>> ReaderVolume::OpenForRead(std::string_view path, FileId known) {
  ZENFS_ASSIGN_OR_RETURN(const Gate::Entry entry, Enter());
  ZENFS_ASSIGN_OR_RETURN(std::shared_ptr<const LiveFile> file, live_->Open(path, known));
  return std::make_unique<ReaderHandle>(shared_from_this(), std::string(path), std::move(file));
}

Result<FileStat> ReaderVolume::Stat(std::string_view path) const {
  ZENFS_ASSIGN_OR_RETURN(const Gate::Entry gate, Enter());
  FileStat stat;
  ZENFS_RETURN_IF_ERROR(live_->Look([&](LiveState::View& view) -> Status {
    ZENFS_ASSIGN_OR_RETURN(const Entry entry, view.Resolve(path));
    ZENFS_ASSIGN_OR_RETURN(stat, StatOf(view, entry.id));
    return {};
  }));
  return stat;
}

Result<std::vector<DirectoryEntry>> ReaderVolume::List(std::string_view path) const {
  ZENFS_ASSIGN_OR_RETURN(const Gate::Entry gate, Enter());
  std::vector<DirectoryEntry> list;
  ZENFS_RETURN_IF_ERROR(live_->Look([&](LiveState::View& view) -> Status {
    ZENFS_ASSIGN_OR_RETURN(const Entry entry, view.Resolve(path));
    if (entry.kind == Entry::Kind::kFile) {
      return Fail(Code::kNotADirectory, fmt::format("{}: not a directory", path));
    }
    for (const auto& [name, id] : view.state().FindDirectory(entry.id)->entries) {
      ZENFS_ASSIGN_OR_RETURN(FileStat stat, StatOf(view, id));
      list.push_back({name, stat});
    }
    return {};
  }));
  return list;
}

Result<FileLayout> ReaderVolume::Layout(std::string_view path) const {
  ZENFS_ASSIGN_OR_RETURN(const Gate::Entry gate, Enter());
  ZENFS_ASSIGN_OR_RETURN(const std::shared_ptr<const LiveFile> file, live_->Open(path));
  FileLayout layout{.extents = file->record->extents};
  if (file->log == nullptr) return layout;
  for (const Piece& piece : file->log->index.pieces()) {
    if (piece.sequence == 0 || piece.damaged) continue;
    layout.frames.push_back({piece.file_offset, piece.place, piece.length});
    layout.last_sequence = std::max(layout.last_sequence, piece.sequence);
  }
  return layout;
}

Result<LiveZones> ReaderVolume::AccountZones() const {
  ZENFS_ASSIGN_OR_RETURN(const Gate::Entry gate, Enter());
  LiveZones zones;
  ZENFS_RETURN_IF_ERROR(live_->Look([&](LiveState::View& view) -> Status {
    ZENFS_ASSIGN_OR_RETURN(const auto frame_bytes, view.FrameBytes());
    ZENFS_ASSIGN_OR_RETURN(zones, AccountLiveZones(*device_, superblock_, view.state(), frame_bytes));
    return {};
  }));
  return zones;
}

SpaceReport ReaderVolume::Space() const {
  const auto zones = AccountZones();
  return zones ? zones->space : SpaceReport();
}

std::vector<ZoneStatus> ReaderVolume::Zones() const {
  auto zones = AccountZones();
  return zones ? std::move(zones->zones) : std::vector<ZoneStatus>();
}

std::uint64_t ReaderVolume::epoch() const {
  const Result<Gate::Entry> gate = Enter();
  std::uint64_t epoch = 0;
  if (!gate) return epoch;
  IgnoreError(live_->Look([&](LiveState::View& view) -> Status {  // health() tells why
    epoch = view.state().epoch();
    return {};
  }));
  return epoch;
}

std::string ReaderVolume::shared_memory_path() const {
  const Result<Gate::Entry> gate = Enter();
  WhoseBuffers whose;
  if (!gate) return "";
  IgnoreError(live_->Look([&](LiveState::View& view) -> Status {  // health() tells why
    whose = BuffersOf(view.state(), superblock_.uuid, *device_);
    return {};
  }));
  const auto place = StagingPlace::Parse(whose.place);
  if (!place || place->boot != whose.boot) return "";
  const auto owner = OwnerOfName(place->path);
  const bool foreign = owner && !whose.key.empty() && !IsTrustedOwner(*owner, whose.owners);
  return foreign ? "" : place->path;
}

MetalogStats ReaderVolume::metalog_stats() const {
  const Result<Gate::Entry> gate = Enter();
  MetalogStats stats;
  if (!gate) return stats;
  IgnoreError(live_->Look([&](LiveState::View& view) -> Status {  // health() tells why
    stats.generation = view.generation();
    stats.sequence = view.sequence();
    return {};
  }));
  return stats;
}

Status ReaderVolume::health() const {
  ZENFS_ASSIGN_OR_RETURN(const Gate::Entry gate, Enter());
  return live_->Look([](LiveState::View&) { return Status(); });
}

}  // namespace zenfs
