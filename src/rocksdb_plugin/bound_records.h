// What the host and a volume say about a directory of the host whose files are in the volume (bound_directories.h): its marker
// on the host, and the records in the volume.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/host_directory.h"
#include "base/status.h"
#include "base/uuid.h"
#include "model/units.h"
#include "volume/volume.h"

namespace zenfs {

// The content of a marker, the file ZENFS in the directory.
//
//   zenfs-directory 2
//   volume 6ba7b810-9dad-41d1-80b4-00c04fd430c8
//   id 17                                             of the volume's directory
//   nonce 9f86d081884c7d65                            the volume has it as well, as long as the marker counts
//   inode 1443                                        of the marker itself
//   registry /data/.zenfs.1000                        where its second name is
//   host /data/db                                     the directory, when the marker was written
//   path /data/db                                     the volume's directory, then
struct DirectoryMarker {
  Uuid volume;
  FileId id;
  std::string nonce;
  std::uint64_t inode = 0;
  std::string registry;
  std::string host;
  std::string path;

  std::string ToText() const;
  // Errors: kCorruption if the file is not a marker.
  [[nodiscard]] static Result<DirectoryMarker> Read(const HostDirectory& directory, const std::string& name);
};

// What the volume says about the host's directories whose files it has.
//
//   /.zenfs-bound/UUID.ID/NONCE           the marker with this nonce has the files of directory ID. There are two only while one
//                                         marker replaces another
//   /.zenfs-removed/TIME.ID/000004.log    files of a directory that was removed on the host
//
// So only the volume decides which marker counts: a copy, a backup and an old name of a marker have a nonce that it has given up. UUID is
// the volume's; the records that a restored volume has of another one say nothing.
//
// Each change is durable on return. Threads: one at a time.
class BoundRecords {
 public:
  static constexpr std::string_view kSetAside = "/.zenfs-removed";

  // The volume's directories for one path of the host: path, path~2, ...
  static constexpr int kNamesMax = 1000;
  static std::string NthName(const std::string& path, int n);

  explicit BoundRecords(std::shared_ptr<Volume> volume) : volume_(std::move(volume)) {}

  // The first of these names that fits; null: nothing has the name.
  [[nodiscard]] Result<std::optional<std::string>> FindName(
      const std::string& path, const std::function<bool(const FileStat*)>& fits) const;
  [[nodiscard]] Result<std::optional<std::string>> FindById(const std::string& path, FileId id) const;
  // Removes the directory, and those above it, that are empty and belong to no directory of the host. Those above were made for the
  // ones below.
  [[nodiscard]] Status RemoveEmpty(std::string path);

  // Those of the markers that count. Empty: the directory belongs to none.
  [[nodiscard]] Result<std::vector<std::string>> Nonces(FileId id) const;
  [[nodiscard]] Status Add(FileId id, const std::string& nonce);
  [[nodiscard]] Status Remove(FileId id, const std::string& nonce);
  // From now on the directory belongs to none.
  [[nodiscard]] Status Forget(FileId id);

  // Moves a directory there, and returns its new path. It has no directories below it.
  [[nodiscard]] Result<std::string> SetAside(FileId id, const std::string& path);
  // The directories that were set aside, the first one first.
  [[nodiscard]] Result<std::vector<DirectoryEntry>> AllSetAside() const;
  // Where one of them is.
  [[nodiscard]] Result<std::optional<std::string>> FindSetAside(FileId id) const;
  // Deletes one of them, and returns its path.
  [[nodiscard]] Result<std::string> DeleteSetAside(const DirectoryEntry& entry);

 private:
  std::string RecordOf(FileId id) const;

  const std::shared_ptr<Volume> volume_;
};

}  // namespace zenfs
