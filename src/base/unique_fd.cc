#include "base/unique_fd.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <string>

namespace zenfs {

UniqueFd UniqueFd::Reopened(int fd, int flags) {
  const std::string same = fmt::format("/proc/self/fd/{}", fd);
  return Opened([&] { return ::open(same.c_str(), flags | O_CLOEXEC); });
}

}  // namespace zenfs
