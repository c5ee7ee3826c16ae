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
// moved keeps both. Only the first is a proof, and then the volume's files are deleted, before the next directory is bound and at the first
// use in a process. A registry that was itself copied proves nothing: each marker says what its inode is.
//
// Each step is durable before the next: make the volume's directory, write the marker in the registry, give it its name in the directory.
// A crash leaves a volume's directory without files, or a marker with one name, which the next step like this removes.
//
// Errors name the host's path. Threads: any.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <ctime>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/host_directory.h"
#include "base/mutex.h"
#include "volume/volume.h"

namespace zenfs {

class BoundDirectories {
 public:
  static constexpr std::string_view kMarker = "ZENFS";
  static constexpr std::string_view kRegistryPrefix = ".zenfs.";

  // `prefixes`: as in DefaultDevice.
  BoundDirectories(std::shared_ptr<Volume> volume, std::vector<std::string> prefixes)
      : volume_(std::move(volume)), prefixes_(std::move(prefixes)) {}

  // Whether the host's directory has a marker, of any volume. Needs no volume.
  [[nodiscard]] static bool HasMarker(const std::string& directory);

  // All paths of the host below are absolute, and no component is a link.

  // The volume's directory; none if the host's is not bound, or is missing. An empty marker, which a user has made, binds the directory
  // to the volume's of the same path. Errors: kPermission for a marker that somebody else may have written; kInvalidArgument for
  // one of another volume, or a copied one; kCorruption for a damaged one, or if the volume does not have the directory.
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
    std::string path;  // in the volume
  };
  // A marker that was found to be right, and what tells that it is still the same.
  struct Known {
    dev_t device = 0;
    ino_t inode = 0;
    timespec changed{};
    std::string path;
  };

  // The directories where a registry of `directory` can be, and where a new one may be made; from the top.
  static std::vector<std::string> KnownPlaces(const std::string& directory);
  std::vector<std::string> PlacesForNew(const std::string& directory) const;
  static std::string TextOf(const Marker& marker);
  static Result<Marker> ReadMarker(const HostDirectory& directory, const std::string& name);
  std::string EntryOf(FileId id) const;

  Result<std::optional<std::string>> FindLocked(const std::string& directory) REQUIRES(mutex_);
  Result<Marker> CheckedMarker(const HostDirectory& directory) REQUIRES(mutex_);
  Status CheckIsOriginal(const HostDirectory& directory, const Marker& marker, const HostStat& stat)
      REQUIRES(mutex_);
  Result<std::string> Adopt(const HostDirectory& directory) REQUIRES(mutex_);
  Result<std::string> ChoosePath(const std::string& directory) REQUIRES(mutex_);
  Result<std::string> BindTo(const HostDirectory& directory, const std::string& path) REQUIRES(mutex_);
  Status DeleteWhatWasRemoved(const HostDirectory& registry) REQUIRES(mutex_);
  Status DeleteFilesIn(const Marker& marker) REQUIRES(mutex_);
  Result<bool> HasFiles(const std::string& path) const;

  const std::shared_ptr<Volume> volume_;
  const std::vector<std::string> prefixes_;
  Mutex mutex_;  // held during calls of the host and of the volume, so taken before all locks of the volume
  std::map<std::string, Known> known_ GUARDED_BY(mutex_);  // by the host's directory
};

}  // namespace zenfs
