// What a volume says about the host's directories whose files it has (bound_directories.h).
//
//   /.zenfs-bound/UUID.ID/NONCE           the marker with this nonce has the files of directory ID. There are two only while one
//                                         marker replaces another
//   /.zenfs-removed/TIME.ID/000004.log    files of a directory that was removed on the host
//
// So only the volume decides which marker counts: a copy, a backup and an old name of a marker have a nonce that it has given up. UUID is
// the volume's; the records that a restored volume has of another one say nothing.
//
// Each change is durable on return. Threads: one at a time.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "volume/volume.h"

namespace zenfs {

class BoundRecords {
 public:
  static constexpr std::string_view kSetAside = "/.zenfs-removed";

  explicit BoundRecords(std::shared_ptr<Volume> volume) : volume_(std::move(volume)) {}

  // Those of the markers that count. Empty: the directory belongs to none.
  [[nodiscard]] Result<std::vector<std::string>> Nonces(FileId id) const;
  [[nodiscard]] Status Add(FileId id, const std::string& nonce);
  [[nodiscard]] Status Remove(FileId id, const std::string& nonce);
  // From now on the directory belongs to none.
  [[nodiscard]] Status Forget(FileId id);

  // Moves a directory there, and returns its new path. It has no directories below it.
  [[nodiscard]] Result<std::string> SetAside(FileId id, const std::string& path);
  // The directories that were set aside.
  [[nodiscard]] Result<std::set<FileId>> AllSetAside() const;
  // Where one of them is.
  [[nodiscard]] Result<std::optional<std::string>> FindSetAside(FileId id) const;
  // Deletes the directory that was set aside first, and returns its path; none if there is none.
  [[nodiscard]] Result<std::optional<std::string>> DeleteOldest();

 private:
  std::string RecordOf(FileId id) const;

  const std::shared_ptr<Volume> volume_;
};

}  // namespace zenfs
