// Directories of the host whose files are in a volume.
//
// A directory belongs to the host: any program makes, lists, renames and removes it as ever. The files that RocksDB makes in it
// are in the volume. The first one *binds* the directory: its marker, a file named ZENFS, names the volume and the volume's
// directory for these files. So whoever renames or removes the directory decides about its files as well.
//
//   host                              volume
//   /data/db/ZENFS       ------->     /data/db/CURRENT, /data/db/000004.log, ...
//   /data/.zenfs.1000/UUID.17         (17: the id of the volume's directory; the same inode as the marker)
//
// The volume's directory has the path that the host's had when it was bound, with ~2, ~3, ... if that was taken by a directory that has been
// renamed since.
//
// Was it removed, or moved? The marker has a second name, in a *registry*: a directory .zenfs.UID in the directory that contains
// the prefix or, if this user can't make one there, in the next below it. A marker that was removed leaves one name, one that was
// moved keeps both. Only the first says that the directory was removed, and only if its place has no other marker for the same files, and the
// registry is no copy. Nothing is deleted then: the files are *set aside* in the volume, and a marker that turns up after all, from
// another file system of the host or a backup, gets them back. They are deleted when less than an eighth of the volume is free. The
// registries are looked at when a process first uses a directory, and before each new one is bound.
//
// A marker is never changed: a new one takes its place by one renaming, if the directory is found under another path, or not in the registry.
// Each step is durable before the next: make the volume's directory, write the marker in the registry as ENTRY.new, give it its name in
// the directory, rename the entry. While there is an ENTRY.new, the old entry says nothing.
//
// Errors name the host's path. Threads: any.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <ctime>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/host_directory.h"
#include "base/mutex.h"
#include "volume/volume.h"

namespace zenfs {

class BoundDirectories {
 public:
  static constexpr std::string_view kMarker = "ZENFS";
  static constexpr std::string_view kNewMarker = ".ZENFS.new";  // on its way to that name
  static constexpr std::string_view kRegistryPrefix = ".zenfs.";
  // Whether a name in a directory of the host is ours.
  static bool IsOwnName(std::string_view name) {
    return name == kMarker || name == kNewMarker || name.starts_with(kRegistryPrefix);
  }

  // `prefixes`: as in DefaultDevice.
  BoundDirectories(std::shared_ptr<Volume> volume, std::vector<std::string> prefixes)
      : volume_(std::move(volume)), prefixes_(std::move(prefixes)) {}

  // Whether the host's directory has a marker, of any volume. Needs no volume.
  [[nodiscard]] static bool HasMarker(const std::string& directory);

  // All paths of the host below are absolute, and no component is a link.

  // The volume's directory; none if the host's is not bound, or is missing. An empty marker, which a user has made, binds the directory
  // to the volume's of the same path. Errors: kPermission for a marker that somebody else may have written; kInvalidArgument for
  // one of another volume, or a copied one; kCorruption for a damaged one, or if the volume does not have the directory; kExists if it
  // has a database on the host as well.
  [[nodiscard]] Result<std::optional<std::string>> Find(const std::string& directory) EXCLUDES(mutex_);
  // The same, and binds the directory if it is not bound. Errors, in addition: kNotFound if it is missing; kExists if it has a
  // database on the host, or if the volume has files there that belong to no known directory.
  [[nodiscard]] Result<std::string> Bind(const std::string& directory) EXCLUDES(mutex_);
  // Removes a bound directory on both sides. Errors: kNotEmpty.
  [[nodiscard]] Status Remove(const std::string& directory) EXCLUDES(mutex_);

 private:
  // What a marker says.
  struct Marker {
    Uuid volume;
    FileId id;                // of the volume's directory
    std::uint64_t inode = 0;  // of the marker itself
    std::string registry;
    std::string host;  // the directory, when the marker was written
    std::string path;  // in the volume
  };
  // A marker that was found to be right, and what tells that it is still the same.
  struct Known {
    dev_t device = 0;
    ino_t inode = 0;
    timespec changed{};
    std::string path;
  };

  bool may_change() const;
  // The directories where a registry of `directory` can be, and where a new one may be made; from the top.
  static std::vector<std::string> KnownPlaces(const std::string& directory);
  std::vector<std::string> PlacesForNew(const std::string& directory) const;
  static std::string TextOf(const Marker& marker);
  static Result<Marker> ReadMarker(const HostDirectory& directory, const std::string& name);
  std::string EntryOf(FileId id) const;

  Result<std::optional<std::string>> FindLocked(const std::string& directory) REQUIRES(mutex_);
  Status CheckNoDatabaseOnHost(const HostDirectory& directory) const;
  Result<std::string> FindMarked(const HostDirectory& directory) REQUIRES(mutex_);
  // False if the registry has to be told of the marker. Errors: kInvalidArgument for a copy.
  Result<bool> IsRegistered(const HostDirectory& directory, const Marker& marker, const HostStat& stat) const;
  Result<std::string> PathInVolume(const Marker& marker, const std::string& shown) REQUIRES(mutex_);
  Result<std::string> Adopt(const HostDirectory& directory) REQUIRES(mutex_);
  bool IsTaken(const std::string& directory, FileId id) const;
  Result<std::string> ChoosePath(const std::string& directory) REQUIRES(mutex_);
  Status Register(const HostDirectory& directory, FileId id, const std::string& path) REQUIRES(mutex_);

  // For each registry that may be that of `directory`, once.
  Status SetAsideOnce(const std::string& directory) REQUIRES(mutex_);
  Status SetAsideWhatWasRemoved(const HostDirectory& registry) REQUIRES(mutex_);
  bool IsProof(const Marker& marker, const HostStat& stat, const HostDirectory& registry) const;
  static std::string SetAsidePath(FileId id);
  Status SetAside(const Marker& marker) REQUIRES(mutex_);
  // Deletes what is set aside, the oldest first, while less than an eighth of the volume is free.
  Status MakeRoom() REQUIRES(mutex_);
  Result<bool> HasFiles(const std::string& path) const;

  const std::shared_ptr<Volume> volume_;
  const std::vector<std::string> prefixes_;
  Mutex mutex_;  // held during calls of the host and of the volume, so taken before all locks of the volume
  std::map<std::string, Known> known_ GUARDED_BY(mutex_);  // by the host's directory
  std::set<std::string> set_aside_in_ GUARDED_BY(mutex_);  // registries that have been looked at
  SteadyTime next_look_for_room_ GUARDED_BY(mutex_){};
};

}  // namespace zenfs
