#include "cli/volume_inodes.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <ranges>

#include "backup/path_tree.h"

namespace zenfs {
namespace {

std::unexpected<Error> Stale(std::string_view what) {
  return Fail(Code::kNotFound, fmt::format("{}: a program has deleted, renamed or replaced it", what),
              ESTALE);
}

// As the error of what was found before: what is missing now is stale.
std::unexpected<Error> AsStale(const Error& error) {
  const bool missing = error.code() == Code::kNotFound || error.code() == Code::kNotADirectory ||
                       error.code() == Code::kIsADirectory;
  return missing ? Fail(Code::kNotFound, error.text(), ESTALE) : Fail(error);
}

}  // namespace

// --- names ---

Result<std::string> VolumeInodes::PathOf(FileId id) const {
  MutexLock lock(mutex_);
  std::vector<std::string_view> names;
  for (FileId at = id; at != kRootDirectory;) {
    const auto found = inodes_.find(at);
    // Directories that were moved into each other, of which the kernel has seen a part, can look like a circle.
    if (found == inodes_.end() || names.size() == inodes_.size())
      return Stale(fmt::format("file {}", id.value));
    names.push_back(found->second.name);
    at = found->second.directory;
  }
  std::string path;
  for (const std::string_view name : std::views::reverse(names)) {
    if (!path.empty()) path += '/';
    path += name;
  }
  return path;
}

Result<FileStat> VolumeInodes::StatSame(FileId id, const std::string& path) const {
  Result<FileStat> stat = volume_.Stat(path);
  if (!stat) return AsStale(stat.error());
  if (stat->id != id) return Stale(path);
  return stat;
}

// The directory is verified after the look, so what was found was in it.
Result<FileStat> VolumeInodes::Find(FileId directory, std::string_view name) const {
  ZENFS_ASSIGN_OR_RETURN(const std::string path, PathOf(directory));
  Result<FileStat> found = volume_.Stat(JoinPath(path, name));
  if (directory != kRootDirectory) ZENFS_RETURN_IF_ERROR(StatSame(directory, path));
  return found;
}

Result<FileStat> VolumeInodes::Stat(FileId id) const {
  const Result<std::string> path = PathOf(id);
  Result<FileStat> stat = path ? StatSame(id, *path) : Fail(path.error());
  if (stat || stat.error().os_errno() != ESTALE) return stat;
  const std::shared_ptr<OpenFile> open = FindOpen(id);
  if (open == nullptr) return stat;
  return FileStat{.id = id, .size = open->handle->size(), .mtime_seconds = open->mtime_seconds};
}

Result<std::vector<DirectoryEntry>> VolumeInodes::List(FileId directory) const {
  ZENFS_ASSIGN_OR_RETURN(const std::string path, PathOf(directory));
  Result<std::vector<DirectoryEntry>> entries = volume_.List(path, directory);
  if (!entries) return AsStale(entries.error());
  return entries;
}

FileId VolumeInodes::ParentOf(FileId directory) const {
  MutexLock lock(mutex_);
  const auto found = inodes_.find(directory);
  return found == inodes_.end() ? kRootDirectory : found->second.directory;
}

void VolumeInodes::Remember(FileId directory, std::string_view name, const FileStat& stat) {
  if (stat.id == kRootDirectory) return;
  MutexLock lock(mutex_);
  Inode& inode = inodes_[stat.id];
  inode.directory = directory;
  if (inode.name != name) inode.name = name;
  inode.mtime_seconds = stat.mtime_seconds;
  ++inode.lookups;
}

void VolumeInodes::Forget(FileId id, std::uint64_t times) {
  MutexLock lock(mutex_);
  const auto found = inodes_.find(id);
  if (found == inodes_.end()) return;
  found->second.lookups -= std::min(times, found->second.lookups);
  if (found->second.lookups == 0) inodes_.erase(found);
}

// --- open files ---

std::shared_ptr<VolumeInodes::OpenFile> VolumeInodes::FindOpen(FileId id) const {
  MutexLock lock(mutex_);
  const auto is_it = [id](const auto& entry) { return entry.second->handle->id() == id; };
  const auto found = std::ranges::find_if(open_, is_it);
  return found == open_.end() ? nullptr : found->second;
}

Result<std::uint64_t> VolumeInodes::Open(FileId id) {
  ZENFS_ASSIGN_OR_RETURN(const std::string path, PathOf(id));
  Result<FileLayout> layout = volume_.Layout(path);  // before the file is opened, as VerifiedSource needs it
  if (!layout) return AsStale(layout.error());
  Result<std::unique_ptr<FileHandle>> handle = volume_.OpenForRead(path);
  if (!handle) return AsStale(handle.error());
  if ((*handle)->id() != id) return Stale(path);
  auto source = std::make_unique<VerifiedSource>(**handle, *std::move(layout), volume_.info().geometry, path);
  auto open = std::make_shared<OpenFile>(
      OpenFile{.path = path, .handle = *std::move(handle), .source = std::move(source), .damage = {}});
  MutexLock lock(mutex_);
  if (const auto inode = inodes_.find(id); inode != inodes_.end()) {
    open->mtime_seconds = inode->second.mtime_seconds;
  }
  const std::uint64_t number = next_open_++;
  open_.emplace(number, std::move(open));
  return number;
}

Result<std::size_t> VolumeInodes::Read(std::uint64_t open, std::uint64_t offset, ByteSpan into) {
  std::shared_ptr<OpenFile> file;
  std::unique_ptr<VerifiedSource> source;
  {
    MutexLock lock(mutex_);
    file = open_.at(open);
    source = std::move(file->source);
    if (file->next != offset) {
      source.reset();
    } else if (file->damage) {
      return Fail(*file->damage);
    }
  }
  if (source != nullptr) {
    Result<std::size_t> read = source->Read(offset, into);
    if (read || read.error().code() != Code::kCorruption) {
      MutexLock lock(mutex_);
      file->source = std::move(source);
      if (!read) return AsStale(read.error());
      file->next = offset + *read;
      return read;
    }
    // A writer that has truncated the file, or reclaim that has moved it, is no damage.
    const auto now = volume_.Layout(file->path);
    if (now && !source->ExtentsDiffer(*now)) {
      MutexLock lock(mutex_);
      file->damage = read.error();
      return Fail(read.error());
    }
  }
  Result<std::size_t> read = file->handle->ReadVerified(offset, into);
  if (!read) return AsStale(read.error());
  return read;
}

void VolumeInodes::Close(std::uint64_t open) {
  std::shared_ptr<OpenFile> last;  // destroyed without the lock: it gives up what it announced to the writer
  MutexLock lock(mutex_);
  const auto found = open_.find(open);
  if (found == open_.end()) return;
  last = std::move(found->second);
  open_.erase(found);
}

}  // namespace zenfs
