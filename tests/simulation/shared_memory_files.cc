#include "shared_memory_files.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <utility>

#include "base/shared_memory.h"

namespace zenfs {

Result<SharedMemoryFiles> SharedMemoryFiles::Create() {
  const std::string parent = DefaultSharedMemoryDirectory();
  if (parent.empty())
    return Fail(Code::kNotFound, "the simulator needs a tmpfs that can be written to, as /dev/shm");
  std::string directory = parent + "/zenfs-simulation-XXXXXX";
  if (mkdtemp(directory.data()) == nullptr) return FailErrno(errno, "making a directory in " + parent);
  return SharedMemoryFiles(std::move(directory));
}

SharedMemoryFiles::SharedMemoryFiles(SharedMemoryFiles&& other) noexcept
    : directory_(std::exchange(other.directory_, {})) {}

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
    chmod(path.c_str(), S_IRUSR | S_IWUSR);  // what a mount insists on
  }
}

void SharedMemoryFiles::Tamper(Contents& contents, Random& random) {
  for (auto& [name, bytes] : contents) {
    if (bytes.empty()) continue;
    if (random.OneIn(4)) {
      bytes.resize(random.Below(bytes.size()));
      continue;
    }
    const std::uint64_t places = 1 + random.Below(20);
    // Most of a file is unused; its beginning is not.
    const std::uint64_t within =
        random.OneIn(2) ? bytes.size() : std::min<std::uint64_t>(bytes.size(), 16384);
    for (std::uint64_t i = 0; i < places; ++i)
      bytes[random.Below(within)] ^= static_cast<char>(1u << random.Below(8));
  }
}

}  // namespace zenfs
