// An open regular file on the host. HostDirectory (base/host_directory.h) opens it. Every error names the path.
//
// Threads: a HostFile is used by one thread at a time.
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <string>

#include "base/bytes.h"
#include "base/status.h"
#include "base/unique_fd.h"

namespace zenfs {

struct HostStat {
  enum class Kind { kMissing, kFile, kDirectory, kSymlink, kSpecial };

  static HostStat From(const struct stat& st);

  Kind kind = Kind::kMissing;
  std::uint64_t size = 0;
  std::int64_t mtime_ns = 0;  // since 1970
  uid_t owner = 0;
  mode_t mode = 0;           // permissions, without the type
  std::uint64_t device = 0;  // of the file system
  std::uint64_t inode = 0;
  std::uint64_t links = 0;
};

class HostFile {
 public:
  // Reads into.size() bytes, or fewer at the end of the file. Returns their number.
  [[nodiscard]] Result<std::size_t> Read(std::uint64_t offset, ByteSpan into) const;
  // How many of the `length` bytes at `offset` are in a hole, and so zeros; 0 if the host can't tell.
  [[nodiscard]] std::uint64_t KnownZeros(std::uint64_t offset, std::uint64_t length) const;
  [[nodiscard]] Status Append(ByteView bytes);
  [[nodiscard]] Status SetModified(std::uint64_t mtime_seconds);
  [[nodiscard]] Status Sync();
  // Cuts the file, or extends it by a hole, which reads as zeros. `size`: bytes.
  [[nodiscard]] Status Truncate(std::uint64_t size);
  // Takes an exclusive lock on a file that is open for writing, without waiting. It excludes every other descriptor that
  // asks for a lock by fcntl(2), also in this process, and ends with this descriptor. Errors: kBusy.
  [[nodiscard]] Status TakeLock();
  [[nodiscard]] Result<HostStat> Stat() const;
  // Drops the file's pages from the host's page cache. After a sync, later reads come from the medium.
  void DropCache() const;

  // The path by which it was opened.
  const std::string& path() const { return path_; }

 private:
  friend class HostDirectory;
  HostFile(UniqueFd fd, std::string path) : fd_(std::move(fd)), path_(std::move(path)) {}

  UniqueFd fd_;
  std::string path_;
};

}  // namespace zenfs
