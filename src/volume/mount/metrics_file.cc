#include "volume/mount/metrics_file.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/file_size_limit.h"
#include "base/output_file.h"
#include "metrics/metrics_page.h"

namespace zenfs {
namespace {

Status CheckReplaceable(int fd, const std::string& path) {
  struct stat info = {};
  if (fstat(fd, &info) != 0) return FailErrno(errno, fmt::format("{}: stat failed", path));
  if (info.st_size == 0) return {};
  std::uint64_t magic = 0;
  if (pread(fd, &magic, sizeof(magic), 0) == sizeof(magic) && magic == kMetricsMagic) return {};
  return Fail(Code::kExists, fmt::format("{}: exists and does not hold metrics; name a new file", path));
}

}  // namespace

Status WriteMetricsFile(const std::string& path, ByteView page) {
  ZENFS_ASSIGN_OR_RETURN(const UniqueFd fd, OpenOutput(path, OutputUse::kOverwrite));
  ZENFS_RETURN_IF_ERROR(CheckReplaceable(fd.get(), path));
  const NoFileSizeSignal no_signal;
  for (std::size_t done = 0; done < page.size();) {
    const ByteView rest = page.subspan(done);
    const ssize_t written = pwrite(fd.get(), rest.data(), rest.size(), static_cast<off_t>(done));
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return FailErrno(written == 0 ? EIO : errno, fmt::format("{}: can't be written", path));
    done += static_cast<std::size_t>(written);
  }
  if (ftruncate(fd.get(), static_cast<off_t>(page.size())) != 0) {
    return FailErrno(errno, fmt::format("{}: can't be truncated", path));
  }
  return {};
}

}  // namespace zenfs
