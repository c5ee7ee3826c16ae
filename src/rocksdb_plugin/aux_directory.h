// The aux directory: a directory of the host for the files named LOG, LOG.old.* and LOCK of the
// databases on a volume, for users who want to read them there. A database can be opened without
// it.
//
// /a/b/LOG in the volume is DIR/a/b/LOG on the host. DIR itself is never created here. If it is
// missing (for example, its file system is not mounted), every call fails with an error that names
// it.
//
// Other users may have put something there. Before each call, every directory on the path must
// belong to root or to this process's user, and the file must be a regular one; symbolic links are
// refused. The call itself then uses the path, because RocksDB has no other way. In directories
// that pass (IsOwnDirectory in volume/aux_marker.h), nobody else can replace an entry in between.
// If a directory has the sticky bit, others can still add a name; the kernel's
// fs.protected_symlinks protects against that.
//
// Threads: any; the path is the only state. Paths are in the volume unless they are called host
// paths.
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

  // True for files that are kept here, by the last component: LOG, LOG.old.* and LOCK.
  static bool Keeps(std::string_view path);
  // The path of the file or directory on the host.
  std::string HostPath(std::string_view path) const;

  // Returns an IOError that names the directory if it is missing, a symbolic link, not a directory,
  // not readable, or if others can replace its entries.
  [[nodiscard]] IOStatus Check() const;
  // Runs `call()`, a call to the host about `host_path`, if that path may be used. Otherwise
  // returns an IOError with the reason. If the aux directory is lost, the error of the call says
  // so.
  template <typename Call>
  [[nodiscard]] IOStatus On(const std::string& host_path, const Call& call) const {
    IOStatus safe = CheckPath(host_path);
    return safe.ok() ? OrLost(call()) : safe;
  }

  // Creates the missing parents of the file below DIR.
  [[nodiscard]] IOStatus MakeParent(std::string_view path) const;
  // The names kept here for a directory of the volume; none if it does not exist on the host.
  [[nodiscard]] IOStatus List(const std::string& directory, std::vector<std::string>* names) const;
  // Repeats on the host that `from` became `to` in the volume. Removes the rest of an earlier `to`.
  [[nodiscard]] IOStatus RenameDirectory(const std::string& from, const std::string& to) const;
  // Repeats on the host that the volume removed the directory. It stays on the host if it has
  // entries of others.
  [[nodiscard]] IOStatus RemoveDirectory(const std::string& directory) const;

 private:
  // Checks that no part of `host_path`, which is below the directory, is a link or belongs to
  // somebody else.
  [[nodiscard]] IOStatus CheckPath(const std::string& host_path) const;
  // Returns `status` of a call to the host, or an error about the aux directory if it is lost.
  [[nodiscard]] IOStatus OrLost(IOStatus status) const;

  const std::string host_path_;
  const std::shared_ptr<rocksdb::FileSystem> host_;
};

}  // namespace zenfs
