#include "volume/reader/live_state.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "base/sync_point.h"
#include "volume/flushed_bytes.h"
#include "volume/fsck/file_names.h"
#include "volume/fsck/log_losses.h"

namespace zenfs {
namespace {

// True if the bytes from `from` to `to` that were read through `old` are those of `now`. Only for plain files.
bool SameBytes(const LiveFile& old, const LiveFile& now, std::uint64_t from, std::uint64_t to) {
  for (const Extent& extent : old.shown->extents) {
    if (extent.end() <= from || extent.file_offset >= to) continue;
    const std::size_t i = now.shown->FindExtent(extent.file_offset);
    if (i == now.shown->extents.size() || !(now.shown->extents[i] == extent)) return false;
  }
  for (const FlushedPart& part : old.flushed) {
    const std::uint64_t begin = std::max(from, part.offset);
    const std::uint64_t end = std::min(to, part.end());
    if (begin >= end) continue;
    const auto covers = [&](const FlushedPart& other) { return other.offset <= begin && end <= other.end(); };
    const auto it = std::ranges::find_if(now.flushed, covers);
    if (it == now.flushed.end()) return false;
    if (!std::ranges::equal(part.bytes.subspan(begin - part.offset, end - begin),
                            it->bytes.subspan(begin - it->offset, end - begin))) {
      return false;
    }
  }
  return true;
}

}  // namespace

std::uint64_t LiveFile::mtime_seconds() const {
  const std::uint64_t committed = log != nullptr ? log->mtime_seconds : shown->mtime_seconds;
  return flushed.empty() ? committed : std::max(committed, flushed.back().source.piece.appended_seconds);
}

LiveState::LiveState(ZonedDevice& device, const Superblock& superblock)
    : device_(device),
      superblock_(superblock),
      follower_(device, superblock),
      tails_(device, superblock.seed) {}

std::vector<ZoneId> LiveState::View::metadata_zones() const {
  owner_.mutex_.AssertHeld();
  return owner_.follower_.metadata_zones();
}

const State& LiveState::View::state() const {
  owner_.mutex_.AssertHeld();
  return owner_.follower_.state();
}

const std::vector<OlderFlaw>& LiveState::View::older_flaws() const {
  owner_.mutex_.AssertHeld();
  return owner_.follower_.older_flaws();
}

std::uint64_t LiveState::View::generation() const {
  owner_.mutex_.AssertHeld();
  return owner_.follower_.generation();
}

std::uint64_t LiveState::View::sequence() const {
  owner_.mutex_.AssertHeld();
  return owner_.follower_.sequence();
}

Result<Entry> LiveState::View::Resolve(std::string_view path) const {
  static const std::unordered_map<FileId, PendingFile> no_files;
  static const std::map<std::pair<FileId, std::string>, FileId, std::less<>> no_names;
  ZENFS_ASSIGN_OR_RETURN(Entry entry, CatalogView(state(), no_files, no_names).Resolve(path));
  if (entry.kind != Entry::Kind::kMissing) return entry;
  return Fail(Code::kNotFound, fmt::format("{}: no such file or directory", path));
}

Result<std::uint64_t> LiveState::View::DeviceSizeOf(const std::shared_ptr<const FileRecord>& record) {
  if (record->shape == FileShape::kPlain) return record->size;
  ZENFS_ASSIGN_OR_RETURN(const std::shared_ptr<const ReplayedLog> log, TailOf(record));
  return log->index.end();
}

Result<LiveState::View::SizeAndTime> LiveState::View::Measure(
    const std::shared_ptr<const FileRecord>& record) {
  owner_.mutex_.AssertHeld();
  if (const auto measured = measured_.find(record->id); measured != measured_.end()) return measured->second;
  if (!owner_.buffers_.PiecesOf(record->id).empty()) {
    ZENFS_ASSIGN_OR_RETURN(const auto file, owner_.FindLocked(record->id));
    if (file != nullptr) return SizeAndTime{file->size(), file->mtime_seconds()};
  }
  if (record->shape == FileShape::kPlain) return SizeAndTime{record->size, record->mtime_seconds};
  ZENFS_ASSIGN_OR_RETURN(const std::shared_ptr<const ReplayedLog> log, TailOf(record));
  return SizeAndTime{log->index.end(), log->mtime_seconds};
}

Status LiveState::View::MeasureTogether(std::span<const FileId> files) {
  owner_.mutex_.AssertHeld();
  std::vector<FileId> flushed;
  std::ranges::copy_if(files, std::back_inserter(flushed), [this](FileId id) {
    owner_.mutex_.AssertHeld();
    return !owner_.buffers_.PiecesOf(id).empty();
  });
  ZENFS_ASSIGN_OR_RETURN(const auto found, owner_.FindAll(flushed));
  for (std::size_t i = 0; i < found.size(); ++i) {
    if (found[i] != nullptr)
      measured_.insert_or_assign(flushed[i], SizeAndTime{found[i]->size(), found[i]->mtime_seconds()});
  }
  return {};
}

Result<std::shared_ptr<const ReplayedLog>> LiveState::View::TailOf(
    const std::shared_ptr<const FileRecord>& record) {
  owner_.mutex_.AssertHeld();
  ZENFS_RETURN_IF_ERROR(owner_.UpdateTails());
  return owner_.tails_.Log(record, state().epoch());
}

Result<std::map<ZoneId, std::uint64_t>> LiveState::View::FrameBytes() {
  std::map<ZoneId, std::uint64_t> sums;
  for (const auto& [id, record] : state().files()) {
    if (record->shape != FileShape::kFramed) continue;
    ZENFS_ASSIGN_OR_RETURN(const std::shared_ptr<const ReplayedLog> log, TailOf(record));
    for (const auto& [zone, bytes] : log->zones) sums[zone] += bytes;
  }
  return sums;
}

Result<Shortfall> LiveState::View::FindShortfall() {
  owner_.mutex_.AssertHeld();
  Shortfall shortfall{.unsynced = owner_.buffers_.problem(), .lost = {}, .lost_files = {}};
  std::vector<ZoneId> offline;
  for (const auto& [id, zone] : state().log_zones()) {
    ZENFS_ASSIGN_OR_RETURN(const ZoneInfo info, owner_.device_.ReportZone(id));
    if (info.condition == ZoneCondition::kOffline) offline.push_back(id);
  }
  std::vector<std::shared_ptr<const FileRecord>> files;
  for (const auto& [id, record] : state().files()) {
    if (record->shape == FileShape::kFramed || !owner_.buffers_.PiecesOf(id).empty()) files.push_back(record);
  }
  std::ranges::sort(files, {}, [](const auto& record) { return record->id; });
  std::map<FileId, std::shared_ptr<const ReplayedLog>> logs;
  std::vector<FileId> doubtful;
  for (const auto& record : files) {
    if (record->shape == FileShape::kFramed && owner_.buffers_.PiecesOf(record->id).empty()) {
      ZENFS_ASSIGN_OR_RETURN(logs[record->id], TailOf(record));
      if (logs[record->id]->damage.empty()) continue;
    }
    doubtful.push_back(record->id);
  }
  std::map<FileId, LostBytes> lost;
  ZENFS_ASSIGN_OR_RETURN(const auto found, owner_.FindAll(doubtful));
  for (std::size_t i = 0; i < doubtful.size(); ++i) {
    const std::shared_ptr<const LiveFile>& file = found[i];
    if (file == nullptr) {
      logs.erase(doubtful[i]);
      continue;
    }
    if (file->log != nullptr) logs[doubtful[i]] = file->log;
    if (file->lost) lost[doubtful[i]] = *file->lost;
    if (shortfall.unsynced.empty()) shortfall.unsynced = file->flaw;
  }
  if (offline.empty() && lost.empty() &&
      std::ranges::all_of(logs, [](const auto& entry) { return entry.second->damage.empty(); })) {
    return shortfall;
  }
  const FileNames names(state());
  LogLosses log_losses = FindLogLosses(owner_.device_.name(), owner_.device_.geometry(), state(), names,
                                       offline, [&](FileId id) {
                                         const auto it = logs.find(id);
                                         return it == logs.end() ? nullptr : it->second.get();
                                       });
  shortfall.lost = std::move(log_losses.findings);
  shortfall.lost_files.insert(log_losses.files.begin(), log_losses.files.end());
  for (const auto& [id, bytes] : lost) {
    FileNames::Paths paths = names.PathsOf(id);
    shortfall.lost.Add({.text = LostBeforeFlushedText(names.Describe(id), bytes.from, bytes.to, bytes.behind),
                        .paths = std::move(paths.whole),
                        .more_paths = paths.others});
    shortfall.lost_files.insert(id);
  }
  return shortfall;
}

Status LiveState::Look(const std::function<Status(View&)>& look) {
  MutexLock lock(mutex_);
  ZENFS_RETURN_IF_ERROR(RefreshAll());
  View view(*this);
  return look(view);
}

Result<std::shared_ptr<const LiveFile>> LiveState::Open(std::string_view path, FileId known) {
  MutexLock lock(mutex_);
  if (known != kNoFile && follower_.has_state()) {
    const Result<Entry> entry = View(*this).Resolve(path);
    const auto record = entry && entry->id == known ? follower_.state().FindFile(known) : nullptr;
    if (record != nullptr && record->shape == FileShape::kPlain)
      return FindOnce(known, LogTails::Evidence::kAll);
  }
  for (;;) {
    ZENFS_RETURN_IF_ERROR(RefreshAll());
    ZENFS_ASSIGN_OR_RETURN(const Entry entry, View(*this).Resolve(path));
    if (entry.kind == Entry::Kind::kDirectory) {
      return Fail(Code::kIsADirectory, fmt::format("{}: is a directory", path));
    }
    ZENFS_ASSIGN_OR_RETURN(std::shared_ptr<const LiveFile> file, FindLocked(entry.id));
    if (file != nullptr) return file;  // else it was deleted meanwhile; the name may now lead elsewhere
  }
}

Result<std::shared_ptr<const LiveFile>> LiveState::Find(FileId id) {
  MutexLock lock(mutex_);
  ZENFS_RETURN_IF_ERROR(RefreshAll());
  return FindLocked(id);
}

Result<std::vector<std::shared_ptr<const LiveFile>>> LiveState::FindMany(std::span<const FileId> ids) {
  MutexLock lock(mutex_);
  ZENFS_RETURN_IF_ERROR(RefreshAll());
  return FindAll(ids);
}

Result<LiveState::Confirmed> LiveState::Confirm(const std::shared_ptr<const LiveFile>& file,
                                                std::uint64_t from, std::uint64_t to) {
  SyncPoint::Reach("LiveState::Confirm");
  const bool from_memory = to > file->committed_end();
  if (const auto seen = LastSeen(); seen->version == file->version) {
    ZENFS_ASSIGN_OR_RETURN(const LogCheck check, CheckLog(device_, superblock_, seen->fingerprint));
    if (!check.moved) {
      if (check.confirmed != seen->fingerprint.taken) {
        LogFingerprint fingerprint = seen->fingerprint;
        fingerprint.taken = check.confirmed;
        Publish(std::move(fingerprint), seen->version);
      }
      if (!from_memory || file->flushed.front().source.Unchanged())
        return Confirmed{.proven = true, .file = file};
    }
  }
  MutexLock lock(mutex_);
  ZENFS_RETURN_IF_ERROR(from_memory ? RefreshAll() : Refresh());
  const auto is_same = [&]() REQUIRES(mutex_) {
    return follower_.state().FindFile(file->record->id) == file->record && StillLocked(*file) &&
           (file->flushed.empty() || follower_.state().epoch() == file->epoch);
  };
  if (!from_memory && is_same()) {
    auto proven = std::make_shared<LiveFile>(*file);
    proven->version = version_;
    return Confirmed{.proven = true, .file = std::move(proven)};
  }
  if (!from_memory) ZENFS_RETURN_IF_ERROR(RefreshAll());
  ZENFS_ASSIGN_OR_RETURN(std::shared_ptr<const LiveFile> now, FindLocked(file->record->id));
  const bool proven = from_memory && now != nullptr && is_same() && SameBytes(*file, *now, from, to);
  return Confirmed{.proven = proven, .file = std::move(now)};
}

Status LiveState::Refresh() {
  tails_are_new_ = false;
  ZENFS_ASSIGN_OR_RETURN(const LogFollower::Change change, follower_.Refresh());
  if (change != LogFollower::Change::kNone) ++version_;
  Publish(follower_.fingerprint(), version_);
  return {};
}

// `before` is the memory at the first Peek. If no slot differs between it and the look after the metadata, nothing moved
// between the memory and the metadata meanwhile.
Status LiveState::RefreshAll() {
  const Deadline patience = Deadline::After(LogFollower::kPatience);
  for (;;) {
    buffers_.Peek();
    ZENFS_RETURN_IF_ERROR(Refresh());
    UpdateBuffers(patience);
    SyncPoint::Reach("LiveState::RefreshAll:flushed");
    const LiveBuffers::Changes& changes = buffers_.ChangedSincePeek();
    if (changes.none()) return {};
    ZENFS_ASSIGN_OR_RETURN(const LogCheck check, CheckLog(device_, superblock_, follower_.fingerprint()));
    if (!check.moved) return {};
    std::map<FileId, std::shared_ptr<const FileRecord>> before;
    for (const FileId id : changes.owners) before[id] = follower_.state().FindFile(id);
    ZENFS_RETURN_IF_ERROR(Refresh());
    const State& state = follower_.state();
    const bool same_buffers = state.buffers().place == whose_.place && state.epoch() == whose_.epoch;
    const bool known = !changes.all || !buffers_.problem().empty();
    const auto is_same = [&](const auto& entry) { return state.FindFile(entry.first) == entry.second; };
    if (same_buffers && known && std::ranges::all_of(before, is_same)) return {};
    if (patience.Passed()) {
      return Fail(Code::kTimedOut,
                  fmt::format("{}: the writer changed the same files during each look for {} s; try again "
                              "when it writes less",
                              device_.name(), LogFollower::kPatience.count()));
    }
  }
}

void LiveState::UpdateBuffers(Deadline patience) {
  const State& state = follower_.state();
  if (whose_.place != state.buffers().place || whose_.key != state.buffers().key ||
      whose_.epoch != state.epoch()) {
    whose_ = BuffersOf(state, superblock_.uuid, device_);
  }
  buffers_.Update(whose_, patience);
}

Result<std::shared_ptr<const LiveFile>> LiveState::FindOnce(FileId id, LogTails::Evidence evidence) {
  auto file = std::make_shared<LiveFile>();
  file->record = file->shown = follower_.state().FindFile(id);
  if (file->record == nullptr) return nullptr;
  file->epoch = follower_.state().epoch();
  file->version = version_;
  if (file->record->shape == FileShape::kFramed) {
    ZENFS_RETURN_IF_ERROR(UpdateTails());
    file->log = tails_.Log(file->record, file->epoch, evidence);
    const std::map<ZoneId, LogZone>& allocated = follower_.state().log_zones();
    for (const auto& [zone, bytes] : file->log->zones) {
      if (const auto it = allocated.find(zone); it != allocated.end()) file->log_zones.push_back(it->second);
    }
  }
  AddFlushed(*file);
  return file;
}

Status LiveState::UpdateTails() {
  if (tails_are_new_) return {};
  ZENFS_RETURN_IF_ERROR(tails_.Update(follower_.state(), version_));
  tails_are_new_ = true;
  return {};
}

Result<std::shared_ptr<const LiveFile>> LiveState::FindLocked(FileId id) {
  ZENFS_ASSIGN_OR_RETURN(auto found, FindAll(std::span(&id, 1)));
  return std::move(found.front());
}

// Bytes may look lost because their frame is in a zone that was reported too early (LogTails), or in one that was allocated or
// released after the metadata was read. So only what a second look at everything shows too, by older frames, is damage. There
// is one such look for all files.
Result<std::vector<std::shared_ptr<const LiveFile>>> LiveState::FindAll(std::span<const FileId> ids) {
  std::vector<std::shared_ptr<const LiveFile>> files;
  std::vector<std::size_t> doubtful;
  const auto lacks = [](const LiveFile& f) { return f.lost || (f.log != nullptr && !f.log->damage.empty()); };
  for (const FileId id : ids) {
    ZENFS_ASSIGN_OR_RETURN(files.emplace_back(), FindOnce(id, LogTails::Evidence::kAll));
    if (files.back() != nullptr && lacks(*files.back())) doubtful.push_back(files.size() - 1);
  }
  const Deadline deadline = Deadline::After(LogFollower::kPatience);
  while (!doubtful.empty() && !deadline.Passed()) {
    SyncPoint::Reach("LiveState::LogOf:damaged");
    ZENFS_RETURN_IF_ERROR(RefreshAll());
    std::vector<std::size_t> still;
    for (const std::size_t i : doubtful) {
      const std::shared_ptr<const LiveFile> before = std::move(files[i]);
      ZENFS_ASSIGN_OR_RETURN(files[i], FindOnce(ids[i], LogTails::Evidence::kOlder));
      if (files[i] == nullptr || !lacks(*files[i])) continue;
      const bool same = files[i]->record == before->record && files[i]->lost == before->lost &&
                        (files[i]->log == nullptr || files[i]->log->damage == before->log->damage);
      if (!same) still.push_back(i);
    }
    doubtful = std::move(still);
  }
  return files;
}

void LiveState::AddFlushed(LiveFile& file) {
  std::uint64_t end = file.device_end();
  const std::uint64_t committed = end;
  for (const FlushedBytes& flushed : buffers_.PiecesOf(file.record->id)) {
    const OrphanedBytes& piece = flushed.piece;
    if (piece.end() <= end) continue;  // the device has them
    if (file.log == nullptr && piece.IsStale(end)) continue;
    const bool extended = piece.uncommitted && file.log == nullptr && AddExtents(file, flushed);
    if (!file.flaw.empty()) return;
    if (extended) end = piece.file_offset;
    if (piece.file_offset > end) {
      file.lost = LostBytes{.from = end, .to = piece.file_offset, .behind = piece.bytes.size()};
      return;
    }
    file.flushed.push_back(
        {.offset = end, .bytes = piece.bytes.subspan(end - piece.file_offset), .source = flushed});
    if (file.log == nullptr)
      file.committed_end_ = extended ? std::min(committed, piece.uncommitted->from_offset) : committed;
    end = piece.end();
  }
}

bool LiveState::AddExtents(LiveFile& file, const FlushedBytes& flushed) {
  if (extended_.size() > buffers_.pieces().size())
    std::erase_if(extended_,
                  [&](const auto& entry) REQUIRES(mutex_) { return buffers_.PiecesOf(entry.first).empty(); });
  Extended& known = extended_[file.record->id];
  if (known.record != file.record || !known.control.SamePlace(flushed.control) ||
      known.source != flushed.memory) {
    known = {.record = file.record, .control = flushed.control, .source = flushed.memory};
    auto shown = std::make_shared<FileRecord>(*file.record);
    const SetExtents& edit = *flushed.piece.uncommitted;
    Status sound =
        CheckFlushedExtents(edit, follower_.state(), follower_.metadata_zones(), device_.geometry());
    if (sound.ok()) sound = ApplyOnlyExtents(edit, *shown);
    if (!sound.ok()) known.flaw = fmt::format("{}: {}", buffers_.path(), sound.error().ToString());
    // While the maker lives, its zones are as it knows them.
    std::map<ZoneId, std::uint64_t> written;
    const auto stands = [&](const Extent& extent) {
      const ZoneId zone = device_.geometry().ZoneOf(extent.place);
      const auto [it, first] = written.try_emplace(zone);
      if (first) {
        const auto info = device_.ReportZone(zone);
        if (!info) known.record.reset();  // asked again
        if (!info) return false;
        it->second = info->WrittenBytes();
      }
      const std::uint64_t in_zone = extent.place - device_.geometry().ZoneStart(zone);
      return in_zone + extent.length <= it->second;
    };
    if (sound.ok() && (buffers_.MakerLives() || std::ranges::all_of(edit.extents, stands)))
      known.shown = std::move(shown);
  }
  file.flaw = known.flaw;
  if (known.shown == nullptr) return false;
  file.shown = known.shown;
  return true;
}

bool LiveState::StillLocked(const LiveFile& file) const {
  const std::map<ZoneId, LogZone>& allocated = follower_.state().log_zones();
  return std::ranges::all_of(file.log_zones, [&](const LogZone& zone) {
    const auto it = allocated.find(zone.zone);
    return it != allocated.end() && it->second == zone;
  });
}

std::shared_ptr<const LiveState::Seen> LiveState::LastSeen() const {
  MutexLock lock(seen_mutex_);
  return seen_;
}

void LiveState::Publish(LogFingerprint fingerprint, std::uint64_t version) {
  auto seen = std::make_shared<const Seen>(Seen{std::move(fingerprint), version});
  MutexLock lock(seen_mutex_);
  // A thread that looked without mutex_ may be late with an older position.
  if (seen_ != nullptr &&
      std::pair(seen_->version, seen_->fingerprint.taken) > std::pair(version, seen->fingerprint.taken))
    return;
  seen_ = std::move(seen);
}

}  // namespace zenfs
