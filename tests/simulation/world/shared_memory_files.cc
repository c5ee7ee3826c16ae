#include "world/shared_memory_files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <system_error>
#include <utility>

#include "base/shared_memory.h"

namespace zenfs {
namespace {

constexpr char kPrefix[] = "zenfs-simulation-";

UniqueFd OpenDirectory(const std::string& path) {
  return UniqueFd(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
}

void RemoveWhatKilledOnesLeft(const std::string& parent) {
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(parent, error)) {
    if (!entry.path().filename().string().starts_with(kPrefix)) continue;
    const UniqueFd directory = OpenDirectory(entry.path());
    if (directory.valid() && flock(directory.get(), LOCK_EX | LOCK_NB) == 0)
      std::filesystem::remove_all(entry.path(), error);
  }
}

SparseFile ReadSparse(const std::string& path) {
  SparseFile content;
  const UniqueFd file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat stat{};
  if (!file.valid() || fstat(file.get(), &stat) != 0) return content;
  content.size = static_cast<std::uint64_t>(stat.st_size);
  for (off_t at = 0; (at = lseek(file.get(), at, SEEK_DATA)) >= 0;) {
    const off_t end = lseek(file.get(), at, SEEK_HOLE);
    std::string bytes(static_cast<std::size_t>(end - at), '\0');
    if (pread(file.get(), bytes.data(), bytes.size(), at) != end - at) break;
    content.data[static_cast<std::uint64_t>(at)] = std::move(bytes);
    at = end;
  }
  return content;
}

void WriteSparse(const std::string& path, const SparseFile& content) {
  // The mode is the one that a mount requires.
  const UniqueFd file(open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, S_IRUSR | S_IWUSR));
  if (!file.valid() || ftruncate(file.get(), static_cast<off_t>(content.size)) != 0) return;
  for (const auto& [offset, bytes] : content.data)
    static_cast<void>(pwrite(file.get(), bytes.data(), bytes.size(), static_cast<off_t>(offset)));
}

}  // namespace

void SparseFile::Cut(std::uint64_t new_size) {
  size = new_size;
  data.erase(data.lower_bound(new_size), data.end());
  if (data.empty()) return;
  auto& [offset, bytes] = *data.rbegin();
  bytes.resize(std::min<std::uint64_t>(bytes.size(), new_size - offset));
}

void SparseFile::Flip(std::uint64_t offset, char bits) {
  auto piece = data.upper_bound(offset);
  if (piece != data.begin()) {
    --piece;
    if (offset < piece->first + piece->second.size()) {
      piece->second[offset - piece->first] ^= bits;
      return;
    }
  }
  data[offset] = std::string(1, bits);
}

Result<SharedMemoryFiles> SharedMemoryFiles::Create() {
  const std::string parent = DefaultSharedMemoryDirectory();
  if (parent.empty())
    return Fail(Code::kNotFound, "the simulator needs a tmpfs that can be written to, as /dev/shm");
  RemoveWhatKilledOnesLeft(parent);
  while (true) {
    std::string directory = parent + "/" + kPrefix + "XXXXXX";
    if (mkdtemp(directory.data()) == nullptr) return FailErrno(errno, "making a directory in " + parent);
    UniqueFd lock = OpenDirectory(directory);
    const bool locked = lock.valid() && flock(lock.get(), LOCK_EX) == 0;
    const int error = errno;
    // Another simulator may have removed it before it was locked here.
    if (!std::filesystem::exists(directory)) continue;
    SharedMemoryFiles files(std::move(directory), std::move(lock));
    if (!locked) return FailErrno(error, "locking " + files.directory());
    return files;
  }
}

SharedMemoryFiles::SharedMemoryFiles(SharedMemoryFiles&& other) noexcept
    : directory_(std::exchange(other.directory_, {})), lock_(std::move(other.lock_)) {}

SharedMemoryFiles::~SharedMemoryFiles() {
  if (!directory_.empty()) std::filesystem::remove_all(directory_);
}

SharedMemoryFiles::Contents SharedMemoryFiles::Read() const {
  Contents contents;
  for (const auto& entry : std::filesystem::directory_iterator(directory_)) {
    contents[entry.path().filename()] = ReadSparse(entry.path());
  }
  return contents;
}

void SharedMemoryFiles::Replace(const Contents& contents) const {
  for (const auto& entry : std::filesystem::directory_iterator(directory_))
    std::filesystem::remove(entry.path());
  for (const auto& [name, content] : contents) WriteSparse(directory_ + "/" + name, content);
}

}  // namespace zenfs
