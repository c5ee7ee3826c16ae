#include "base/text_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cerrno>

#include "base/unique_fd.h"

namespace zenfs {
namespace {

constexpr std::size_t kFileBytesMax = 1 << 20;
const dev_t kNullDevice = makedev(1, 3);  // /dev/null, a user's way to have no file

}  // namespace

Result<TextFile> ReadTextFile(const std::string& path, std::string_view kind) {
  const auto failure = [&] { return FailErrno(errno, fmt::format("{}: the {}", path, kind)); };
  struct stat st{};
  if (::stat(path.c_str(), &st) != 0) return failure();
  TextFile file{.text = {}, .stat = HostStat::From(st)};
  if (S_ISCHR(st.st_mode) && st.st_rdev == kNullDevice) return file;
  if (S_ISDIR(st.st_mode)) {
    return Fail(Code::kIsADirectory, fmt::format("{}: a {} is a file, not a directory", path, kind));
  }
  if (!S_ISREG(st.st_mode)) {
    return Fail(Code::kInvalidArgument,
                fmt::format("{}: a {} is a regular file, not a device or a pipe", path, kind));
  }
  // A pipe or a terminal may take the place of the file after that check. O_NONBLOCK does not wait for it.
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (!fd.valid() || ::fstat(fd.get(), &st) != 0) return failure();
  file.stat = HostStat::From(st);
  file.text.resize(kFileBytesMax + 1);
  std::size_t size = 0;
  while (size < file.text.size()) {
    const ssize_t n = ::read(fd.get(), file.text.data() + size, file.text.size() - size);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return failure();
    if (n == 0) break;
    size += static_cast<std::size_t>(n);
  }
  file.text.resize(size);
  if (size > kFileBytesMax) {
    return Fail(Code::kInvalidArgument, fmt::format("{}: too long for a {}", path, kind));
  }
  return file;
}

}  // namespace zenfs
