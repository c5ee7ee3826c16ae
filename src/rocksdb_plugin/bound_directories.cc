#include "rocksdb_plugin/bound_directories.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>

#include "rocksdb_plugin/print_line.h"

namespace zenfs {

namespace {

constexpr std::string_view kFirstLine = "zenfs-directory 1\n";
constexpr std::size_t kMarkerBytesMax = 3 * kMaxPathBytes;
constexpr mode_t kOthersMayWrite = 022;

std::string Below(const std::string& directory, std::string_view name) {
  return fmt::format("{}/{}", directory == "/" ? "" : directory, name);
}

std::string ParentOf(const std::string& path) {
  return path.substr(0, std::max<std::size_t>(path.rfind('/'), 1));
}

// Takes "<key> <value>\n" from the front of `text`.
std::optional<std::string_view> TakeLine(std::string_view& text, std::string_view key) {
  const std::size_t end = text.find('\n');
  if (end == std::string_view::npos || !text.starts_with(key) || text.substr(key.size(), 1) != " ") return {};
  const std::string_view value = text.substr(key.size() + 1, end - key.size() - 1);
  text.remove_prefix(end + 1);
  return value;
}

std::optional<std::uint64_t> NumberOf(std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return {};
  return value;
}

std::string RegistryIn(const std::string& place) {
  return Below(place, fmt::format("{}{}", BoundDirectories::kRegistryPrefix, ::geteuid()));
}

// The registry, if there is one that only this user can change.
std::optional<HostDirectory> OpenRegistry(const std::string& path) {
  struct stat st{};
  if (::lstat(path.c_str(), &st) != 0 || !S_ISDIR(st.st_mode) || st.st_uid != ::geteuid() ||
      (st.st_mode & kOthersMayWrite) != 0)
    return {};
  Result<HostDirectory> opened = HostDirectory::Open(path);
  if (!opened) return {};
  return std::move(*opened);
}

std::optional<HostDirectory> OpenOrMakeRegistry(const std::string& path) {
  if (::mkdir(path.c_str(), HostDirectory::kDirectoryMode) != 0 && errno != EEXIST) return {};
  return OpenRegistry(path);
}

}  // namespace

bool BoundDirectories::HasMarker(const std::string& directory) {
  struct stat st{};
  return ::lstat(Below(directory, kMarker).c_str(), &st) == 0;
}

// A second name of a file must be in its file system. The prefix may have been another one in an earlier run.
std::vector<std::string> BoundDirectories::KnownPlaces(const std::string& directory) {
  struct stat own{};
  if (::stat(directory.c_str(), &own) != 0) return {};
  std::vector<std::string> places;
  for (std::string path = directory;; path = ParentOf(path)) {
    struct stat st{};
    if (::stat(path.c_str(), &st) != 0 || st.st_dev != own.st_dev) break;
    places.push_back(path);
    if (path == "/") break;
  }
  std::ranges::reverse(places);
  return places;
}

std::vector<std::string> BoundDirectories::PlacesForNew(const std::string& directory) const {
  std::vector<std::string> places = KnownPlaces(directory);
  const auto beside_prefix = std::ranges::find_if(places, [&](const std::string& place) {
    return std::ranges::any_of(prefixes_,
                               [&](const std::string& prefix) { return ParentOf(prefix) == place; });
  });
  if (beside_prefix != places.end()) places.erase(places.begin(), beside_prefix);
  return places;
}

std::string BoundDirectories::EntryOf(FileId id) const {
  return fmt::format("{}.{}", volume_->info().superblock.uuid.ToString(), id.value);
}

std::string BoundDirectories::TextOf(const Marker& marker) {
  return fmt::format("{}volume {}\nid {}\ninode {}\nregistry {}\npath {}\n", kFirstLine,
                     marker.volume.ToString(), marker.id.value, marker.inode, marker.registry, marker.path);
}

Result<BoundDirectories::Marker> BoundDirectories::ReadMarker(const HostDirectory& directory,
                                                              const std::string& name) {
  ZENFS_ASSIGN_OR_RETURN(const HostFile file, directory.OpenForRead(name));
  std::string bytes(kMarkerBytesMax, '\0');
  ZENFS_ASSIGN_OR_RETURN(const std::size_t size, file.Read(0, std::as_writable_bytes(std::span(bytes))));
  std::string_view text(bytes.data(), size);
  const auto damaged = [&] {
    return Fail(Error(Code::kCorruption, fmt::format("{}: not a marker of ZenFS", file.path()))
                    .Advise("an empty one binds the directory to the volume's of the same path"));
  };
  if (!text.starts_with(kFirstLine)) return damaged();
  text.remove_prefix(kFirstLine.size());
  const auto volume = TakeLine(text, "volume");
  const auto id = TakeLine(text, "id");
  const auto inode = TakeLine(text, "inode");
  const auto registry = TakeLine(text, "registry");
  const auto path = TakeLine(text, "path");
  if (!volume || !id || !inode || !registry || !path || !text.empty()) return damaged();
  const std::optional<Uuid> uuid = Uuid::Parse(*volume);
  const auto id_value = NumberOf(*id);
  const auto inode_value = NumberOf(*inode);
  if (!uuid || !id_value || !inode_value) return damaged();
  return Marker{*uuid, FileId(*id_value), *inode_value, std::string(*registry), std::string(*path)};
}

Result<std::optional<std::string>> BoundDirectories::Find(const std::string& directory) {
  MutexLock lock(mutex_);
  return FindLocked(directory);
}

Result<std::optional<std::string>> BoundDirectories::FindLocked(const std::string& directory) {
  struct stat st{};
  if (::lstat(Below(directory, kMarker).c_str(), &st) != 0) {
    if (errno == ENOENT || errno == ENOTDIR) return std::nullopt;
    return FailErrno(errno, Below(directory, kMarker));
  }
  if (const auto known = known_.find(directory); known != known_.end()) {
    const Known& last = known->second;
    if (last.device == st.st_dev && last.inode == st.st_ino && last.changed.tv_sec == st.st_ctim.tv_sec &&
        last.changed.tv_nsec == st.st_ctim.tv_nsec)
      return last.path;
    known_.erase(known);
  }
  ZENFS_ASSIGN_OR_RETURN(const HostDirectory opened, HostDirectory::Open(directory));
  if (S_ISREG(st.st_mode) && st.st_size == 0) return Adopt(opened);
  ZENFS_ASSIGN_OR_RETURN(Marker marker, CheckedMarker(opened));
  known_[directory] = {st.st_dev, st.st_ino, st.st_ctim, marker.path};
  return std::move(marker.path);
}

Result<BoundDirectories::Marker> BoundDirectories::CheckedMarker(const HostDirectory& directory) {
  const std::string name(kMarker);
  const std::string shown = directory.PathOf(name);
  ZENFS_ASSIGN_OR_RETURN(const HostStat stat, directory.Stat(name));
  if (stat.kind != HostStat::Kind::kFile)
    return Fail(Code::kInvalidArgument, fmt::format("{}: not a regular file", shown));
  if ((stat.owner != ::geteuid() && stat.owner != 0) || (stat.mode & kOthersMayWrite) != 0) {
    return Fail(Error(Code::kPermission,
                      fmt::format("{}: belongs to user {}, or others may write to it", shown, stat.owner))
                    .Advise("run the program as the user that made it"));
  }
  ZENFS_ASSIGN_OR_RETURN(Marker marker, ReadMarker(directory, name));
  const Uuid& own = volume_->info().superblock.uuid;
  if (marker.volume != own) {
    return Fail(Error(Code::kInvalidArgument,
                      fmt::format("{}: the files of {} are in the volume {}, and ZENFS_DEFAULT_URI names {}",
                                  shown, directory.path(), marker.volume.ToString(), own.ToString()))
                    .Advise("name the right device, or take another directory"));
  }
  ZENFS_RETURN_IF_ERROR(CheckIsOriginal(directory, marker, stat));
  const Result<FileStat> there = volume_->Stat(marker.path);
  if (!there || !there->is_directory || there->id != marker.id) {
    if (!there && there.error().code() != Code::kNotFound) return Fail(there.error());
    return Fail(
        Error(Code::kCorruption, fmt::format("{}: the volume {} does not have the directory {} any more",
                                             shown, own.ToString(), marker.path))
            .Advise(fmt::format("remove {} to begin without its files", shown)));
  }
  return marker;
}

// A directory that was copied has a marker of its own, which the registry does not know.
Status BoundDirectories::CheckIsOriginal(const HostDirectory& directory, const Marker& marker,
                                         const HostStat& stat) {
  const std::string entry = EntryOf(marker.id);
  std::vector<std::string> registries{marker.registry};
  for (const std::string& place : KnownPlaces(directory.path())) registries.push_back(RegistryIn(place));
  for (const std::string& path : registries) {
    const std::optional<HostDirectory> registry = OpenRegistry(path);
    if (!registry) continue;
    ZENFS_ASSIGN_OR_RETURN(const HostStat registered, registry->Stat(entry));
    if (registered.kind != HostStat::Kind::kFile) continue;
    if (registered.inode == stat.inode) return {};
    if (registered.links > 1) {
      return Fail(
          Error(Code::kInvalidArgument,
                fmt::format("{}: {} is a copy of another directory, whose files are in the volume's {}",
                            directory.PathOf(kMarker), directory.path(), marker.path))
              .Advise("copy a database by RocksDB's checkpoints or by 'zenfs backup', and remove this one"));
    }
    // The original is gone, so this is what it was moved to, from another file system of the host.
    ZENFS_RETURN_IF_ERROR(registry->RemoveFile(entry));
  }
  for (const std::string& place : PlacesForNew(directory.path())) {
    const std::optional<HostDirectory> registry = OpenOrMakeRegistry(RegistryIn(place));
    if (!registry || !directory.LinkTo(std::string(kMarker), *registry, entry).ok()) continue;
    return registry->Sync("");
  }
  return Fail(Code::kNotSupported,
              fmt::format("{}: cannot be registered again: no directory above may have {}UID",
                          directory.PathOf(kMarker), kRegistryPrefix));
}

Result<bool> BoundDirectories::HasFiles(const std::string& path) const {
  ZENFS_ASSIGN_OR_RETURN(const std::vector<DirectoryEntry> entries, volume_->List(path));
  return std::ranges::any_of(entries, [](const DirectoryEntry& entry) { return !entry.stat.is_directory; });
}

Result<std::string> BoundDirectories::Adopt(const HostDirectory& directory) {
  const Result<FileStat> there = volume_->Stat(directory.path());
  if (!there || !there->is_directory) {
    return Fail(Error(Code::kNotFound, fmt::format("{}: is empty, and the volume has no directory {}",
                                                   directory.PathOf(kMarker), directory.path()))
                    .Advise("remove it"));
  }
  ZENFS_RETURN_IF_ERROR(directory.RemoveFile(std::string(kMarker)));
  return BindTo(directory, directory.path());
}

Result<std::string> BoundDirectories::Bind(const std::string& directory) {
  MutexLock lock(mutex_);
  ZENFS_ASSIGN_OR_RETURN(std::optional<std::string> found, FindLocked(directory));
  if (found) return *std::move(found);
  ZENFS_ASSIGN_OR_RETURN(const HostDirectory opened, HostDirectory::Open(directory));
  if (directory.find('\n') != std::string::npos)
    return Fail(Code::kInvalidArgument, fmt::format("{}: a line end in the path of a directory", directory));
  ZENFS_ASSIGN_OR_RETURN(const HostStat current, opened.Stat("CURRENT"));
  if (current.kind != HostStat::Kind::kMissing) {
    return Fail(Error(Code::kExists, fmt::format("{}: has a database on the host (CURRENT)", directory))
                    .Advise("take another directory, or move it to the volume by a backup of RocksDB"));
  }
  for (const std::string& place : KnownPlaces(directory)) {
    if (const auto registry = OpenRegistry(RegistryIn(place)))
      ZENFS_RETURN_IF_ERROR(DeleteWhatWasRemoved(*registry));
  }
  ZENFS_ASSIGN_OR_RETURN(const std::string path, ChoosePath(directory));
  ZENFS_RETURN_IF_ERROR(volume_->MakeDirectory(path, /*parents=*/true));
  return BindTo(opened, path);
}

// The first of the directory's own path, path~2, ... that no other directory of the host has.
Result<std::string> BoundDirectories::ChoosePath(const std::string& directory) {
  const std::vector<std::string> places = KnownPlaces(directory);
  const auto taken = [&](FileId id) -> bool {
    return std::ranges::any_of(places, [&](const std::string& place) {
      struct stat st{};
      return ::lstat(Below(RegistryIn(place), EntryOf(id)).c_str(), &st) == 0;
    });
  };
  for (int copy = 1;; ++copy) {
    const std::string path = copy == 1 ? directory : fmt::format("{}~{}", directory, copy);
    const Result<FileStat> there = volume_->Stat(path);
    if (!there && there.error().code() == Code::kNotFound) return path;
    if (!there) return Fail(there.error());
    if (!there->is_directory || taken(there->id)) continue;
    ZENFS_ASSIGN_OR_RETURN(const bool has_files, HasFiles(path));
    if (!has_files) return path;  // it is there for directories below it
    return Fail(
        Error(Code::kExists,
              fmt::format(
                  "{}: the volume has files there, and nothing says that they were made in this directory",
                  directory))
            .Advise(fmt::format(
                "to use them, make an empty file {}; to delete them, 'zenfs rmdir --force --path={}'",
                Below(directory, kMarker), path)));
  }
}

Result<std::string> BoundDirectories::BindTo(const HostDirectory& directory, const std::string& path) {
  ZENFS_ASSIGN_OR_RETURN(const FileStat there, volume_->Stat(path));
  const std::string entry = EntryOf(there.id);
  const std::string name(kMarker);
  Status last = Fail(Code::kPermission, "may not write in it");
  for (const std::string& place : PlacesForNew(directory.path())) {
    const std::optional<HostDirectory> registry = OpenOrMakeRegistry(RegistryIn(place));
    if (!registry) continue;
    last = [&]() -> Status {
      const std::string temporary = entry + ".new";
      ZENFS_ASSIGN_OR_RETURN(HostFile file, registry->Create(temporary, 0644));
      ZENFS_ASSIGN_OR_RETURN(const HostStat created, file.Stat());
      const std::string text =
          TextOf({volume_->info().superblock.uuid, there.id, created.inode, registry->path(), path});
      ZENFS_RETURN_IF_ERROR(file.Append(std::as_bytes(std::span(text))));
      ZENFS_RETURN_IF_ERROR(file.Sync());
      ZENFS_RETURN_IF_ERROR(registry->Rename(temporary, entry));
      ZENFS_RETURN_IF_ERROR(registry->Sync(""));
      if (Status linked = registry->LinkTo(entry, directory, name); !linked.ok()) {
        ZENFS_RETURN_IF_ERROR(registry->RemoveFile(entry));
        return linked;
      }
      return directory.Sync("");
    }();
    if (last.ok()) return path;
  }
  return Fail(
      std::move(last).error().With(fmt::format("{}: cannot be bound to the volume", directory.path())));
}

// Deletes the files of the directories that were removed on the host.
Status BoundDirectories::DeleteWhatWasRemoved(const HostDirectory& registry) {
  ZENFS_ASSIGN_OR_RETURN(const std::vector<std::string> names, registry.List(""));
  const std::string own = volume_->info().superblock.uuid.ToString() + ".";
  for (const std::string& name : names) {
    if (!name.starts_with(own)) continue;
    ZENFS_ASSIGN_OR_RETURN(const HostStat stat, registry.Stat(name));
    if (stat.kind != HostStat::Kind::kFile || stat.links != 1 || name.ends_with(".new")) continue;
    const Result<Marker> marker = ReadMarker(registry, name);
    if (!marker || marker->inode != stat.inode || EntryOf(marker->id) != name) continue;  // no proof
    ZENFS_RETURN_IF_ERROR(DeleteFilesIn(*marker));
    ZENFS_RETURN_IF_ERROR(registry.RemoveFile(name));
  }
  return {};
}

// Directories below it are in the registry themselves.
Status BoundDirectories::DeleteFilesIn(const Marker& marker) {
  const Result<FileStat> there = volume_->Stat(marker.path);
  if (!there && there.error().code() == Code::kNotFound) return {};
  if (!there) return Fail(there.error());
  if (!there->is_directory || there->id != marker.id) return {};
  ZENFS_ASSIGN_OR_RETURN(const std::vector<DirectoryEntry> entries, volume_->List(marker.path));
  std::size_t files = 0;
  for (const DirectoryEntry& entry : entries) {
    if (entry.stat.is_directory) continue;
    ZENFS_RETURN_IF_ERROR(volume_->Unlink(Below(marker.path, entry.name)));
    ++files;
  }
  if (files == entries.size()) ZENFS_RETURN_IF_ERROR(volume_->RemoveDirectory(marker.path));
  if (files > 0) {
    PrintLine(fmt::format("{} was removed or emptied on the host: deleted its files in the volume ({})",
                          marker.path, files));
  }
  return {};
}

Status BoundDirectories::Remove(const std::string& directory) {
  MutexLock lock(mutex_);
  ZENFS_ASSIGN_OR_RETURN(const HostDirectory opened, HostDirectory::Open(directory));
  ZENFS_ASSIGN_OR_RETURN(const Marker marker, CheckedMarker(opened));
  ZENFS_ASSIGN_OR_RETURN(const std::vector<std::string> names, opened.List(""));
  ZENFS_ASSIGN_OR_RETURN(const bool has_files, HasFiles(marker.path));
  if (has_files || names.size() > 1) return Fail(Code::kNotEmpty, directory);
  ZENFS_RETURN_IF_ERROR(opened.RemoveFile(std::string(kMarker)));
  if (::rmdir(directory.c_str()) != 0) return FailErrno(errno, directory);
  known_.erase(directory);
  const std::optional<HostDirectory> registry = OpenRegistry(marker.registry);
  return registry ? DeleteWhatWasRemoved(*registry) : Status();
}

}  // namespace zenfs
