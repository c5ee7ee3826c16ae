// A small file system of the host, for tests of a full host.
#pragma once

#include <fcntl.h>
#include <sys/mount.h>
#include <unistd.h>

#include <cstdint>
#include <string>
#include <vector>

#include "base/unique_fd.h"
#include "testing/temp_directory.h"

namespace zenfs {

// Available if the process may mount: as root, and not in every container. It is reached only
// through a descriptor, so that a test that dies leaves no mount behind.
class SmallTmpfs {
 public:
  explicit SmallTmpfs(std::uint64_t bytes) {
    const TempDirectory directory;
    const char* const at = directory.path().c_str();
    const std::string size = "size=" + std::to_string(bytes);
    if (::mount("none", at, "tmpfs", MS_NOSUID | MS_NODEV, size.c_str()) != 0) return;
    fd_ = UniqueFd(::open(at, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    ::umount2(at, MNT_DETACH);
  }

  bool mounted() const { return fd_.valid(); }
  std::string File(const std::string& name) const {
    return "/proc/self/fd/" + std::to_string(fd_.get()) + "/" + name;
  }
  // Fills all remaining space.
  void FillUp() const {
    const UniqueFd fd(::open(File("filler").c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
    const std::vector<char> page(4096);
    while (::write(fd.get(), page.data(), page.size()) > 0) {
    }
  }
  void MakeRoom() const { ::unlink(File("filler").c_str()); }

 private:
  UniqueFd fd_;
};

}  // namespace zenfs
