#include "volume/live_state.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/sync_point.h"
#include "volume/file_names.h"

namespace zenfs {

LiveState::LiveState(ZonedDevice& device, const Superblock& superblock)
    : device_(device),
      superblock_(superblock),
      follower_(device, superblock),
      tails_(device, superblock.seed) {}

const State& LiveState::View::state() const {
  owner_.mutex_.AssertHeld();
  return owner_.follower_.state();
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

Result<std::uint64_t> LiveState::View::SizeOf(const std::shared_ptr<const FileRecord>& record) {
  if (record->shape == FileShape::kPlain) return record->size;
  ZENFS_ASSIGN_OR_RETURN(const std::shared_ptr<const ReplayedLog> log, TailOf(record));
  return log->index.end();
}

Result<std::uint64_t> LiveState::View::MtimeOf(const std::shared_ptr<const FileRecord>& record) {
  if (record->shape == FileShape::kPlain) return record->mtime_seconds;
  ZENFS_ASSIGN_OR_RETURN(const std::shared_ptr<const ReplayedLog> log, TailOf(record));
  return log->mtime_seconds;
}

Result<std::shared_ptr<const ReplayedLog>> LiveState::View::TailOf(
    const std::shared_ptr<const FileRecord>& record) {
  owner_.mutex_.AssertHeld();
  if (!tails_are_new_) ZENFS_RETURN_IF_ERROR(owner_.tails_.Update(state()));
  tails_are_new_ = true;
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

Result<std::vector<std::string>> LiveState::View::Damage() {
  owner_.mutex_.AssertHeld();
  std::vector<FileId> framed;
  for (const auto& [id, record] : state().files()) {
    if (record->shape == FileShape::kFramed) framed.push_back(id);
  }
  std::vector<std::string> damage;
  for (const auto& [id, zone] : state().log_zones()) {
    ZENFS_ASSIGN_OR_RETURN(const ZoneInfo info, owner_.device_.ReportZone(id));
    if (info.condition == ZoneCondition::kOffline) {
      damage.push_back(OfflineLogText(owner_.device_.name(), id));
    }
  }
  std::optional<FileNames> names;  // made only if there is damage
  for (const FileId id : framed) {
    ZENFS_ASSIGN_OR_RETURN(const auto file, owner_.FindLocked(id));
    if (file == nullptr || file->log == nullptr) continue;
    for (const LogDamage& lost : file->log->damage) {
      if (!names) names.emplace(state());
      damage.push_back(DamageText(lost, names->Describe(lost.file)));
    }
  }
  return damage;
}

Status LiveState::Look(const std::function<Status(View&)>& look) {
  MutexLock lock(mutex_);
  ZENFS_RETURN_IF_ERROR(Refresh());
  View view(*this);
  return look(view);
}

Result<std::shared_ptr<const LiveFile>> LiveState::Open(std::string_view path, FileId known) {
  MutexLock lock(mutex_);
  if (known != kNoFile) {
    const Result<Entry> entry = View(*this).Resolve(path);
    const auto record = entry && entry->id == known ? follower_.state().FindFile(known) : nullptr;
    if (record != nullptr && record->shape == FileShape::kPlain) return FindLocked(known);
  }
  for (;;) {
    ZENFS_RETURN_IF_ERROR(Refresh());
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
  ZENFS_RETURN_IF_ERROR(Refresh());
  return FindLocked(id);
}

Result<LiveState::Confirmed> LiveState::Confirm(const std::shared_ptr<const LiveFile>& file) {
  SyncPoint::Reach("LiveState::Confirm");
  if (const auto seen = LastSeen(); seen->version == file->version) {
    ZENFS_ASSIGN_OR_RETURN(const LogCheck check, CheckLog(device_, superblock_, seen->fingerprint));
    if (!check.moved) {
      if (check.confirmed != seen->fingerprint.taken) {
        LogFingerprint fingerprint = seen->fingerprint;
        fingerprint.taken = check.confirmed;
        Publish(std::move(fingerprint), seen->version);
      }
      return Confirmed{.proven = true, .file = file};
    }
  }
  MutexLock lock(mutex_);
  ZENFS_RETURN_IF_ERROR(Refresh());
  const auto record = follower_.state().FindFile(file->record->id);
  if (record == file->record && StillLocked(*file)) {
    auto proven = std::make_shared<LiveFile>(*file);
    proven->version = version_;
    return Confirmed{.proven = true, .file = std::move(proven)};
  }
  ZENFS_ASSIGN_OR_RETURN(std::shared_ptr<const LiveFile> now, FindLocked(file->record->id));
  return Confirmed{.proven = false, .file = std::move(now)};
}

Status LiveState::Refresh() {
  ZENFS_ASSIGN_OR_RETURN(const LogFollower::Change change, follower_.Refresh());
  if (change != LogFollower::Change::kNone) ++version_;
  Publish(follower_.fingerprint(), version_);
  return {};
}

Result<std::shared_ptr<const LiveFile>> LiveState::FindLocked(FileId id) {
  auto file = std::make_shared<LiveFile>();
  file->record = follower_.state().FindFile(id);
  if (file->record != nullptr && file->record->shape == FileShape::kFramed) {
    ZENFS_ASSIGN_OR_RETURN(file->log, LogOf(file->record));
  }
  if (file->record == nullptr) return nullptr;
  file->version = version_;
  if (file->log != nullptr) {
    const std::map<ZoneId, LogZone>& allocated = follower_.state().log_zones();
    for (const auto& [zone, bytes] : file->log->zones) {
      if (const auto it = allocated.find(zone); it != allocated.end()) file->log_zones.push_back(it->second);
    }
  }
  return file;
}

// Bytes may look lost because their frame is in a zone that was reported too early, or in one that was released after the
// metadata was read (LogTails). A second look at both shows this, so only what is lost in both looks is damage. `record`
// becomes that of the last look.
Result<std::shared_ptr<const ReplayedLog>> LiveState::LogOf(std::shared_ptr<const FileRecord>& record) {
  ZENFS_RETURN_IF_ERROR(tails_.Update(follower_.state()));
  std::shared_ptr<const ReplayedLog> log = tails_.Log(record, follower_.state().epoch());
  const Deadline deadline = Deadline::After(LogFollower::kPatience);
  while (!log->damage.empty() && !deadline.Passed()) {
    SyncPoint::Reach("LiveState::LogOf:damaged");
    ZENFS_RETURN_IF_ERROR(Refresh());
    const std::shared_ptr<const FileRecord> before = record;
    record = follower_.state().FindFile(before->id);
    if (record == nullptr) return nullptr;
    ZENFS_RETURN_IF_ERROR(tails_.Update(follower_.state()));
    const std::vector<LogDamage> damage = log->damage;
    log = tails_.Log(record, follower_.state().epoch());
    if (record == before && log->damage == damage) break;
  }
  return log;
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
