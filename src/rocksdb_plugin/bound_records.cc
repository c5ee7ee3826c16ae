#include "rocksdb_plugin/bound_records.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <ctime>

#include "base/clock.h"

namespace zenfs {

namespace {

// Names in a directory that may be missing.
Result<std::vector<DirectoryEntry>> ListIfThere(const Volume& volume, std::string_view path) {
  Result<std::vector<DirectoryEntry>> entries = volume.List(path);
  if (!entries && entries.error().code() == Code::kNotFound) return std::vector<DirectoryEntry>();
  return entries;
}

}  // namespace

std::string BoundRecords::RecordOf(FileId id) const {
  return fmt::format("/{}/{}.{}", kBoundRecords, volume_->info().superblock.uuid.ToString(), id.value);
}

Result<std::vector<std::string>> BoundRecords::Nonces(FileId id) const {
  ZENFS_ASSIGN_OR_RETURN(const std::vector<DirectoryEntry> entries, ListIfThere(*volume_, RecordOf(id)));
  std::vector<std::string> nonces;
  for (const DirectoryEntry& entry : entries) nonces.push_back(entry.name);
  return nonces;
}

Status BoundRecords::Add(FileId id, const std::string& nonce) {
  return volume_->MakeDirectory(RecordOf(id) + "/" + nonce, /*parents=*/true);
}

Status BoundRecords::Remove(FileId id, const std::string& nonce) {
  return volume_->RemoveDirectory(RecordOf(id) + "/" + nonce);
}

Status BoundRecords::Forget(FileId id) {
  Status removed = volume_->RemoveTree(RecordOf(id));
  return !removed.ok() && removed.error().code() == Code::kNotFound ? Status() : removed;
}

Result<std::string> BoundRecords::SetAside(FileId id, const std::string& path) {
  ZENFS_RETURN_IF_ERROR(volume_->MakeDirectory(kSetAside, /*parents=*/true));
  const std::string aside = fmt::format("{}/{:%Y-%m-%dT%H%M%SZ}.{}", kSetAside,
                                        fmt::gmtime(static_cast<std::time_t>(WallSeconds())), id.value);
  ZENFS_RETURN_IF_ERROR(volume_->Rename(path, aside));
  return aside;
}

Result<std::set<FileId>> BoundRecords::AllSetAside() const {
  ZENFS_ASSIGN_OR_RETURN(const std::vector<DirectoryEntry> entries, ListIfThere(*volume_, kSetAside));
  std::set<FileId> ids;
  for (const DirectoryEntry& entry : entries) ids.insert(entry.stat.id);
  return ids;
}

Result<std::optional<std::string>> BoundRecords::FindSetAside(FileId id) const {
  ZENFS_ASSIGN_OR_RETURN(const std::vector<DirectoryEntry> entries, ListIfThere(*volume_, kSetAside));
  const auto found = std::ranges::find_if(
      entries, [&](const DirectoryEntry& entry) { return entry.stat.is_directory && entry.stat.id == id; });
  if (found == entries.end()) return std::nullopt;
  return fmt::format("{}/{}", kSetAside, found->name);
}

Result<std::optional<std::string>> BoundRecords::DeleteOldest() {
  ZENFS_ASSIGN_OR_RETURN(const std::vector<DirectoryEntry> entries, ListIfThere(*volume_, kSetAside));
  if (entries.empty()) return std::nullopt;
  const DirectoryEntry& oldest = entries.front();  // names begin with the time
  std::string path = fmt::format("{}/{}", kSetAside, oldest.name);
  // The record first: a marker that turns up meanwhile must not get a part of the files.
  if (oldest.stat.is_directory) ZENFS_RETURN_IF_ERROR(Forget(oldest.stat.id));
  ZENFS_RETURN_IF_ERROR(oldest.stat.is_directory ? volume_->RemoveTree(path) : volume_->Unlink(path));
  return path;
}

}  // namespace zenfs
