// Directories of the host whose files are in a volume.
//
// A directory belongs to the host: any program makes, lists, renames and removes it as ever. The files that RocksDB makes in it
// are in the volume. The first one *binds* the directory: its marker, a file named ZENFS, names the volume and the volume's
// directory for these files. So whoever renames or removes the directory decides about its files as well.
//
//   host                                    volume
//   /data/db/ZENFS             ------->     /data/db/CURRENT, /data/db/000004.log, ...
//   /data/.zenfs.1000/UUID.17.NONCE         /.zenfs-bound/UUID.17/NONCE
//
// 17 is the id of the volume's directory. It has the path that the host's had when it was bound, with ~2, ~3, ... if another one has that.
//
// *Which marker counts* the volume decides: each marker has a nonce of its own, and the volume records it. A marker is never changed; when
// its directory is found under another path, it is replaced by one with a new nonce, and the volume gives up the old one. So no two
// directories have the same files, wherever copies of a marker are.
//
// *Was a directory removed, or moved?* Its marker has a second name, its entry in a registry: a directory .zenfs.UID in the directory that
// contains the prefix or, if this user can't make one there, in the next below it. The entry of a marker that was removed has one name,
// that of a moved one keeps both. Only if the nonce counts, and the directory's place has no other marker for the same files, does the entry
// say that the directory was removed. Nothing is deleted then: the files are *set aside* in the volume, and a marker that turns up after
// all, from another file system of the host or a backup, gets them back. They are deleted when RocksDB makes a file and less than an
// eighth of the volume is free, or when there are too many of them. A directory with others below it in the volume is set aside after these.
// The registries are looked at when a process first uses a directory, and before each new one is bound.
//
// A new marker: write the entry, record its nonce in the volume, give the marker its name in the directory, give up the old nonce,
// remove the old entry. Each step is durable before the next; between them both nonces count, and one of the markers is in its place.
//
// Errors name the host's path. Threads: any.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <ctime>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/host_directory.h"
#include "base/mutex.h"
#include "rocksdb_plugin/bound_records.h"
#include "volume/volume.h"

namespace zenfs {

class BoundDirectories {
 public:
  static constexpr std::string_view kMarker = "ZENFS";
  static constexpr std::string_view kNewMarker = ".ZENFS.new";  // on its way to that name
  static constexpr std::string_view kRegistryPrefix = ".zenfs.";
  // Each new directory of the host looks at all that are set aside.
  static constexpr std::size_t kSetAsideMax = 10'000;
  // Whether a name in a directory of the host is ours.
  static bool IsOwnName(std::string_view name) {
    return name == kMarker || name == kNewMarker || name.starts_with(kRegistryPrefix);
  }

  // `prefixes`: as in DefaultDevice.
  BoundDirectories(std::shared_ptr<Volume> volume, std::vector<std::string> prefixes)
      : volume_(volume), records_(std::move(volume)), prefixes_(std::move(prefixes)) {}

  // Whether the host's directory has a marker, of any volume. Needs no volume.
  [[nodiscard]] static bool HasMarker(const std::string& directory);

  // All paths of the host below are absolute, and no component is a link.

  // The volume's directory; none if the host's is not bound, or is missing. An empty marker, which a user has made, binds the directory
  // to the volume's of the same path. Errors: kPermission for a marker that somebody else may have written; kInvalidArgument for
  // one of another volume, or one that does not count; kCorruption for a damaged one, or if the volume does not have the directory;
  // kExists if it has a database on the host as well.
  [[nodiscard]] Result<std::optional<std::string>> Find(const std::string& directory) EXCLUDES(mutex_);
  // The same, and binds the directory if it is not bound. Errors, in addition: kNotFound if it is missing; kInvalidArgument for a lock
  // of this process; kExists if it has a database on the host, or if the volume has files there that belong to no known directory.
  [[nodiscard]] Result<std::string> Bind(const std::string& directory) EXCLUDES(mutex_);
  // Removes a bound directory on both sides. Errors: kNotEmpty.
  [[nodiscard]] Status Remove(const std::string& directory) EXCLUDES(mutex_);

  // While a database of this process has a lock in the directory, the directory is not bound anew: half of the database would be in another
  // one. `lock`: any key.
  void NoteLock(const void* lock, std::string directory) EXCLUDES(mutex_);
  void NoteUnlock(const void* lock) EXCLUDES(mutex_);

 private:
  // A marker that was found to be right, and what tells that it is still the same.
  struct Known {
    dev_t device = 0;
    ino_t inode = 0;
    timespec changed{};
    FileId id;
    std::string path;
  };
  // A directory of the volume, for one of the host.
  struct Found {
    FileId id;
    std::string path;
  };

  bool may_change() const;
  // The directories where a registry of `directory` can be, and where a new one may be made; from the top.
  static std::vector<std::string> KnownPlaces(const std::string& directory);
  std::vector<std::string> PlacesForNew(const std::string& directory) const;
  std::string EntryOf(FileId id, std::string_view nonce) const;

  Result<std::optional<std::string>> FindLocked(const std::string& directory) REQUIRES(mutex_);
  Status CheckNoDatabaseOnHost(const HostDirectory& directory) const;
  Result<Found> FindMarked(const HostDirectory& directory, const HostStat& stat) REQUIRES(mutex_);
  // False if the registry has to be told of the marker. Errors: kInvalidArgument for a copy.
  Result<bool> IsRegistered(const HostDirectory& directory, const DirectoryMarker& marker,
                            const HostStat& stat) const;
  Result<std::string> PathInVolume(const DirectoryMarker& marker, const std::string& shown) REQUIRES(mutex_);
  // `own`: inode of the empty marker.
  Result<Found> Adopt(const HostDirectory& directory, ino_t own) REQUIRES(mutex_);
  // How many names the entries of these markers have, in the registries of `directory` and of the prefixes: 2 if a marker is in a
  // directory, which may have been moved; 0 if there is no entry. The entry with the inode `except` does not count.
  nlink_t NamesNear(const std::string& directory, FileId id, const std::vector<std::string>& nonces,
                    ino_t except = 0) const;
  Result<std::string> ChoosePath(const std::string& directory) REQUIRES(mutex_);
  Status Register(const HostDirectory& directory, const Found& found) REQUIRES(mutex_);
  Status RegisterIn(const HostDirectory& registry, const HostDirectory& directory, const Found& found,
                    const std::vector<std::string>& old_nonces) REQUIRES(mutex_);

  // For each registry that may be that of `directory`, once.
  Status SetAsideOnce(const std::string& directory) REQUIRES(mutex_);
  Status SetAsideWhatWasRemoved(const HostDirectory& registry) REQUIRES(mutex_);
  Result<bool> WasRemoved(const DirectoryMarker& marker, const std::vector<std::string>& nonces,
                          const HostDirectory& registry) const;
  // True if nothing is left of it, so that its entry can go. A directory waits for those below it.
  Result<bool> SetAside(const DirectoryMarker& marker) REQUIRES(mutex_);
  // Deletes what is set aside while less than an eighth of the volume is free.
  Status MakeRoom() REQUIRES(mutex_);
  // The oldest first, while this holds for the number that is left.
  Status DeleteSetAside(std::string_view reason, const std::function<bool(std::size_t)>& too_many)
      REQUIRES(mutex_);
  Result<bool> HasFiles(const std::string& path) const;

  const std::shared_ptr<Volume> volume_;
  BoundRecords records_;
  const std::vector<std::string> prefixes_;
  Mutex mutex_;  // held during calls of the host and of the volume, so taken before all locks of the volume
  std::map<std::string, Known> known_ GUARDED_BY(mutex_);        // by the host's directory
  std::set<std::string> set_aside_in_ GUARDED_BY(mutex_);        // registries that have been looked at
  std::set<std::string> told_ GUARDED_BY(mutex_);                // lines that were printed
  std::map<const void*, std::string> locks_ GUARDED_BY(mutex_);  // and their directories
};

}  // namespace zenfs
