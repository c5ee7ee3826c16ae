// A directory on the host, held by its descriptor. Every path below it is opened from that descriptor, and no symbolic link
// is followed on the way. So whoever may write in the directory can't make a call reach anything outside of it.
//
// The path of the directory itself is the user's: links in it are followed, once, by Open.
//
// Paths in calls are relative and inner (IsInnerPath); else kInvalidArgument. A component before the last that is a symbolic
// link, or no directory, is kNotADirectory. Every error names the whole path.
//
// Threads: any; nothing changes after Open.
#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>
#include <vector>

#include "base/host_file.h"
#include "base/status.h"
#include "base/unique_fd.h"

namespace zenfs {

// True if `path` names something below the directory it is appended to: its components are not empty, "." or "..", and it
// has no NUL.
[[nodiscard]] bool IsInnerPath(std::string_view path);

class HostDirectory {
 public:
  // Private to their owner: what a backup and a repair make by default.
  static constexpr mode_t kFileMode = 0600;
  static constexpr mode_t kDirectoryMode = 0700;

  // Errors: those of the host; kNotADirectory.
  [[nodiscard]] static Result<HostDirectory> Open(const std::string& path);
  // Makes the directory if it is missing; its parent must be there.
  [[nodiscard]] static Result<HostDirectory> OpenOrMake(const std::string& path, mode_t mode);
  // The directory that the file or directory `path` lies in. `name` becomes its last component, below that directory.
  [[nodiscard]] static Result<HostDirectory> OpenParentOf(const std::string& path, std::string& name);

  // The path that the user named, and that of something below.
  const std::string& path() const { return path_; }
  std::string PathOf(std::string_view relative) const;
  // For flock, of a directory that Open or OpenOrMake opened.
  int descriptor() const { return fd_.get(); }

  // Fails if `path` no longer leads to this directory.
  [[nodiscard]] Status CheckStillNamed() const;

  // Of the name itself: a symbolic link is kSymlink. A missing name is a kind and no error.
  [[nodiscard]] Result<HostStat> Stat(const std::string& relative) const;
  // Of the directory that is held.
  [[nodiscard]] Result<HostStat> Stat() const;
  // Names in a directory except "." and "..", sorted. An empty path is this directory, here and in Sync.
  [[nodiscard]] Result<std::vector<std::string>> List(const std::string& relative) const;

  // Never waits for another program. Errors: kInvalidArgument for anything but a regular file.
  [[nodiscard]] Result<HostFile> OpenForRead(const std::string& relative) const;
  // A new file, for reading and writing. What has the name is removed first; it is never written.
  [[nodiscard]] Result<HostFile> Create(const std::string& relative, mode_t mode) const;
  // A new file, for reading and writing. Errors: kExists if the name is taken.
  [[nodiscard]] Result<HostFile> CreateNew(const std::string& relative, mode_t mode) const;
  // The file has either its old content or all of `text`, even after a crash. `temporary` is in the same file system.
  // Returns the open file; appending to it goes on behind the text.
  [[nodiscard]] Result<HostFile> Replace(const std::string& relative, const std::string& temporary,
                                         std::string_view text, mode_t mode) const;

  // A directory that is there already keeps its mode. Errors: kNotADirectory if something else has the name.
  [[nodiscard]] Status MakeDirectory(const std::string& relative, mode_t mode) const;
  [[nodiscard]] Status Rename(const std::string& from, const std::string& to) const;
  [[nodiscard]] Status RemoveFile(const std::string& relative) const;       // missing is fine
  [[nodiscard]] Status RemoveDirectory(const std::string& relative) const;  // empty; missing is fine
  [[nodiscard]] Status Sync(const std::string& relative) const;

  // While one lives, paths are walked one component at a time, as on a kernel without openat2.
  class WithoutOpenat2ForTests {
   public:
    WithoutOpenat2ForTests();
    ~WithoutOpenat2ForTests();
    WithoutOpenat2ForTests(const WithoutOpenat2ForTests&) = delete;
    WithoutOpenat2ForTests& operator=(const WithoutOpenat2ForTests&) = delete;
  };

 private:
  // The directory that a name stands in.
  struct Parent {
    UniqueFd opened;  // invalid for the directory itself
    int fd = -1;
    std::string name;
  };

  HostDirectory(UniqueFd fd, std::string path) : fd_(std::move(fd)), path_(std::move(path)) {}
  [[nodiscard]] static Result<HostDirectory> OpenWith(const std::string& path, int access);
  [[nodiscard]] Result<Parent> ParentOf(const std::string& relative) const;
  [[nodiscard]] Result<UniqueFd> OpenBelow(const std::string& relative) const;
  [[nodiscard]] Result<UniqueFd> WalkBelow(const std::string& relative) const;
  [[nodiscard]] Result<UniqueFd> OpenForListing(const std::string& relative) const;
  [[nodiscard]] Status Remove(const std::string& relative, int flags) const;

  UniqueFd fd_;
  std::string path_;
};

}  // namespace zenfs
