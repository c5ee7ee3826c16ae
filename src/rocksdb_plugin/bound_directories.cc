#include "rocksdb_plugin/bound_directories.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>

#include "rocksdb_plugin/default_device.h"
#include "rocksdb_plugin/print_line.h"

namespace zenfs {

namespace {

constexpr std::string_view kFirstLine = "zenfs-directory 1\n";
constexpr std::size_t kMarkerBytesMax = 3 * kMaxPathBytes;
constexpr mode_t kOthersMayWrite = 022;
constexpr mode_t kRegistryMode = 0711;  // other users may ask for an entry whose name they know
constexpr std::string_view kNewEntry = ".new";
constexpr std::string_view kSetAside = "/.zenfs-removed";
constexpr std::uint64_t kRoomDivisor = 8;
constexpr std::chrono::seconds kLooksForRoom{10};

std::string Below(const std::string& directory, std::string_view name) {
  return fmt::format("{}/{}", directory == "/" ? "" : directory, name);
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
  if (::mkdir(path.c_str(), kRegistryMode) != 0 && errno != EEXIST) return {};
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
  for (std::string path = directory;; path = DirectoryOf(path)) {
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
                               [&](const std::string& prefix) { return DirectoryOf(prefix) == place; });
  });
  if (beside_prefix != places.end()) places.erase(places.begin(), beside_prefix);
  return places;
}

std::string BoundDirectories::EntryOf(FileId id) const {
  return fmt::format("{}.{}", volume_->info().superblock.uuid.ToString(), id.value);
}

std::string BoundDirectories::TextOf(const Marker& marker) {
  return fmt::format("{}volume {}\nid {}\ninode {}\nregistry {}\nhost {}\npath {}\n", kFirstLine,
                     marker.volume.ToString(), marker.id.value, marker.inode, marker.registry, marker.host,
                     marker.path);
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
  const auto host = TakeLine(text, "host");
  const auto path = TakeLine(text, "path");
  if (!volume || !id || !inode || !registry || !host || !path || !text.empty()) return damaged();
  const std::optional<Uuid> uuid = Uuid::Parse(*volume);
  const auto id_value = NumberOf(*id);
  const auto inode_value = NumberOf(*inode);
  if (!uuid || !id_value || !inode_value) return damaged();
  return Marker{.volume = *uuid,
                .id = FileId(*id_value),
                .inode = *inode_value,
                .registry = std::string(*registry),
                .host = std::string(*host),
                .path = std::string(*path)};
}

bool BoundDirectories::may_change() const { return !volume_->info().read_only; }

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
  ZENFS_RETURN_IF_ERROR(CheckNoDatabaseOnHost(opened));
  const bool is_empty = S_ISREG(st.st_mode) && st.st_size == 0;
  ZENFS_ASSIGN_OR_RETURN(std::string path, is_empty ? Adopt(opened) : FindMarked(opened));
  ZENFS_RETURN_IF_ERROR(SetAsideOnce(directory));
  if (::lstat(Below(directory, kMarker).c_str(), &st) != 0) return std::nullopt;
  known_[directory] = {st.st_dev, st.st_ino, st.st_ctim, path};
  return path;
}

// A run without the default device may have made one.
Status BoundDirectories::CheckNoDatabaseOnHost(const HostDirectory& directory) const {
  ZENFS_ASSIGN_OR_RETURN(const HostStat current, directory.Stat("CURRENT"));
  if (current.kind == HostStat::Kind::kMissing) return {};
  return Fail(Error(Code::kExists, fmt::format("{}: has a database on the host (CURRENT)", directory.path()))
                  .Advise("take another directory, or move it to the volume by a backup of RocksDB"));
}

Result<std::string> BoundDirectories::FindMarked(const HostDirectory& directory) {
  const std::string name(kMarker);
  const std::string shown = directory.PathOf(name);
  ZENFS_ASSIGN_OR_RETURN(const HostStat stat, directory.Stat(name));
  if (stat.kind != HostStat::Kind::kFile)
    return Fail(Code::kInvalidArgument, fmt::format("{}: not a regular file", shown));
  if ((stat.owner != ::geteuid() && stat.owner != 0) || (stat.mode & kOthersMayWrite) != 0) {
    return Fail(Error(Code::kPermission,
                      fmt::format("{}: belongs to user {}, or others may write to it", shown, stat.owner))
                    .Advise("run the program as the user that made it, or give it to this user"));
  }
  ZENFS_ASSIGN_OR_RETURN(const Marker marker, ReadMarker(directory, name));
  const Uuid& own = volume_->info().superblock.uuid;
  if (marker.volume != own) {
    return Fail(Error(Code::kInvalidArgument,
                      fmt::format("{}: the files of {} are in the volume {}, and ZENFS_DEFAULT_URI names {}",
                                  shown, directory.path(), marker.volume.ToString(), own.ToString()))
                    .Advise("name the right device, or take another directory"));
  }
  ZENFS_ASSIGN_OR_RETURN(const bool is_registered, IsRegistered(directory, marker, stat));
  ZENFS_ASSIGN_OR_RETURN(std::string path, PathInVolume(marker, shown));
  if (may_change() && (!is_registered || path != marker.path || marker.host != directory.path()))
    ZENFS_RETURN_IF_ERROR(Register(directory, marker.id, path));
  return path;
}

// Of the original the registry has the same file. If the original is gone, this is what it was moved to, from another file system of
// the host.
Result<bool> BoundDirectories::IsRegistered(const HostDirectory& directory, const Marker& marker,
                                            const HostStat& stat) const {
  struct stat own{};
  if (::lstat(directory.PathOf(kMarker).c_str(), &own) != 0)
    return FailErrno(errno, directory.PathOf(kMarker));
  const std::string entry = EntryOf(marker.id);
  std::vector<std::string> registries{marker.registry};
  for (const std::string& place : KnownPlaces(directory.path())) registries.push_back(RegistryIn(place));
  for (const std::string& registry : registries) {
    struct stat there{};
    struct stat registered{};
    if (::lstat(registry.c_str(), &there) != 0 || ::lstat(Below(registry, entry).c_str(), &registered) != 0) {
      if (errno == ENOENT || errno == ENOTDIR) continue;
      return FailErrno(errno, Below(registry, entry));
    }
    const bool is_ours = there.st_uid == ::geteuid();
    if (registered.st_dev == own.st_dev && registered.st_ino == own.st_ino) {
      if (stat.links <= 2) return is_ours;
      return Fail(
          Error(Code::kInvalidArgument, fmt::format("{}: was copied by hard links: two directories have it",
                                                    directory.PathOf(kMarker)))
              .Advise("remove the copy; copy a database by RocksDB's checkpoints or by 'zenfs backup'"));
    }
    if (registered.st_nlink == 1 && (is_ours || there.st_uid == 0)) continue;
    return Fail(
        Error(Code::kInvalidArgument,
              fmt::format("{}: {} is a copy of another directory, whose files are in the volume's {}",
                          directory.PathOf(kMarker), directory.path(), marker.path))
            .Advise("copy a database by RocksDB's checkpoints or by 'zenfs backup', and remove this one"));
  }
  return false;
}

// Where the volume has the directory now; one that was set aside gets its path back.
Result<std::string> BoundDirectories::PathInVolume(const Marker& marker, const std::string& shown) {
  const std::string aside = SetAsidePath(marker.id);
  for (const std::string& path : {marker.path, aside}) {
    const Result<FileStat> there = volume_->Stat(path);
    if (!there && there.error().code() != Code::kNotFound && there.error().code() != Code::kNotADirectory)
      return Fail(there.error());
    if (!there || !there->is_directory || there->id != marker.id) continue;
    if (path == marker.path || !may_change()) return path;
    std::string back = marker.path;
    for (int copy = 2; volume_->Stat(back).has_value(); ++copy)
      back = fmt::format("{}~{}", marker.path, copy);
    ZENFS_RETURN_IF_ERROR(volume_->MakeDirectory(DirectoryOf(back), /*parents=*/true));
    ZENFS_RETURN_IF_ERROR(volume_->Rename(aside, back));
    return back;
  }
  return Fail(
      Error(Code::kCorruption, fmt::format("{}: the volume {} does not have the directory {} any more", shown,
                                           marker.volume.ToString(), marker.path))
          .Advise(fmt::format("remove {} to begin without its files", shown)));
}

Result<bool> BoundDirectories::HasFiles(const std::string& path) const {
  ZENFS_ASSIGN_OR_RETURN(const std::vector<DirectoryEntry> entries, volume_->List(path));
  return std::ranges::any_of(entries, [](const DirectoryEntry& entry) { return !entry.stat.is_directory; });
}

// Whether a directory of the host, which may have been moved, has it.
bool BoundDirectories::IsTaken(const std::string& directory, FileId id) const {
  return std::ranges::any_of(KnownPlaces(directory), [&](const std::string& place) {
    struct stat st{};
    return ::lstat(Below(RegistryIn(place), EntryOf(id)).c_str(), &st) == 0 && st.st_nlink > 1;
  });
}

Result<std::string> BoundDirectories::Adopt(const HostDirectory& directory) {
  const std::string shown = directory.PathOf(kMarker);
  const Result<FileStat> there = volume_->Stat(directory.path());
  if (!there || !there->is_directory) {
    return Fail(Error(Code::kNotFound, fmt::format("{}: is empty, and the volume has no directory {}", shown,
                                                   directory.path()))
                    .Advise("remove it"));
  }
  if (IsTaken(directory.path(), there->id)) {
    return Fail(
        Error(Code::kInvalidArgument,
              fmt::format("{}: is empty, and the volume's {} has the files of a directory that was moved",
                          shown, directory.path()))
            .Advise("remove it to begin without files, or move that directory back"));
  }
  if (may_change()) ZENFS_RETURN_IF_ERROR(Register(directory, there->id, directory.path()));
  return directory.path();
}

Result<std::string> BoundDirectories::Bind(const std::string& directory) {
  MutexLock lock(mutex_);
  ZENFS_ASSIGN_OR_RETURN(std::optional<std::string> found, FindLocked(directory));
  if (found) {
    if (SteadyNow() >= next_look_for_room_) ZENFS_RETURN_IF_ERROR(MakeRoom());
    return *std::move(found);
  }
  ZENFS_ASSIGN_OR_RETURN(const HostDirectory opened, HostDirectory::Open(directory));
  if (directory.find('\n') != std::string::npos)
    return Fail(Code::kInvalidArgument, fmt::format("{}: a line end in the path of a directory", directory));
  if (!may_change())
    return Fail(Code::kReadOnly, fmt::format("{}: the volume is mounted read-only", directory));
  ZENFS_RETURN_IF_ERROR(CheckNoDatabaseOnHost(opened));
  set_aside_in_.clear();
  ZENFS_RETURN_IF_ERROR(SetAsideOnce(directory));
  ZENFS_RETURN_IF_ERROR(MakeRoom());
  ZENFS_ASSIGN_OR_RETURN(std::string path, ChoosePath(directory));
  ZENFS_RETURN_IF_ERROR(volume_->MakeDirectory(path, /*parents=*/true));
  ZENFS_ASSIGN_OR_RETURN(const FileStat there, volume_->Stat(path));
  ZENFS_RETURN_IF_ERROR(Register(opened, there.id, path));
  return path;
}

// The first of the directory's own path, path~2, ... that no other directory of the host has.
Result<std::string> BoundDirectories::ChoosePath(const std::string& directory) {
  for (int copy = 1;; ++copy) {
    const std::string path = copy == 1 ? directory : fmt::format("{}~{}", directory, copy);
    const Result<FileStat> there = volume_->Stat(path);
    if (!there && there.error().code() == Code::kNotFound) return path;
    if (!there) return Fail(there.error());
    if (!there->is_directory || IsTaken(directory, there->id)) continue;
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

// Writes a marker, which replaces the present one in one step.
Status BoundDirectories::Register(const HostDirectory& directory, FileId id, const std::string& path) {
  const std::string entry = EntryOf(id);
  const std::string new_entry = entry + std::string(kNewEntry);
  const std::string new_marker(kNewMarker);
  Status last = Fail(Code::kPermission, "this user may not make a directory there");
  for (const std::string& place : PlacesForNew(directory.path())) {
    const std::optional<HostDirectory> registry = OpenOrMakeRegistry(RegistryIn(place));
    if (!registry) continue;
    last = [&]() -> Status {
      ZENFS_ASSIGN_OR_RETURN(HostFile file, registry->Create(new_entry, 0644));
      ZENFS_ASSIGN_OR_RETURN(const HostStat created, file.Stat());
      const std::string text = TextOf({.volume = volume_->info().superblock.uuid,
                                       .id = id,
                                       .inode = created.inode,
                                       .registry = registry->path(),
                                       .host = directory.path(),
                                       .path = path});
      ZENFS_RETURN_IF_ERROR(file.Append(std::as_bytes(std::span(text))));
      ZENFS_RETURN_IF_ERROR(file.Sync());
      ZENFS_RETURN_IF_ERROR(registry->Sync(""));
      ZENFS_RETURN_IF_ERROR(directory.RemoveFile(new_marker));
      if (Status linked = registry->LinkTo(new_entry, directory, new_marker); !linked.ok()) {
        ZENFS_RETURN_IF_ERROR(registry->RemoveFile(new_entry));
        return linked;
      }
      ZENFS_RETURN_IF_ERROR(directory.Rename(new_marker, std::string(kMarker)));
      ZENFS_RETURN_IF_ERROR(directory.Sync(""));
      ZENFS_RETURN_IF_ERROR(registry->Rename(new_entry, entry));
      return registry->Sync("");
    }();
    if (last.ok()) return {};
  }
  return Fail(
      std::move(last).error().With(fmt::format("{}: cannot be bound to the volume", directory.path())));
}

Status BoundDirectories::SetAsideOnce(const std::string& directory) {
  if (!may_change()) return {};
  for (const std::string& place : KnownPlaces(directory)) {
    const std::string path = RegistryIn(place);
    if (!set_aside_in_.insert(path).second) continue;
    if (const auto registry = OpenRegistry(path)) ZENFS_RETURN_IF_ERROR(SetAsideWhatWasRemoved(*registry));
  }
  return {};
}

Status BoundDirectories::SetAsideWhatWasRemoved(const HostDirectory& registry) {
  ZENFS_ASSIGN_OR_RETURN(const std::vector<std::string> names, registry.List(""));
  const std::string own = volume_->info().superblock.uuid.ToString() + ".";
  std::vector<Marker> removed;
  for (const std::string& name : names) {
    if (!name.starts_with(own) || name.ends_with(kNewEntry)) continue;
    ZENFS_ASSIGN_OR_RETURN(const HostStat stat, registry.Stat(name));
    if (stat.kind != HostStat::Kind::kFile || stat.links != 1) continue;
    const Result<Marker> marker = ReadMarker(registry, name);
    if (!marker || EntryOf(marker->id) != name || !IsProof(*marker, stat, registry)) continue;
    removed.push_back(*marker);
  }
  // Those below others first: only a directory without directories is set aside as a whole.
  std::ranges::sort(removed, std::ranges::greater(), [](const Marker& marker) { return marker.path.size(); });
  for (const Marker& marker : removed) {
    ZENFS_RETURN_IF_ERROR(SetAside(marker));
    ZENFS_RETURN_IF_ERROR(registry.RemoveFile(EntryOf(marker.id)));
  }
  return {};
}

// Whether a marker with one name says that its directory was removed: not if the registry is a copy, nor if the directory has been given
// another file of that name, as by tar or by a crash in Register.
bool BoundDirectories::IsProof(const Marker& marker, const HostStat& stat,
                               const HostDirectory& registry) const {
  if (marker.inode != stat.inode || marker.registry != registry.path()) return false;
  struct stat st{};
  if (::lstat((registry.PathOf(EntryOf(marker.id)) + std::string(kNewEntry)).c_str(), &st) == 0) return false;
  if (::lstat(Below(marker.host, kMarker).c_str(), &st) != 0) return true;
  const Result<HostDirectory> directory = HostDirectory::Open(marker.host);
  if (!directory || st.st_size == 0) return false;
  const Result<Marker> there = ReadMarker(*directory, std::string(kMarker));
  return there && (there->volume != marker.volume || there->id != marker.id);
}

std::string BoundDirectories::SetAsidePath(FileId id) { return fmt::format("{}/{}", kSetAside, id.value); }

// Directories below it are in the registry themselves.
Status BoundDirectories::SetAside(const Marker& marker) {
  const Result<FileStat> there = volume_->Stat(marker.path);
  if (!there && there.error().code() == Code::kNotFound) return {};
  if (!there) return Fail(there.error());
  if (!there->is_directory || there->id != marker.id) return {};
  ZENFS_ASSIGN_OR_RETURN(const std::vector<DirectoryEntry> entries, volume_->List(marker.path));
  const auto files =
      std::ranges::count_if(entries, [](const DirectoryEntry& entry) { return !entry.stat.is_directory; });
  if (files == 0) return entries.empty() ? volume_->RemoveDirectory(marker.path) : Status();
  const std::string aside = SetAsidePath(marker.id);
  ZENFS_RETURN_IF_ERROR(volume_->MakeDirectory(kSetAside, /*parents=*/true));
  if (static_cast<std::size_t>(files) == entries.size()) {
    ZENFS_RETURN_IF_ERROR(volume_->Rename(marker.path, aside));
  } else {
    ZENFS_RETURN_IF_ERROR(volume_->MakeDirectory(aside, /*parents=*/true));
    for (const DirectoryEntry& entry : entries) {
      if (entry.stat.is_directory) continue;
      ZENFS_RETURN_IF_ERROR(volume_->Rename(Below(marker.path, entry.name), Below(aside, entry.name)));
    }
  }
  PrintLine(
      fmt::format("{} was removed or emptied on the host: its files ({}) are set aside in the volume as {} "
                  "until space is needed",
                  marker.host, files, aside));
  return {};
}

Status BoundDirectories::MakeRoom() {
  if (!may_change()) return {};
  next_look_for_room_ = SteadyNow() + kLooksForRoom;
  const auto is_short = [&] {
    const SpaceReport space = volume_->Space();
    return space.free + space.garbage < space.total / kRoomDivisor;
  };
  if (!is_short()) return {};
  const auto aside = volume_->List(kSetAside);
  if (!aside) return {};  // nothing is set aside
  std::vector<DirectoryEntry> oldest_first = *aside;
  std::ranges::sort(oldest_first, {}, [](const DirectoryEntry& entry) { return entry.stat.id; });
  for (const DirectoryEntry& entry : oldest_first) {
    if (!is_short()) return {};
    const std::string path = fmt::format("{}/{}", kSetAside, entry.name);
    ZENFS_RETURN_IF_ERROR(volume_->RemoveTree(path));
    PrintLine(fmt::format("space is short: {} in the volume is deleted", path));
  }
  return {};
}

Status BoundDirectories::Remove(const std::string& directory) {
  MutexLock lock(mutex_);
  ZENFS_ASSIGN_OR_RETURN(const std::optional<std::string> path, FindLocked(directory));
  ZENFS_ASSIGN_OR_RETURN(const HostDirectory opened, HostDirectory::Open(directory));
  ZENFS_ASSIGN_OR_RETURN(std::vector<std::string> names, opened.List(""));
  std::erase_if(names, [](const std::string& name) { return name == kMarker || name == kNewMarker; });
  ZENFS_ASSIGN_OR_RETURN(const bool has_files, path ? HasFiles(*path) : Result<bool>(false));
  if (has_files || !names.empty()) return Fail(Code::kNotEmpty, directory);
  ZENFS_RETURN_IF_ERROR(opened.RemoveFile(std::string(kNewMarker)));
  ZENFS_RETURN_IF_ERROR(opened.RemoveFile(std::string(kMarker)));
  if (::rmdir(directory.c_str()) != 0) return FailErrno(errno, directory);
  known_.erase(directory);
  set_aside_in_.clear();
  return SetAsideOnce(DirectoryOf(directory));
}

}  // namespace zenfs
