// Memory that outlives the process: a private file on a tmpfs, mapped by the process that created it (its maker). Stored
// bytes survive if the maker is killed at any instruction. They are lost with the host's power or when the tmpfs is
// unmounted.
//
// Everybody may create files in the directory, so nothing about a file is trusted. Create uses O_EXCL, O_NOFOLLOW and mode
// 0600; Open checks type, owner, mode and link count. The maker stores only to bytes that Create or Allocate have given
// pages, so a full tmpfs is an error and not a SIGBUS. The maker holds a lock (flock) on the file until it dies, so that
// nobody takes over memory in use. Forked children do not get the memory (MADV_DONTFORK).
//
// Only the maker maps the file. If a mapped file is shortened, an access raises SIGBUS. Only the file's user and root can
// shorten it; the maker trusts both, but a process of root must not be killed through files of other users. So Open reads
// a copy of the bytes with pread.
//
// Threads: any after construction. The caller synchronizes accesses to the memory.
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
    kRead,          // the maker may live; bytes that it changes during the read are old or new
    kReadAnywhere,  // the same, also if the file is not on a tmpfs
    kTakeOver,      // the maker must be dead; takes the lock
  };

  // Creates the file `directory`/`name` of `bytes` zeros (a multiple of 4096) and maps it. The first `allocated` bytes, at
  // least one, have pages; the others get theirs from Allocate. Errors: kExists; kNoSpace if the tmpfs is too full;
  // kPermission; kNotFound if the directory is missing; kInvalidArgument if the directory is not on a tmpfs; kBusy if another
  // process removed the file before it was locked.
  [[nodiscard]] static Result<SharedMemory> Create(const std::string& directory, const std::string& name,
                                                   std::uint64_t bytes, std::uint64_t allocated);
  // Copies the first `bytes_max` bytes of the file, or all of it; what has no page reads as zeros. If it copies the whole
  // file, the file must not have more than kWholeBytesMax bytes: this bounds the memory of the copy.
  // `trusted`: users whose files are accepted, besides root and the user of this process.
  // Errors: kNotFound; kPermission, also if the owner is not trusted or others may access it; kBusy if its maker lives
  // (kTakeOver, after retries for 200 ms); kCorruption if it is not a plain file with one name, its size is
  // not a multiple of 4096 or too large, or it is shortened during the copy. If the maker died before it allocated
  // the file, the memory is empty (not valid).
  [[nodiscard]] static Result<SharedMemory> Open(const std::string& path, Access access,
                                                 const std::vector<std::uint32_t>& trusted = {},
                                                 std::uint64_t bytes_max = UINT64_MAX);

  // Above the size of the largest file that a mount creates: 32 buffers of 8 MiB, and a little.
  static constexpr std::uint64_t kWholeBytesMax = 512u << 20;

  SharedMemory() = default;
  SharedMemory(SharedMemory&& other) noexcept;
  SharedMemory& operator=(SharedMemory&& other) noexcept;
  // Unmaps the memory; the file stays. Does nothing in a forked child.
  ~SharedMemory();

  // Reads bytes of the file of an opened object as they are now; what has no page reads as zeros. Threads: any. Errors: as
  // Open for a file that was shortened.
  [[nodiscard]] Status ReadAt(std::uint64_t offset, ByteSpan into) const;
  // The same for memory of zeros (base/zeros.h): leaves it as it is where the file has no page, so that holes take no memory.
  [[nodiscard]] Status ReadPagesAt(std::uint64_t offset, ByteSpan zeros) const;
  // Size of the opened file, also if only a part of it was copied.
  std::uint64_t file_bytes() const { return file_bytes_; }

  // --- announcements: numbers that readers tell the maker. They are locks on ranges of the file (fcntl(2), F_OFD_SETLK)
  // beyond its end, so the kernel withdraws those of a dead process. Threads: any.
  // The next two are for objects opened with kRead, and `count` is not 0. The kernel has one lock for each run of adjacent
  // numbers, and each call here, also one of the maker, passes all locks of the file: so keep the number of runs small.
  // Best effort: without memory in the kernel, the numbers are not announced.
  void Announce(std::uint64_t first, std::uint64_t count) const;
  void Withdraw(std::uint64_t first, std::uint64_t count) const;
  // For the maker: true if another object has announced the number.
  bool IsAnnounced(std::uint64_t number) const;
  // For objects opened with kRead: true if the object that Create returned still exists. Unlike MakerLives, a process that
  // takes the file over does not count.
  bool MakerRuns() const;

  bool valid() const { return !memory_.empty(); }
  const std::string& path() const { return path_; }
  ByteSpan memory() { return memory_; }
  ByteView view() const { return memory_; }
  // Gives pages to `bytes` bytes from `offset` on. Only for the maker. Errors: kNoSpace if the tmpfs is too full.
  [[nodiscard]] Status Allocate(std::uint64_t offset, std::uint64_t bytes);

  // Returns true if the maker still holds the lock. For an object opened to read. Takes the lock for a
  // moment; a concurrent Open(kTakeOver) retries.
  bool MakerLives() const;

  // For the maker: leaves the file to other processes. Gives it to `user`, if there is one and this process is root's, and
  // releases the lock. Afterwards the memory is private and reads as zeros, because that user may shorten the file.
  void HandOver(std::optional<std::uint32_t> user);
  // Removes the file's name, unless another file has that name now. The memory stays valid.
  [[nodiscard]] Status Unlink();

 private:
  SharedMemory(UniqueFd fd, std::string path) : fd_(std::move(fd)), path_(std::move(path)) {}
  // Maps the file, or anonymous memory, according to `flags` of mmap.
  [[nodiscard]] Status Map(std::uint64_t bytes, int flags);
  [[nodiscard]] Status Load(const struct stat& status, std::uint64_t bytes_max);
  // Where the next data of the file of `size` bytes begins, from `at` on; `size` if there is none.
  [[nodiscard]] Result<std::uint64_t> SkipHole(std::uint64_t at, std::uint64_t size) const;
  // Where the data that begins at `at` ends, at most `size`.
  [[nodiscard]] Result<std::uint64_t> EndOfData(std::uint64_t at, std::uint64_t size) const;
  Error Shortened() const;
  void Unmap();

  UniqueFd fd_;
  std::string path_;
  ByteSpan memory_;
  std::uint64_t file_bytes_ = 0;
  ForkGuard fork_guard_;
};

// Differs once another file has the name, and after each write(2) to a file whose stamp was settled. Stores through a mapping
// need not show.
struct FileStamp {
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  std::uint64_t size = 0;
  std::int64_t changed_seconds = 0;
  std::int64_t changed_nanoseconds = 0;
  bool settled = false;  // a write from now on gives the file another time: those of the kernel are rough

  // All zeros if there is no such file.
  static FileStamp Of(const std::string& path);
  friend bool operator==(const FileStamp&, const FileStamp&) = default;
};

// Returns true if `owner` is root, the user of this process, or in `trusted`.
[[nodiscard]] bool IsTrustedOwner(std::uint32_t owner, const std::vector<std::uint32_t>& trusted);

// The owner of the file `path`, of any kind; does not follow a symbolic link. Needs no permission on the file itself.
// Nothing if it does not exist or stat fails.
[[nodiscard]] std::optional<std::uint32_t> OwnerOfName(const std::string& path);

// The default directories for such files: /dev/shm, $XDG_RUNTIME_DIR if set, and /run.
[[nodiscard]] std::vector<std::string> SharedMemoryDirectories();
// The first default directory that is on a tmpfs and writable for this process; empty if there is none.
[[nodiscard]] std::string DefaultSharedMemoryDirectory();

// Paths of the files in `directory` whose names begin with `prefix`; empty if the directory can't be listed.
[[nodiscard]] std::vector<std::string> ListSharedMemory(const std::string& directory,
                                                        std::string_view prefix);

}  // namespace zenfs
