// A regular file on the host, and the few things a backup does with names there. Every error names the path.
//
// Threads: a HostFile is used by one thread at a time; the functions by any.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/status.h"
#include "base/unique_fd.h"

namespace zenfs {

struct HostStat {
  enum class Kind { kMissing, kFile, kDirectory, kSymlink, kSpecial };
  Kind kind = Kind::kMissing;
  std::uint64_t size = 0;
  std::int64_t mtime_ns = 0;  // since 1970
};

class HostFile {
 public:
  // Errors: kInvalidArgument for anything but a regular file; a symbolic link is not followed.
  [[nodiscard]] static Result<HostFile> OpenForRead(const std::string& path);
  // A new, empty file in place of one that may be there.
  [[nodiscard]] static Result<HostFile> Create(const std::string& path);
  // A new file. Errors: kExists when there is anything of that name.
  [[nodiscard]] static Result<HostFile> CreateNew(const std::string& path);
  // For appending to what is there already.
  [[nodiscard]] static Result<HostFile> OpenForAppend(const std::string& path);

  // Reads into.size() bytes, fewer only at the end of the file; returns how many.
  [[nodiscard]] Result<std::size_t> Read(std::uint64_t offset, ByteSpan into) const;
  [[nodiscard]] Status Append(ByteView bytes);
  [[nodiscard]] Status SetModified(std::uint64_t mtime_seconds);
  [[nodiscard]] Status Sync();
  // What is read next comes from the medium, where the host's file system has a medium and the file is synced.
  void DropCache() const;

  const std::string& path() const { return path_; }

 private:
  HostFile(UniqueFd fd, std::string path) : fd_(std::move(fd)), path_(std::move(path)) {}

  UniqueFd fd_;
  std::string path_;
};

// Of the name itself: a symbolic link is kSymlink. Missing is a kind; errors are all others.
[[nodiscard]] Result<HostStat> StatHost(const std::string& path);
// Of what a symbolic link points to.
[[nodiscard]] Result<HostStat> StatHostTarget(const std::string& path);
// Names in a directory but "." and "..", sorted.
[[nodiscard]] Result<std::vector<std::string>> ListHost(const std::string& directory);
// A directory that is there already is fine; anything else of that name is not (kNotADirectory).
[[nodiscard]] Status MakeHostDirectory(const std::string& path);
[[nodiscard]] Status RenameHost(const std::string& from, const std::string& to);
[[nodiscard]] Status RemoveHostFile(const std::string& path);       // missing is fine
[[nodiscard]] Status RemoveHostDirectory(const std::string& path);  // empty; missing is fine
[[nodiscard]] Status SyncHostDirectory(const std::string& path);
// The file has either its old content or all of `text`, whatever happens: by way of `temporary`, which is in the
// same file system.
[[nodiscard]] Status ReplaceHostFile(const std::string& path, const std::string& temporary,
                                     std::string_view text);
// Errors: kInvalidArgument when the file is larger than `max_bytes`.
[[nodiscard]] Result<std::string> ReadHostFile(const std::string& path, std::uint64_t max_bytes);

}  // namespace zenfs
