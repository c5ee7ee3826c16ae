#include "rocksdb_plugin/bound_records.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <ctime>

#include "base/clock.h"
#include "rocksdb_plugin/default_device.h"

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

std::string BoundRecords::NthName(const std::string& path, int n) {
  return n == 1 ? path : fmt::format("{}~{}", path, n);
}

Result<std::optional<std::string>> BoundRecords::FindName(
    const std::string& path, const std::function<bool(const FileStat*)>& fits) const {
  for (int n = 1; n <= kNamesMax; ++n) {
    std::string name = NthName(path, n);
    const Result<FileStat> there = volume_->Stat(name);
    if (!there && there.error().code() != Code::kNotFound && there.error().code() != Code::kNotADirectory)
      return Fail(there.error());
    if (fits(there ? &*there : nullptr)) return name;
  }
  return std::nullopt;
}

Result<std::optional<std::string>> BoundRecords::FindById(const std::string& path, FileId id) const {
  return FindName(path, [id](const FileStat* there) {
    return there != nullptr && there->is_directory && there->id == id;
  });
}

Status BoundRecords::RemoveEmpty(std::string path) {
  for (; path != "/"; path = DirectoryOf(path)) {
    ZENFS_ASSIGN_OR_RETURN(const FileStat there, volume_->Stat(path));
    ZENFS_ASSIGN_OR_RETURN(const std::vector<DirectoryEntry> entries, volume_->List(path));
    if (!entries.empty()) return {};
    ZENFS_ASSIGN_OR_RETURN(const std::vector<std::string> nonces, Nonces(there.id));
    if (!nonces.empty()) return {};
    ZENFS_RETURN_IF_ERROR(volume_->RemoveDirectory(path));
  }
  return {};
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

Result<std::vector<DirectoryEntry>> BoundRecords::AllSetAside() const {
  return ListIfThere(*volume_, kSetAside);  // names begin with the time
}

Result<std::optional<std::string>> BoundRecords::FindSetAside(FileId id) const {
  ZENFS_ASSIGN_OR_RETURN(const std::vector<DirectoryEntry> entries, AllSetAside());
  const auto found = std::ranges::find_if(
      entries, [&](const DirectoryEntry& entry) { return entry.stat.is_directory && entry.stat.id == id; });
  if (found == entries.end()) return std::nullopt;
  return fmt::format("{}/{}", kSetAside, found->name);
}

Result<std::string> BoundRecords::DeleteSetAside(const DirectoryEntry& entry) {
  std::string path = fmt::format("{}/{}", kSetAside, entry.name);
  // The record first: a marker that turns up meanwhile must not get a part of the files.
  if (entry.stat.is_directory) ZENFS_RETURN_IF_ERROR(Forget(entry.stat.id));
  ZENFS_RETURN_IF_ERROR(entry.stat.is_directory ? volume_->RemoveTree(path) : volume_->Unlink(path));
  return path;
}

}  // namespace zenfs
