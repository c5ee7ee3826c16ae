// Memory that outlives the process: a private file on tmpfs, mapped by its maker. The kernel keeps what was stored in it
// when a process is killed at any instruction; it is lost with the host's power, or when the tmpfs is unmounted.
//
// Such a file lies in a directory that everybody may write to, so nothing about it is taken on trust: it is created
// with O_EXCL and O_NOFOLLOW, mode 0600; opening checks type, owner, mode and link count. All of its pages are
// allocated before it is mapped: a full tmpfs is an error of Create, never a SIGBUS later. The maker holds a lock on
// it (flock) until it dies, so that nobody takes over what is still being used. Children of fork() do not get the
// memory (MADV_DONTFORK): a child must not touch it.
//
// Only the maker maps the file. A mapping of a file dies by SIGBUS once somebody shortens the file, and only the file's
// user and root can shorten it: the maker trusts both, but root must not die by the files of others. So those who open
// a file get a copy of its bytes, read with pread into memory of their own.
//
// Threads: any after construction; what is stored in it is the user's business.
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/fork_guard.h"
#include "base/status.h"
#include "base/unique_fd.h"

namespace zenfs {

class SharedMemory {
 public:
  enum class Access {
    kRead,      // beside its maker if need be: bytes that it changes meanwhile are old or new
    kReadDead,  // once its maker is dead
    kTakeOver,  // as the one holder, once its maker is dead
  };

  // A new file `directory`/`name`, `bytes` long (a multiple of 4096), all zeros. Errors: kExists, kNoSpace when the
  // tmpfs is too full, kPermission, kNotFound (directory), kInvalidArgument when the directory is not on a tmpfs, kBusy
  // when another process removed the file before it was locked.
  [[nodiscard]] static Result<SharedMemory> Create(const std::string& directory, const std::string& name,
                                                   std::uint64_t bytes);
  // A copy of the first `bytes_max` bytes of the file as it is now, or of all. A whole file that has holes or more than
  // kWholeBytesMax is refused: the copy takes no more memory than the file does, and a bounded amount of it.
  // `trusted`: users whose files count, beside root's and those of this process's own user.
  // Errors: kNotFound, kPermission (also when it belongs to somebody else or others may write to it), kBusy when
  // its maker lives (kReadDead; kTakeOver, which asks again for 200 ms), kCorruption when it is no plain file with one
  // name, its size is odd or too large, or it has holes or is shortened meanwhile. The memory is empty (not valid) if its
  // maker died before it had any.
  [[nodiscard]] static Result<SharedMemory> Open(const std::string& path, Access access,
                                                 const std::vector<std::uint32_t>& trusted = {},
                                                 std::uint64_t bytes_max = UINT64_MAX);

  static constexpr std::uint64_t kWholeBytesMax = 256u << 20;  // many times what a mount makes

  SharedMemory() = default;
  SharedMemory(SharedMemory&& other) noexcept;
  SharedMemory& operator=(SharedMemory&& other) noexcept;
  // Gives the memory back; the file stays. In a child of fork() nothing happens.
  ~SharedMemory();

  bool valid() const { return !memory_.empty(); }
  const std::string& path() const { return path_; }
  ByteSpan memory() { return memory_; }
  ByteView view() const { return memory_; }

  // Whether the process that made it still holds it, as seen through one opened with kRead. For a moment it tries the
  // lock, for which Open(kTakeOver) waits.
  bool MakerLives() const;

  // Takes the file's name away, unless another file has that name by now. The memory stays.
  [[nodiscard]] Status Unlink();

 private:
  SharedMemory(UniqueFd fd, std::string path) : fd_(std::move(fd)), path_(std::move(path)) {}
  // Of the file, or of its own (`flags` of mmap).
  [[nodiscard]] Status Map(std::uint64_t bytes, int flags);
  [[nodiscard]] Status Load(const struct stat& status, std::uint64_t bytes_max);
  void Unmap();

  UniqueFd fd_;
  std::string path_;
  ByteSpan memory_;
  ForkGuard fork_guard_;
};

// Whether a file of `owner` counts where `trusted` are the users to trust beside root and this process's own.
[[nodiscard]] bool IsTrustedOwner(std::uint32_t owner, const std::vector<std::uint32_t>& trusted);

// The user whom the file belongs to that has this name, whatever kind of file it is; a symbolic link is not followed.
// Needs no permission on the file itself. Nothing if there is none, or it can't be told.
[[nodiscard]] std::optional<std::uint32_t> OwnerOfName(const std::string& path);

// Where such files may be when nobody says: /dev/shm, $XDG_RUNTIME_DIR and /run, those that there are.
[[nodiscard]] std::vector<std::string> SharedMemoryDirectories();
// The first of them that is a tmpfs which this process may write to; empty if there is none.
[[nodiscard]] std::string DefaultSharedMemoryDirectory();

// Files in `directory` whose names begin with `prefix`, as paths; those that can't be listed are none.
[[nodiscard]] std::vector<std::string> ListSharedMemory(const std::string& directory,
                                                        std::string_view prefix);

}  // namespace zenfs
