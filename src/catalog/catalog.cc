#include "catalog/catalog.h"

#include <fmt/format.h>

#include <unordered_set>

#include "base/assert.h"
#include "base/sync_point.h"
#include "catalog/path.h"

namespace zenfs {
namespace {

Status CheckBytes(std::string_view path) {
  if (path.find('\0') == std::string_view::npos) return {};
  return Fail(Code::kInvalidArgument, fmt::format("{}: the path contains a NUL byte", path));
}

Status CheckNameBytes(std::string_view path, std::string_view part) {
  if (part.size() <= kMaxNameBytes) return {};
  return Fail(Code::kInvalidArgument,
              fmt::format("{}: a name has {} bytes; the limit is {}", path, part.size(), kMaxNameBytes));
}

// Number of extents that FilesIn visits under one hold of the lock, so that other calls do not wait long.
constexpr std::size_t kExtentsALook = 4096;

}  // namespace

Entry CatalogView::Find(FileId parent, std::string_view name) const {
  Entry entry{.parent = parent, .name = std::string(name)};
  const std::optional<FileId> committed = state_.FindEntry(parent, name);
  if (const auto it = pending_names_.find(std::pair(parent, entry.name)); it != pending_names_.end()) {
    entry.kind = Entry::Kind::kFile;
    entry.id = it->second;
    entry.pending = true;
    entry.shadows = committed.has_value();
  } else if (committed) {
    entry.id = *committed;
    entry.kind = state_.FindDirectory(*committed) != nullptr ? Entry::Kind::kDirectory : Entry::Kind::kFile;
  }
  return entry;
}

Status CatalogView::CheckPath(std::string_view path) {
  ZENFS_RETURN_IF_ERROR(CheckBytes(path));
  for (const std::string_view part : SplitPath(path)) ZENFS_RETURN_IF_ERROR(CheckNameBytes(path, part));
  return {};
}

Result<Entry> CatalogView::Resolve(std::string_view path) const {
  ZENFS_RETURN_IF_ERROR(CheckBytes(path));
  Entry entry{.parent = kRootDirectory, .name = "", .kind = Entry::Kind::kDirectory, .id = kRootDirectory};
  for (const std::string_view part : SplitPath(path)) {
    ZENFS_RETURN_IF_ERROR(CheckNameBytes(path, part));
    if (entry.kind == Entry::Kind::kMissing) {
      return Fail(Code::kNotFound, fmt::format("{}: no such directory: {}", path, entry.name));
    }
    if (entry.kind == Entry::Kind::kFile) {
      return Fail(Code::kNotADirectory, fmt::format("{}: not a directory: {}", path, entry.name));
    }
    entry = Find(entry.id, part);
  }
  return entry;
}

const PendingFile* CatalogView::FindPending(FileId id) const {
  const auto it = pending_.find(id);
  return it == pending_.end() ? nullptr : &it->second;
}

std::vector<const PendingFile*> CatalogView::PendingIn(FileId directory) const {
  std::vector<const PendingFile*> files;
  for (auto it = pending_names_.lower_bound(std::pair(directory, std::string()));
       it != pending_names_.end() && it->first.first == directory; ++it) {
    files.push_back(&pending_.at(it->second));
  }
  return files;
}

std::vector<Edit> CatalogView::Promote(FileId id, LockKeys& keys) const {
  const PendingFile* const file = FindPending(id);
  if (file == nullptr) return {};
  keys.names.emplace_back(file->parent, file->name);
  keys.shared.push_back(file->parent);
  keys.exclusive.push_back(file->id);
  std::vector<Edit> edits{CreateFile{file->id, file->shape, file->lifetime, file->mtime_seconds}};
  if (const auto shadowed = state_.FindEntry(file->parent, file->name)) {
    keys.exclusive.push_back(*shadowed);
    edits.push_back(UnlinkFile{file->parent, file->name});
  }
  edits.push_back(LinkFile{file->parent, file->name, file->id});
  return edits;
}

Catalog::Catalog(State state) : state_(std::move(state)) {}

Result<Catalog::Action> Catalog::Begin(const Planner& planner, Deadline deadline) {
  MutexLock lock(mutex_);
  for (;;) {
    LockKeys keys;
    ZENFS_RETURN_IF_ERROR(planner(View(), keys));
    if (!locks_.Conflicts(keys)) return Action(this, locks_.Add(std::move(keys)));
    if (deadline.Passed()) return Fail(Code::kBusy, "another action is under way");
    // Most callers need no deadline: the owner of the lock waits for a commit, which ends or fails by itself.
    SyncPoint::Reach("Catalog::Begin:waits");  // with the lock held, so a handler must not call the catalog
    static_cast<void>(released_.WaitUntil(mutex_, deadline));
  }
}

void Catalog::End(NameLocks::Ticket ticket) {
  MutexLock lock(mutex_);
  locks_.Remove(ticket);
  released_.NotifyAll();
}

void Catalog::Look(const std::function<void(const CatalogView&)>& look) const {
  MutexLock lock(mutex_);
  look(View());
}

FileId Catalog::AddPending(PendingFile file) {
  MutexLock lock(mutex_);
  FileId replaced = kNoFile;
  if (const auto it = pending_names_.find(std::pair(file.parent, file.name)); it != pending_names_.end()) {
    replaced = it->second;
    ErasePending(replaced);
  }
  pending_names_.emplace(std::pair(file.parent, file.name), file.id);
  pending_.emplace(file.id, std::move(file));
  ZENFS_ASSERT(pending_.size() == pending_names_.size());
  return replaced;
}

void Catalog::DropPending(FileId id) {
  MutexLock lock(mutex_);
  ErasePending(id);
}

void Catalog::SetPendingLifetime(FileId id, Lifetime lifetime) {
  MutexLock lock(mutex_);
  if (const auto it = pending_.find(id); it != pending_.end()) it->second.lifetime = lifetime;
}

void Catalog::ErasePending(FileId id) {
  const auto it = pending_.find(id);
  if (it == pending_.end()) return;
  pending_names_.erase(std::pair(it->second.parent, it->second.name));
  pending_.erase(it);
  ZENFS_ASSERT(pending_.size() == pending_names_.size());
}

Result<Effects> Catalog::Apply(std::span<const Edit> edits) {
  MutexLock lock(mutex_);
  Effects effects;
  ZENFS_RETURN_IF_ERROR(state_.Apply(edits, &effects));
  if (extents_) extents_->Update(edits, effects.lost, state_);
  for (const Edit& edit : edits) {
    if (const auto* created = std::get_if<CreateFile>(&edit)) ErasePending(created->id);
    if (const auto* renamed = std::get_if<RenameEntry>(&edit)) {
      const auto it = pending_names_.find(std::pair(renamed->to_parent, renamed->to_name));
      if (it != pending_names_.end()) ErasePending(it->second);
    }
  }
  return effects;
}

std::shared_ptr<const FileRecord> Catalog::FindFile(FileId id) const {
  MutexLock lock(mutex_);
  return state_.FindFile(id);
}

std::vector<std::shared_ptr<const FileRecord>> Catalog::FilesIn(DeviceOffset begin, DeviceOffset end) const {
  std::vector<std::shared_ptr<const FileRecord>> files;
  std::unordered_set<FileId> seen;
  ExtentIndex::Entry last{
      .place = begin};  // sorts before all extents at `begin`, since no file has the id kNoFile
  for (;;) {
    MutexLock lock(mutex_);
    if (!extents_) extents_.emplace(state_);
    auto it = extents_->entries().upper_bound(last);
    std::size_t looked_at = 0;
    for (; it != extents_->entries().end() && it->place < end && looked_at < kExtentsALook;
         ++it, ++looked_at) {
      last = *it;
      if (!seen.insert(last.file).second) continue;
      // The file is missing only after an invalid commit.
      if (auto file = state_.FindFile(last.file)) files.push_back(std::move(file));
    }
    extents_looked_at_ += looked_at;
    if (looked_at < kExtentsALook) return files;
  }
}

std::uint64_t Catalog::extents_looked_at() const {
  MutexLock lock(mutex_);
  return extents_looked_at_;
}

}  // namespace zenfs
