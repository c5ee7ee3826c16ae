// An open directory on the host. All paths are opened relative to its descriptor, and no symbolic link is followed. So a
// program that may write in the directory can't make a call reach anything outside of it.
//
// Open follows links in the path of the directory itself, once, because the user chose that path.
//
// Paths in calls are relative and inner (IsInnerPath); others are kInvalidArgument. If a component before the last is a
// symbolic link or not a directory, the error is kNotADirectory. Every error names the whole path.
//
// Threads: any; the object does not change after Open.
#pragma once

#include <sys/types.h>

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/host_file.h"
#include "base/status.h"
#include "base/unique_fd.h"

namespace zenfs {

// Returns true if no component of `path` is empty, "." or "..", and it has no NUL: it then names something below the
// directory to which it is appended.
[[nodiscard]] bool IsInnerPath(std::string_view path);

// True if the host can't have the name or path of the error: too long, or with bytes that its file system does not take. It
// can have other names all the same.
[[nodiscard]] bool IsUnfitName(const Error& error);
// The reason of such an error, without the path.
[[nodiscard]] std::string UnfitReason(const Error& error);

// True for a directory of root or of this process's user in which no other user can replace a file: it is not writable by
// all, or has the sticky bit.
[[nodiscard]] bool IsOwnDirectory(const HostStat& stat);

// For a path that the host does not find: says so of a symbolic link that leads nowhere, instead of calling the link itself missing.
// `what`: in front of the path.
[[nodiscard]] Error MissingError(std::string_view what, const std::string& path);

class HostDirectory {
 public:
  // Default modes of a backup and a repair: accessible to the owner only.
  static constexpr mode_t kFileMode = 0600;
  static constexpr mode_t kDirectoryMode = 0700;

  // Errors: those of the host; kNotADirectory.
  [[nodiscard]] static Result<HostDirectory> Open(const std::string& path);
  // Creates the directory if it is missing; its parent must exist.
  [[nodiscard]] static Result<HostDirectory> OpenOrMake(const std::string& path, mode_t mode);
  // Opens the parent directory of `path` and sets `name` to the last component of `path`.
  [[nodiscard]] static Result<HostDirectory> OpenParentOf(const std::string& path, std::string& name);

  // The directory of the absolute path `path`, which came from somebody who is not trusted. Follows no link. It and all
  // directories above it must satisfy IsOwnDirectory, so no other user can exchange it. It may be unreadable. Errors:
  // kPermission if one does not; kNotADirectory; kInvalidArgument if the path is not absolute or has empty components, ".." or
  // "."; those of the host.
  [[nodiscard]] static Result<HostDirectory> OpenTrusted(const std::string& path);
  // By the same rules, the directory `relative` below this one. Missing directories are made with the mode `make`, if given,
  // and their paths added to `made`.
  [[nodiscard]] Result<HostDirectory> EnterTrusted(const std::string& relative,
                                                   std::optional<mode_t> make = {},
                                                   std::vector<std::string>* made = nullptr) const;

  // The path given to Open, and the path of an entry below it.
  const std::string& path() const { return path_; }
  std::string PathOf(std::string_view relative) const;
  // For flock only if it is from Open or OpenOrMake.
  int descriptor() const { return fd_.get(); }

  // Fails if path() no longer leads to this directory.
  [[nodiscard]] Status CheckStillNamed() const;

  [[nodiscard]] Result<HostStat> StatSelf() const;
  // Does not follow a symbolic link: its kind is kSymlink. A missing name is kMissing, not an error.
  [[nodiscard]] Result<HostStat> Stat(const std::string& relative) const;
  // Names in a directory except "." and "..", sorted. In List and Sync an empty path means this directory.
  [[nodiscard]] Result<std::vector<std::string>> List(const std::string& relative) const;

  // Does not block on pipes or devices. Errors: kInvalidArgument if it is not a regular file.
  enum class Access { kRead, kReadAndAppend };
  [[nodiscard]] Result<HostFile> OpenForRead(const std::string& relative,
                                             Access access = Access::kRead) const;
  // Creates a file for reading and writing. Removes an existing entry of that name first, and never writes to it.
  [[nodiscard]] Result<HostFile> Create(const std::string& relative, mode_t mode) const;
  // Creates a file for reading and writing. Errors: kExists if the name exists.
  [[nodiscard]] Result<HostFile> CreateNew(const std::string& relative, mode_t mode) const;
  // Replaces the content of the file with what `write` appends to its argument. Even after a crash, the file has either its old
  // content or all of the new one. `temporary` must be in the same file system. Returns the open file; appends follow the content.
  // Errors: those of `write` too.
  [[nodiscard]] Result<HostFile> Replace(const std::string& relative, const std::string& temporary,
                                         mode_t mode, const std::function<Status(HostFile&)>& write) const;

  // An existing directory keeps its mode. Errors: kNotADirectory if something else has the name.
  [[nodiscard]] Status MakeDirectory(const std::string& relative, mode_t mode) const;
  [[nodiscard]] Status Rename(const std::string& from, const std::string& to) const;
  // Errors: kExists if the new name exists.
  [[nodiscard]] Status Link(const std::string& existing, const std::string& new_name) const;
  // The same, with the new name in `target`.
  [[nodiscard]] Status RenameTo(const std::string& from, const HostDirectory& target,
                                const std::string& to) const;
  [[nodiscard]] Status LinkTo(const std::string& existing, const HostDirectory& target,
                              const std::string& new_name) const;
  [[nodiscard]] Status RemoveFile(const std::string& relative) const;       // OK if missing
  [[nodiscard]] Status RemoveDirectory(const std::string& relative) const;  // must be empty; OK if missing
  [[nodiscard]] Status Sync(const std::string& relative) const;

  // While one exists, paths are opened one component at a time, as on a kernel without openat2.
  class WithoutOpenat2ForTests {
   public:
    WithoutOpenat2ForTests();
    ~WithoutOpenat2ForTests();
    WithoutOpenat2ForTests(const WithoutOpenat2ForTests&) = delete;
    WithoutOpenat2ForTests& operator=(const WithoutOpenat2ForTests&) = delete;
  };

 private:
  // The directory that contains a name.
  struct Parent {
    UniqueFd opened;  // invalid for the directory itself
    int fd = -1;
    std::string name;
  };

  // `name` in this directory, whoever owns it.
  [[nodiscard]] Result<HostDirectory> Enter(const std::string& name, std::optional<mode_t> make,
                                            std::vector<std::string>* made) const;
  HostDirectory(UniqueFd fd, std::string path) : fd_(std::move(fd)), path_(std::move(path)) {}
  [[nodiscard]] Result<Parent> ParentOf(const std::string& relative) const;
  [[nodiscard]] Result<UniqueFd> OpenBelow(const std::string& relative) const;
  [[nodiscard]] Result<UniqueFd> OpenForListing(const std::string& relative) const;
  [[nodiscard]] Status Remove(const std::string& relative, int flags) const;

  UniqueFd fd_;
  std::string path_;
};

}  // namespace zenfs
