#include "rocksdb_plugin/bound_directories.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>

#include "base/random.h"
#include "base/sync_point.h"
#include "rocksdb_plugin/default_device.h"
#include "rocksdb_plugin/print_line.h"

namespace zenfs {

namespace {

constexpr mode_t kOthersMayWrite = 022;
constexpr mode_t kRegistryMode = 0711;  // other users may ask for an entry whose name they know
constexpr std::uint64_t kRoomDivisor = 8;

std::string Below(const std::string& directory, std::string_view name) {
  return fmt::format("{}/{}", directory == "/" ? "" : directory, name);
}

std::string OwnRegistryName() { return fmt::format("{}{}", BoundDirectories::kRegistryPrefix, ::geteuid()); }
std::string RegistryIn(const std::string& place) { return Below(place, OwnRegistryName()); }

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

// None if this user can't have one there.
Result<std::optional<HostDirectory>> OpenOrMakeRegistry(const std::string& path) {
  if (::mkdir(path.c_str(), kRegistryMode) == 0) {
    if (::chmod(path.c_str(), kRegistryMode) != 0) return FailErrno(errno, path);  // whatever the umask is
  } else if (errno == EACCES || errno == EPERM || errno == EROFS) {
    return std::nullopt;
  } else if (errno != EEXIST) {
    return FailErrno(errno, path);
  }
  return OpenRegistry(path);
}

Status CheckOwner(const HostStat& stat, const std::string& shown) {
  if (stat.kind != HostStat::Kind::kFile)
    return Fail(Code::kInvalidArgument, fmt::format("{}: not a regular file", shown));
  if (stat.owner != ::geteuid() && stat.owner != 0) {
    return Fail(Error(Code::kPermission, fmt::format("{}: belongs to user {}", shown, stat.owner))
                    .Advise("run the program as the user that made it, or give it to this user"));
  }
  if ((stat.mode & kOthersMayWrite) == 0) return {};
  return Fail(Error(Code::kPermission, fmt::format("{}: others may write to it", shown))
                  .Advise("take that right from them ('chmod go-w')"));
}

// That of this user, or of root; none also if it is empty or damaged.
std::optional<DirectoryMarker> MarkerAt(const std::string& path) {
  const std::string name(BoundDirectories::kMarker);
  const Result<HostDirectory> directory = HostDirectory::Open(path);
  if (!directory) return {};
  const Result<HostStat> stat = directory->Stat(name);
  if (!stat || !CheckOwner(*stat, name).ok()) return {};
  Result<DirectoryMarker> marker = DirectoryMarker::Read(*directory, name);
  if (!marker) return {};
  return *std::move(marker);
}

// From "ID.NONCE"; 0, which no directory of the host has, if it is something else.
FileId IdIn(std::string_view text) {
  std::uint64_t id = 0;
  std::from_chars(text.data(), text.data() + text.size(), id);
  return FileId(id);
}

Error Gone(const DirectoryMarker& marker, const std::string& shown) {
  return Error(Code::kCorruption, fmt::format("{}: the volume {} does not have the directory {} any more",
                                              shown, marker.volume.ToString(), marker.path))
      .Advise(fmt::format("remove {} to begin without its files", shown));
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

std::string BoundDirectories::EntryOf(FileId id, std::string_view nonce) const {
  return fmt::format("{}.{}.{}", volume_->info().superblock.uuid.ToString(), id.value, nonce);
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
  if (may_change()) IgnoreError(opened.RemoveFile(std::string(kNewMarker)));  // of a run that was killed
  ZENFS_ASSIGN_OR_RETURN(const HostStat stat, opened.Stat(std::string(kMarker)));
  if (stat.kind == HostStat::Kind::kMissing) return std::nullopt;
  ZENFS_RETURN_IF_ERROR(CheckOwner(stat, opened.PathOf(kMarker)));
  ZENFS_ASSIGN_OR_RETURN(Found found, stat.size == 0 ? Adopt(opened, stat.inode) : FindMarked(opened, stat));
  ZENFS_RETURN_IF_ERROR(SetAsideOnce(directory));
  if (::lstat(Below(directory, kMarker).c_str(), &st) != 0) return std::nullopt;
  known_[directory] = {st.st_dev, st.st_ino, st.st_ctim, found.id, found.path};
  return std::move(found.path);
}

// A run without the default device may have made one.
Status BoundDirectories::CheckNoDatabaseOnHost(const HostDirectory& directory) const {
  ZENFS_ASSIGN_OR_RETURN(const HostStat current, directory.Stat("CURRENT"));
  if (current.kind == HostStat::Kind::kMissing) return {};
  return Fail(Error(Code::kExists, fmt::format("{}: has a database on the host (CURRENT)", directory.path()))
                  .Advise("take another directory, or move it to the volume by a backup of RocksDB"));
}

Result<BoundDirectories::Found> BoundDirectories::FindMarked(const HostDirectory& directory,
                                                             const HostStat& stat) {
  const std::string shown = directory.PathOf(kMarker);
  ZENFS_ASSIGN_OR_RETURN(const DirectoryMarker marker,
                         DirectoryMarker::Read(directory, std::string(kMarker)));
  const Uuid& own = volume_->info().superblock.uuid;
  if (marker.volume != own) {
    return Fail(Error(Code::kInvalidArgument,
                      fmt::format("{}: the files of {} are in the volume {}, and ZENFS_DEFAULT_URI names {}",
                                  shown, directory.path(), marker.volume.ToString(), own.ToString()))
                    .Advise("name the right device, or take another directory"));
  }
  ZENFS_ASSIGN_OR_RETURN(const std::vector<std::string> nonces, records_.Nonces(marker.id));
  if (nonces.empty()) return Fail(Gone(marker, shown));
  if (std::ranges::find(nonces, marker.nonce) == nonces.end()) {
    return Fail(
        Error(Code::kInvalidArgument,
              fmt::format("{}: does not count any more, because another marker has taken its place: of the "
                          "directory that has the volume's {} now, or had it last",
                          shown, marker.path))
            .Advise(fmt::format("if no directory has these files, move this one to {} and put an empty file "
                                "in the place of its marker; to begin without files, remove the marker",
                                marker.path)));
  }
  ZENFS_ASSIGN_OR_RETURN(const bool is_registered, IsRegistered(directory, marker, stat));
  ZENFS_ASSIGN_OR_RETURN(std::string path, PathInVolume(marker, shown));
  Found found{marker.id, std::move(path)};
  const bool is_current = is_registered && found.path == marker.path && marker.host == directory.path() &&
                          marker.inode == stat.inode && nonces.size() == 1;
  if (!may_change() || is_current) return found;
  // One that is registered says where the files are, also if the host is full or can't be written.
  if (const Status registered = Register(directory, found); !registered.ok() && !is_registered)
    return Fail(registered.error());
  return found;
}

// Of the original the registry has the same file. If the original is gone, this is what it was moved to, from another file system of
// the host.
Result<bool> BoundDirectories::IsRegistered(const HostDirectory& directory, const DirectoryMarker& marker,
                                            const HostStat& stat) const {
  const auto refuse_copy = [&] {
    return Fail(
        Error(Code::kInvalidArgument,
              fmt::format("{}: {} is a copy of another directory, whose files are in the volume's {}",
                          directory.PathOf(kMarker), directory.path(), marker.path))
            .Advise("copy a database by RocksDB's checkpoints or by 'zenfs backup', and remove this one"));
  };
  const std::string entry = EntryOf(marker.id, marker.nonce);
  std::vector<std::string> registries{marker.registry};
  for (const std::string& place : KnownPlaces(directory.path())) registries.push_back(RegistryIn(place));
  for (const std::string& registry : registries) {
    struct stat there{};
    struct stat registered{};
    if (::lstat(registry.c_str(), &there) != 0 || ::lstat(Below(registry, entry).c_str(), &registered) != 0) {
      if (errno == ENOENT || errno == ENOTDIR || errno == EACCES) continue;
      return FailErrno(errno, Below(registry, entry));
    }
    const bool is_ours = there.st_uid == ::geteuid();
    if (!is_ours && registry.ends_with(OwnRegistryName())) continue;  // somebody else has taken the name
    if (registered.st_dev == stat.device && registered.st_ino == stat.inode) {
      if (stat.links <= 2 || marker.host == directory.path()) return is_ours;
      return Fail(
          Error(Code::kInvalidArgument, fmt::format("{}: was copied by hard links: two directories have it",
                                                    directory.PathOf(kMarker)))
              .Advise("remove the copy; copy a database by RocksDB's checkpoints or by 'zenfs backup'"));
    }
    if (registered.st_nlink != 1 || !(is_ours || there.st_uid == 0)) return refuse_copy();
  }
  if (marker.host == directory.path()) return false;
  const std::optional<DirectoryMarker> there = MarkerAt(marker.host);
  if (there && there->volume == marker.volume && there->nonce == marker.nonce) return refuse_copy();
  return false;
}

// Where the volume has the directory now; one that was set aside gets its path back. If the process dies before a marker says the new one,
// it is found there.
Result<std::string> BoundDirectories::PathInVolume(const DirectoryMarker& marker, const std::string& shown) {
  ZENFS_ASSIGN_OR_RETURN(std::optional<std::string> path, records_.FindById(marker.path, marker.id));
  if (path) return *std::move(path);
  ZENFS_ASSIGN_OR_RETURN(const std::optional<std::string> aside, records_.FindSetAside(marker.id));
  if (!aside) return Fail(Gone(marker, shown));
  if (!may_change()) return *aside;
  ZENFS_ASSIGN_OR_RETURN(
      const std::optional<std::string> back,
      records_.FindName(marker.path, [](const FileStat* there) { return there == nullptr; }));
  if (!back) return Fail(Code::kExists, fmt::format("{}: too many directories of this name", marker.path));
  ZENFS_RETURN_IF_ERROR(volume_->MakeDirectory(DirectoryOf(*back), /*parents=*/true));
  ZENFS_RETURN_IF_ERROR(volume_->Rename(*aside, *back));
  SyncPoint::Reach("BoundDirectories::PathInVolume:moved-back");
  return *back;
}

Result<bool> BoundDirectories::HasFiles(const std::string& path) const {
  ZENFS_ASSIGN_OR_RETURN(const std::vector<DirectoryEntry> entries, volume_->List(path));
  return std::ranges::any_of(entries, [](const DirectoryEntry& entry) { return !entry.stat.is_directory; });
}

nlink_t BoundDirectories::NamesNear(const std::string& directory, FileId id,
                                    const std::vector<std::string>& nonces, ino_t except) const {
  nlink_t most = 0;
  std::vector<std::string> places = KnownPlaces(directory);
  for (const std::string& prefix : prefixes_) {
    for (std::string& place : KnownPlaces(prefix)) places.push_back(std::move(place));
  }
  for (const std::string& place : places) {
    for (const std::string& nonce : nonces) {
      struct stat st{};
      if (::lstat(Below(RegistryIn(place), EntryOf(id, nonce)).c_str(), &st) == 0 && st.st_ino != except)
        most = std::max(most, st.st_nlink);
    }
  }
  return most;
}

Result<BoundDirectories::Found> BoundDirectories::Adopt(const HostDirectory& directory, ino_t own) {
  const std::string shown = directory.PathOf(kMarker);
  const Result<FileStat> there = volume_->Stat(directory.path());
  if (!there || !there->is_directory) {
    return Fail(Error(Code::kNotFound, fmt::format("{}: is empty, and the volume has no directory {}", shown,
                                                   directory.path()))
                    .Advise("remove it"));
  }
  ZENFS_ASSIGN_OR_RETURN(const std::vector<std::string> nonces, records_.Nonces(there->id));
  if (NamesNear(directory.path(), there->id, nonces, own) > 1) {
    return Fail(
        Error(Code::kInvalidArgument,
              fmt::format("{}: is empty, and the volume's {} has the files of a directory that was moved",
                          shown, directory.path()))
            .Advise("remove it to begin without files, or move that directory back"));
  }
  Found found{there->id, directory.path()};
  if (may_change()) ZENFS_RETURN_IF_ERROR(Register(directory, found));
  return found;
}

Result<std::string> BoundDirectories::Bind(const std::string& directory) {
  MutexLock lock(mutex_);
  ZENFS_ASSIGN_OR_RETURN(std::optional<std::string> found, FindLocked(directory));
  if (found) {
    ZENFS_RETURN_IF_ERROR(MakeRoom());
    return *std::move(found);
  }
  ZENFS_ASSIGN_OR_RETURN(const HostDirectory opened, HostDirectory::Open(directory));
  if (!may_change())
    return Fail(Code::kReadOnly, fmt::format("{}: the volume is mounted read-only", directory));
  const auto is_here = [&](const auto& held) { return held.second == directory; };
  if (std::ranges::any_of(locks_, is_here)) {
    // Not kBusy: RocksDB 7.8.3 would try again, and could not be closed any more.
    return Fail(
        Error(Code::kInvalidArgument,
              fmt::format("{}: a database of this process is open there, and its marker ({}) was removed",
                          directory, kMarker))
            .Advise("close the database first"));
  }
  ZENFS_RETURN_IF_ERROR(CheckNoDatabaseOnHost(opened));
  ZENFS_RETURN_IF_ERROR(opened.RemoveFile(std::string(kNewMarker)));
  set_aside_in_.clear();
  ZENFS_RETURN_IF_ERROR(SetAsideOnce(directory));
  ZENFS_RETURN_IF_ERROR(MakeRoom());
  ZENFS_ASSIGN_OR_RETURN(std::string path, ChoosePath(directory));
  ZENFS_RETURN_IF_ERROR(volume_->MakeDirectory(path, /*parents=*/true));
  SyncPoint::Reach("BoundDirectories::Bind:made");
  ZENFS_ASSIGN_OR_RETURN(const FileStat there, volume_->Stat(path));
  ZENFS_RETURN_IF_ERROR(Register(opened, {there.id, path}));
  return path;
}

// The first of the directory's own path, path~2, ... that no other directory of the host has.
Result<std::string> BoundDirectories::ChoosePath(const std::string& directory) {
  for (int n = 1; n <= BoundRecords::kNamesMax; ++n) {
    const std::string path = BoundRecords::NthName(directory, n);
    const Result<FileStat> there = volume_->Stat(path);
    if (!there && there.error().code() == Code::kNotFound) return path;
    if (!there) return Fail(there.error());
    if (!there->is_directory) continue;
    ZENFS_ASSIGN_OR_RETURN(const bool has_files, HasFiles(path));
    ZENFS_ASSIGN_OR_RETURN(const std::vector<std::string> nonces, records_.Nonces(there->id));
    if (!nonces.empty() && NamesNear(directory, there->id, nonces) > 1) continue;
    if (!nonces.empty() && has_files) {
      if (told_.insert(path).second) {
        PrintLine(
            fmt::format("the volume's {} has files of another directory, which was moved away, or removed "
                        "while its registry ({}) could not tell; if it is gone, 'zenfs rmdir --force "
                        "--path={}' frees their space",
                        path, OwnRegistryName(), path));
      }
      continue;
    }
    if (!has_files) return path;  // it is there for directories below it
    return Fail(
        Error(Code::kExists,
              fmt::format(
                  "{}: the volume has files there, and nothing says that they were made in this directory",
                  directory))
            .Advise(fmt::format(
                "{}to delete them, 'zenfs rmdir --force --path={}'",
                n != 1 ? "" : fmt::format("to use them, make an empty file {}; ", Below(directory, kMarker)),
                path)));
  }
  return Fail(Code::kExists, fmt::format("{}: too many directories of this name", directory));
}

// Writes a marker, which replaces the present one in one step.
Status BoundDirectories::Register(const HostDirectory& directory, const Found& found) {
  if (directory.path().find('\n') != std::string::npos)
    return Fail(Code::kInvalidArgument,
                fmt::format("{}: a line end in the path of a directory", directory.path()));
  ZENFS_ASSIGN_OR_RETURN(const std::vector<std::string> old_nonces, records_.Nonces(found.id));
  const auto with_directory = [&](const Error& error) {
    return Fail(error.With(fmt::format("{}: cannot be bound to the volume", directory.path())));
  };
  Error last(Code::kPermission, "this user may not make a directory there");
  for (const std::string& place : PlacesForNew(directory.path())) {
    const Result<std::optional<HostDirectory>> registry = OpenOrMakeRegistry(RegistryIn(place));
    if (!registry) return with_directory(registry.error());
    if (!*registry) continue;
    const Status registered = RegisterIn(**registry, directory, found, old_nonces);
    if (registered.ok()) return {};
    last = registered.error();
    const int host = last.os_errno();
    if (host != EACCES && host != EPERM && host != EROFS && host != EXDEV) break;
  }
  return with_directory(last);
}

Status BoundDirectories::RegisterIn(const HostDirectory& registry, const HostDirectory& directory,
                                    const Found& found, const std::vector<std::string>& old_nonces) {
  const std::string nonce = fmt::format("{:016x}", RandomSeed());
  const std::string entry = EntryOf(found.id, nonce);
  const std::string new_marker(kNewMarker);
  const Status placed = [&]() -> Status {
    ZENFS_ASSIGN_OR_RETURN(HostFile file, registry.CreateNew(entry, 0644));
    ZENFS_ASSIGN_OR_RETURN(const HostStat created, file.Stat());
    const std::string text = DirectoryMarker{.volume = volume_->info().superblock.uuid,
                                             .id = found.id,
                                             .nonce = nonce,
                                             .inode = created.inode,
                                             .registry = registry.path(),
                                             .host = directory.path(),
                                             .path = found.path}
                                 .ToText();
    ZENFS_RETURN_IF_ERROR(file.Append(std::as_bytes(std::span(text))));
    ZENFS_RETURN_IF_ERROR(file.Sync());
    ZENFS_RETURN_IF_ERROR(registry.Sync(""));
    SyncPoint::Reach("BoundDirectories::RegisterIn:wrote-entry");
    ZENFS_RETURN_IF_ERROR(directory.RemoveFile(new_marker));
    ZENFS_RETURN_IF_ERROR(registry.LinkTo(entry, directory, new_marker));
    SyncPoint::Reach("BoundDirectories::RegisterIn:linked-entry");
    return records_.Add(found.id, nonce);
  }();
  if (!placed.ok()) {
    IgnoreError(directory.RemoveFile(new_marker));
    IgnoreError(registry.RemoveFile(entry));
    return placed;
  }
  SyncPoint::Reach("BoundDirectories::RegisterIn:recorded-nonce");
  ZENFS_RETURN_IF_ERROR(directory.Rename(new_marker, std::string(kMarker)));
  ZENFS_RETURN_IF_ERROR(directory.Sync(""));
  SyncPoint::Reach("BoundDirectories::RegisterIn:placed-marker");
  std::erase_if(known_, [&](const auto& known) { return known.second.id == found.id; });
  for (const std::string& old : old_nonces) {
    ZENFS_RETURN_IF_ERROR(records_.Remove(found.id, old));
    SyncPoint::Reach("BoundDirectories::RegisterIn:gave-up-nonce");
    for (const std::string& place : KnownPlaces(directory.path())) {
      if (const auto theirs = OpenRegistry(RegistryIn(place)))
        IgnoreError(theirs->RemoveFile(EntryOf(found.id, old)));
    }
  }
  return {};
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
  ZENFS_ASSIGN_OR_RETURN(const std::vector<DirectoryEntry> aside, records_.AllSetAside());
  std::set<FileId> set_aside;
  for (const DirectoryEntry& entry : aside) set_aside.insert(entry.stat.id);
  std::vector<DirectoryMarker> removed;
  for (const std::string& name : names) {
    if (!name.starts_with(own)) continue;
    if (set_aside.contains(IdIn(std::string_view(name).substr(own.size())))) continue;
    ZENFS_ASSIGN_OR_RETURN(const HostStat stat, registry.Stat(name));
    if (stat.kind != HostStat::Kind::kFile || stat.links != 1) continue;
    const Result<DirectoryMarker> marker = DirectoryMarker::Read(registry, name);
    if (!marker || EntryOf(marker->id, marker->nonce) != name) continue;
    if (marker->inode != stat.inode || marker->registry != registry.path()) continue;  // a copy of a registry
    ZENFS_ASSIGN_OR_RETURN(const std::vector<std::string> nonces, records_.Nonces(marker->id));
    if (std::ranges::find(nonces, marker->nonce) == nonces.end()) {
      IgnoreError(registry.RemoveFile(name));  // it does not count
      continue;
    }
    ZENFS_ASSIGN_OR_RETURN(const bool was_removed, WasRemoved(*marker, nonces, registry));
    if (was_removed) removed.push_back(*marker);
  }
  // Those below others first: only a directory without directories is set aside.
  std::ranges::sort(removed, std::ranges::greater(),
                    [](const DirectoryMarker& marker) { return marker.path.size(); });
  for (const DirectoryMarker& marker : removed) {
    const Result<bool> done = SetAside(marker);
    if (!done) PrintLine(done.error().With(marker.host + ": was removed on the host").ToString());
    if (done && *done) IgnoreError(registry.RemoveFile(EntryOf(marker.id, marker.nonce)));
  }
  if (removed.empty()) return {};
  return DeleteSetAside(fmt::format("more than {} directories are set aside", kSetAsideMax),
                        [](std::size_t left) { return left > kSetAsideMax; });
}

// Whether a marker of which only the entry is left says that its directory was removed. It does not if the directory has been given another
// file of that name, as by tar, nor if another of the markers with `nonces`, which count, is left.
Result<bool> BoundDirectories::WasRemoved(const DirectoryMarker& marker,
                                          const std::vector<std::string>& nonces,
                                          const HostDirectory& registry) const {
  for (const std::string& nonce : nonces) {
    ZENFS_ASSIGN_OR_RETURN(const HostStat stat, registry.Stat(EntryOf(marker.id, nonce)));
    const nlink_t names = stat.kind == HostStat::Kind::kFile
                              ? stat.links
                              : NamesNear(DirectoryOf(registry.path()), marker.id, {nonce});
    if (names != 1) return false;
  }
  struct stat st{};
  if (::lstat(Below(marker.host, kMarker).c_str(), &st) != 0) return errno == ENOENT || errno == ENOTDIR;
  if (st.st_uid != ::geteuid() && st.st_uid != 0) return true;  // not one of ours
  const std::optional<DirectoryMarker> there = MarkerAt(marker.host);
  return there && (there->volume != marker.volume || there->id != marker.id);
}

Result<bool> BoundDirectories::SetAside(const DirectoryMarker& marker) {
  ZENFS_ASSIGN_OR_RETURN(const std::optional<std::string> path, records_.FindById(marker.path, marker.id));
  if (!path) {
    ZENFS_ASSIGN_OR_RETURN(const std::optional<std::string> aside, records_.FindSetAside(marker.id));
    if (!aside) ZENFS_RETURN_IF_ERROR(records_.Forget(marker.id));  // somebody has deleted it
    return !aside;
  }
  ZENFS_ASSIGN_OR_RETURN(const std::vector<DirectoryEntry> entries, volume_->List(*path));
  const auto files =
      std::ranges::count_if(entries, [](const DirectoryEntry& entry) { return !entry.stat.is_directory; });
  if (files == 0) {
    ZENFS_RETURN_IF_ERROR(records_.Forget(marker.id));
    ZENFS_RETURN_IF_ERROR(records_.RemoveEmpty(*path));
    return true;
  }
  if (static_cast<std::size_t>(files) != entries.size()) return false;
  ZENFS_ASSIGN_OR_RETURN(const std::string aside, records_.SetAside(marker.id, *path));
  SyncPoint::Reach("BoundDirectories::SetAside:set-aside");
  PrintLine(
      fmt::format("{} was removed or emptied on the host: its files ({}) are set aside in the volume as {} "
                  "until space is needed",
                  marker.host, files, aside));
  ZENFS_RETURN_IF_ERROR(records_.RemoveEmpty(DirectoryOf(*path)));
  return false;
}

Status BoundDirectories::MakeRoom() {
  if (!may_change()) return {};
  const auto is_short = [&] {
    const SpaceReport space = volume_->Space();
    return space.free + space.garbage < space.total / kRoomDivisor;
  };
  if (!is_short()) return {};
  return DeleteSetAside("space is short", [&](std::size_t) { return is_short(); });
}

Status BoundDirectories::DeleteSetAside(std::string_view reason,
                                        const std::function<bool(std::size_t)>& too_many) {
  ZENFS_ASSIGN_OR_RETURN(const std::vector<DirectoryEntry> oldest_first, records_.AllSetAside());
  std::size_t left = oldest_first.size();
  for (const DirectoryEntry& entry : oldest_first) {
    if (!too_many(left)) break;
    ZENFS_ASSIGN_OR_RETURN(const std::string deleted, records_.DeleteSetAside(entry));
    PrintLine(fmt::format("{}: {} in the volume is deleted", reason, deleted));
    --left;
  }
  return {};
}

void BoundDirectories::NoteLock(const void* lock, std::string directory) {
  MutexLock held(mutex_);
  locks_.insert_or_assign(lock, std::move(directory));
}

void BoundDirectories::NoteUnlock(const void* lock) {
  MutexLock held(mutex_);
  locks_.erase(lock);
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
