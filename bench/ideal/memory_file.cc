#include "memory_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>
#include <utility>

#include "base/mutex.h"

namespace zenfs {
namespace {

// Address space, not memory. No file of a benchmark is longer, so that nothing is remapped.
constexpr std::uint64_t kMapped = std::uint64_t{16} << 30;
constexpr std::uint64_t kGrowMin = 64 << 10;
constexpr std::uint64_t kGrowMax = 1 << 20;
// From this length on, a system call that fills new pages is cheaper than mapping and zeroing them
// first.
constexpr std::size_t kLong = 16 << 10;

// True sizes of the open files, by device and inode. Never destroyed.
struct Sizes {
  using Key = std::pair<dev_t, ino_t>;
  using Shared = std::shared_ptr<std::atomic<std::uint64_t>>;

  Mutex mutex;  // leaf
  std::map<Key, std::weak_ptr<std::atomic<std::uint64_t>>> open GUARDED_BY(mutex);

  Shared Find(const struct stat& info) EXCLUDES(mutex) {
    MutexLock lock(mutex);
    const auto found = open.find({info.st_dev, info.st_ino});
    return found == open.end() ? nullptr : found->second.lock();
  }
  // Returns the shared size of a file that is being opened.
  Shared Share(const struct stat& info) EXCLUDES(mutex) {
    MutexLock lock(mutex);
    auto& entry = open[{info.st_dev, info.st_ino}];
    Shared shared = entry.lock();
    if (shared == nullptr) {
      shared = std::make_shared<std::atomic<std::uint64_t>>(static_cast<std::uint64_t>(info.st_size));
      entry = shared;
      std::erase_if(open, [](const auto& other) { return other.second.expired(); });
    }
    return shared;
  }
};

Sizes& AllSizes() {
  static auto* const sizes = new Sizes();
  return *sizes;
}

int FlagsOf(MemoryFile::Mode mode) {
  if (mode == MemoryFile::Mode::kRead) return O_RDONLY | O_CLOEXEC;
  return O_RDWR | O_CREAT | O_CLOEXEC;
}

}  // namespace

Result<std::unique_ptr<MemoryFile>> MemoryFile::Open(const std::string& path, Mode mode) {
  // The new file gets another inode, so that readers of the old file can continue.
  if (mode == Mode::kReplace && unlink(path.c_str()) != 0 && errno != ENOENT) {
    return FailErrno(errno, fmt::format("{}: can't be replaced", path));
  }
  UniqueFd fd(open(path.c_str(), FlagsOf(mode), 0644));
  struct stat info = {};
  if (!fd.valid() || fstat(fd.get(), &info) != 0)
    return FailErrno(errno, fmt::format("{}: can't be opened", path));
  if (!S_ISREG(info.st_mode)) return Fail(Code::kIsADirectory, fmt::format("{}: is no file", path));
  std::unique_ptr<MemoryFile> file(new MemoryFile(std::move(fd), path, mode, AllSizes().Share(info)));
  file->allocated_ = static_cast<std::uint64_t>(info.st_size);
  ZENFS_RETURN_IF_ERROR(file->Map());
  return file;
}

Result<std::uint64_t> MemoryFile::SizeOf(const std::string& path) {
  struct stat info = {};
  if (stat(path.c_str(), &info) != 0) return FailErrno(errno, fmt::format("{}: can't be looked at", path));
  const Sizes::Shared open = AllSizes().Find(info);
  return open == nullptr ? static_cast<std::uint64_t>(info.st_size) : open->load(std::memory_order_acquire);
}

MemoryFile::MemoryFile(UniqueFd fd, std::string path, Mode mode, SharedSize size)
    : fd_(std::move(fd)), path_(std::move(path)), mode_(mode), size_(std::move(size)) {}

MemoryFile::~MemoryFile() {
  if (memory_ != nullptr) munmap(memory_, kMapped);
  // If that fails, the file keeps zeros at its end.
  if (mode_ != Mode::kRead && allocated_ != size())
    static_cast<void>(!ftruncate(fd_.get(), static_cast<off_t>(size())));
}

Status MemoryFile::Map() {
  const int protection = mode_ == Mode::kRead ? PROT_READ : PROT_READ | PROT_WRITE;
  void* const at = mmap(nullptr, kMapped, protection, MAP_SHARED | MAP_NORESERVE, fd_.get(), 0);
  if (at == MAP_FAILED) return FailErrno(errno, fmt::format("{}: can't be mapped", path_));
  memory_ = static_cast<std::byte*>(at);
  // A read should cost a copy, not page faults. If this fails, page faults do the same.
  if (mode_ == Mode::kRead && size() != 0) static_cast<void>(madvise(memory_, size(), MADV_POPULATE_READ));
  return {};
}

Status MemoryFile::Grow(std::uint64_t to) {
  if (to > kMapped) return Fail(Code::kNoSpace, fmt::format("{}: longer than {} bytes", path_, kMapped));
  const std::uint64_t step = std::clamp(allocated_, kGrowMin, kGrowMax);
  const std::uint64_t end = std::min(kMapped, (to + step - 1) / step * step);
  if (fallocate(fd_.get(), 0, static_cast<off_t>(allocated_), static_cast<off_t>(end - allocated_)) != 0) {
    return FailErrno(errno, fmt::format("{}: can't grow", path_));
  }
  allocated_ = end;
  return {};
}

Status MemoryFile::Write(std::uint64_t offset, ByteView bytes) {
  const std::uint64_t end = offset + bytes.size();
  if (bytes.size() < kLong) {
    if (end > allocated_) ZENFS_RETURN_IF_ERROR(Grow(end));
    std::memcpy(memory_ + offset, bytes.data(), bytes.size());
  } else {
    for (std::size_t done = 0; done < bytes.size();) {
      const ssize_t n =
          pwrite(fd_.get(), bytes.data() + done, bytes.size() - done, static_cast<off_t>(offset + done));
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) return FailErrno(n == 0 ? EIO : errno, fmt::format("{}: can't be written", path_));
      done += static_cast<std::size_t>(n);
    }
    allocated_ = std::max(allocated_, end);
  }
  if (end > size()) size_->store(end, std::memory_order_release);
  return {};
}

Status MemoryFile::Truncate(std::uint64_t size) {
  if (size > this->size()) {
    return Fail(Code::kNotSupported,
                fmt::format("{}: truncate to {} of {} bytes", path_, size, this->size()));
  }
  size_->store(size, std::memory_order_release);
  if (ftruncate(fd_.get(), static_cast<off_t>(size)) != 0) {
    return FailErrno(errno, fmt::format("{}: can't be truncated", path_));
  }
  allocated_ = size;
  return {};
}

std::size_t MemoryFile::Read(std::uint64_t offset, ByteSpan into) const {
  const std::uint64_t end = size();
  if (offset >= end) return 0;
  const std::size_t n = std::min<std::uint64_t>(into.size(), end - offset);
  std::memcpy(into.data(), memory_ + offset, n);
  return n;
}

}  // namespace zenfs
