// The aux directory: a directory of the host for the files named LOG, LOG.old.* and LOCK of the databases on a volume, for
// users who want to read them there. A database can be opened without it.
//
// /a/b/LOG in the volume is DIR/a/b/LOG on the host. DIR itself is never created here. If it is missing (for example, its
// file system is not mounted), every call fails with an error that names it.
//
// Other users may have put something there, and may go on doing so. Each call enters DIR from the root of the host, and what
// is below it, component by component, and works with the descriptors (HostDirectory::OpenTrusted). No link is followed, and
// every directory on the way belongs to root or to this process's user. In a directory in which all may write, so must the
// files.
//
// Threads: any; the path is the only state. Paths are normalised paths in the volume unless they are called host paths.
// Errors: kIo, with the reason, if DIR or something on the path can't be used; those of the host.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/host_directory.h"
#include "base/status.h"
#include "format/superblock.h"

namespace zenfs {

class AuxDirectory {
 public:
  explicit AuxDirectory(std::string host_path) : host_path_(std::move(host_path)) {}

  const std::string& host_path() const { return host_path_; }

  // True for files that are kept here, by the last component: LOG, LOG.old.* and LOCK.
  static bool Keeps(std::string_view path);
  // The path of the file or directory on the host.
  std::string HostPath(std::string_view path) const;

  // Enters DIR. Fails if it is missing, a symbolic link, not a directory, or if others can replace it or its entries.
  [[nodiscard]] Result<HostDirectory> Enter() const;
  // Fails also if it can't be listed.
  [[nodiscard]] Status Check() const;

  // The regular file of that path: kMissing if there is none, or only a directory.
  [[nodiscard]] Result<HostStat> Find(std::string_view path) const;
  // The regular files kept here for a directory of the volume, by name; none if the host has no such directory.
  [[nodiscard]] Result<std::map<std::string, HostStat>> List(std::string_view directory) const;

  [[nodiscard]] Result<HostFile> OpenForRead(std::string_view path) const;
  [[nodiscard]] Result<HostFile> OpenForAppend(std::string_view path) const;
  // Replaces an existing file by an empty one. Creates the missing parents of the file below DIR.
  [[nodiscard]] Result<HostFile> Create(std::string_view path) const;
  // Locks the file, which is created if it is missing, until the result is destroyed. Errors: kBusy.
  [[nodiscard]] Result<HostFile> Lock(std::string_view path) const;
  [[nodiscard]] Status Remove(std::string_view path) const;
  [[nodiscard]] Status Rename(std::string_view from, std::string_view to) const;
  [[nodiscard]] Status Link(std::string_view existing, std::string_view new_name) const;

  // Repeats on the host that `from` became `to` in the volume. Removes the rest of an earlier `to`.
  [[nodiscard]] Status RenameDirectory(std::string_view from, std::string_view to) const;
  // Repeats on the host that the volume removed the directory. It stays on the host if it has entries of others.
  [[nodiscard]] Status RemoveDirectory(std::string_view directory) const;

 private:
  // A name on the host, and what has it.
  struct Entry {
    HostDirectory directory;
    std::string name;
    HostStat found;  // a regular file, a directory of ours, or kMissing
  };
  // The directory of that path in DIR; nothing if it does not exist.
  [[nodiscard]] Result<std::optional<HostDirectory>> EnterBelow(const std::string& directory) const;
  // Nothing if a directory of the path does not exist.
  [[nodiscard]] Result<std::optional<Entry>> Look(std::string_view path) const;
  // The entry of an existing path. Errors: kNotFound.
  [[nodiscard]] Result<Entry> Existing(std::string_view path) const;
  // The entry of a new file or directory. Creates the missing parents. Its name is free or that of a regular file.
  [[nodiscard]] Result<Entry> PrepareNew(std::string_view path) const;
  [[nodiscard]] Result<Entry> EntryIn(HostDirectory directory, std::string_view path) const;
  // Checks the open file itself, because others may have exchanged it since the look.
  [[nodiscard]] Result<HostFile> OpenFile(const Entry& entry, HostDirectory::Access access) const;
  [[nodiscard]] Error Unusable(std::string_view reason) const;

  const std::string host_path_;
};

// --- the marker ---
//
// A file that permits a volume to keep LOG and LOCK in a directory of this host. It is in that directory and names the
// volume.
//
// The superblock has the path of the aux directory, so whoever made the image chose it. mkfs writes the marker on the host
// where it runs. On other hosts there is no marker, and the directory is used only with the user's consent.
//
// The UUID of a volume is no secret, and an image can have that of another volume. So the marker also has the aux_secret of
// the superblock. Only those who can read the device, and the owner of the marker, know it.
//
// The file is `.zenfs_aux`, with mode 0600; its content is the volume's UUID, a space, the secret and a line feed.
inline constexpr std::string_view kAuxMarker = ".zenfs_aux";

// A marker under a temporary name. Keep gives it its final name; without Keep, the destructor removes it.
class AuxMarker {
 public:
  // Errors: those of writing the file.
  [[nodiscard]] static Result<AuxMarker> Prepare(HostDirectory directory, const Uuid& volume,
                                                 const Uuid& secret);
  ~AuxMarker();
  AuxMarker(AuxMarker&& other) noexcept
      : directory_(std::move(other.directory_)), pending_(std::exchange(other.pending_, false)) {}
  AuxMarker& operator=(AuxMarker&&) = delete;

  // Replaces the marker of another volume.
  [[nodiscard]] Status Keep();

 private:
  explicit AuxMarker(HostDirectory directory) : directory_(std::move(directory)) {}

  HostDirectory directory_;
  bool pending_ = true;
};

// Fails with kPermission, and the reason, if the marker in `directory` does not permit this volume: if there is none, if it is
// of another volume or cannot be read, or if it is not a regular file of root or of this process's user that nobody else can
// read; and for a superblock without a secret.
[[nodiscard]] Status CheckAuxMarker(const HostDirectory& directory, const Superblock& superblock);

}  // namespace zenfs
