// The aux directory: a directory of the host where the files named LOG, LOG.old.* and LOCK of the databases on
// a volume are kept, for those who want to read them there. Nothing in it is needed to open a database.
//
// What is /a/b/LOG on the volume is DIR/a/b/LOG on the host. DIR itself is never made here: where it is
// missing, it is lost (a mount that is not there, say), and every answer is an error that names it.
//
// Others may have put something there. So before each call it is looked whether every directory on the way is one of root's
// or of this process's user, and the file a regular one; a symbolic link is neither. The call itself then goes by the path,
// as RocksDB has no other. In directories that pass (IsOwnDirectory in volume/aux_marker.h) nobody else can exchange what is
// there in between; in one with the sticky bit others can still add a name, against which the kernel has
// fs.protected_symlinks.
//
// Threads: any; no state but the path. Paths are the volume's unless they are called host paths.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "rocksdb_plugin/rocksdb_version.h"

namespace zenfs {

class AuxDirectory {
 public:
  explicit AuxDirectory(std::string host_path);

  const std::string& host_path() const { return host_path_; }
  rocksdb::FileSystem& host() const { return *host_; }

  // Whether a file of this path is kept here: LOG, LOG.old.* and LOCK are, by their last component.
  static bool Keeps(std::string_view path);
  // Where the file or directory stands on the host.
  std::string HostPath(std::string_view path) const;

  // IOError naming the directory when it is missing, a symbolic link, no directory, not readable, or others may put something in
  // it in place of what is there.
  [[nodiscard]] IOStatus Check() const;
  // `call()`, to the host about `host_path`, if that may be used; IOError naming what forbids it. An error of the call is
  // told as one of the aux directory if that is lost.
  template <typename Call>
  [[nodiscard]] IOStatus On(const std::string& host_path, const Call& call) const {
    IOStatus safe = CheckPath(host_path);
    return safe.ok() ? OrLost(call()) : safe;
  }

  // Makes what is missing below DIR of the directory that the file stands in.
  [[nodiscard]] IOStatus MakeParent(std::string_view path) const;
  // The names kept here of a directory; none if it was never needed on the host.
  [[nodiscard]] IOStatus List(const std::string& directory, std::vector<std::string>* names) const;
  // Follows the volume, where `from` has become `to`. What is left of an earlier `to` is removed.
  [[nodiscard]] IOStatus RenameDirectory(const std::string& from, const std::string& to) const;
  // Follows the volume, where the directory is gone. Whatever else somebody put there keeps it on the host.
  [[nodiscard]] IOStatus RemoveDirectory(const std::string& directory) const;

 private:
  // Nothing on the way to `host_path`, which is below the directory, is a link or somebody else's.
  [[nodiscard]] IOStatus CheckPath(const std::string& host_path) const;
  // `status` of a call to the host, unless that failed because the aux directory itself is lost.
  [[nodiscard]] IOStatus OrLost(IOStatus status) const;

  const std::string host_path_;
  const std::shared_ptr<rocksdb::FileSystem> host_;
};

}  // namespace zenfs
