#include "world/shared_memory_files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
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

}  // namespace

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
    std::ifstream file(entry.path(), std::ios::binary);
    contents[entry.path().filename()] = std::string(std::istreambuf_iterator<char>(file), {});
  }
  return contents;
}

void SharedMemoryFiles::Replace(const Contents& contents) const {
  for (const auto& entry : std::filesystem::directory_iterator(directory_))
    std::filesystem::remove(entry.path());
  for (const auto& [name, bytes] : contents) {
    const std::string path = directory_ + "/" + name;
    std::ofstream(path, std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    chmod(path.c_str(), S_IRUSR | S_IWUSR);  // as a mount requires
  }
}

}  // namespace zenfs
