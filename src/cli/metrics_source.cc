#include "cli/metrics_source.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "backends/host/lock_holder.h"
#include "base/shared_memory.h"
#include "base/unique_fd.h"
#include "format/buffer_area_layout.h"
#include "metrics/metrics_page.h"

namespace zenfs {
namespace {

// The maker holds locks on the file until it dies. One of them can be asked for, but makers of earlier versions do not have it. Then look
// into the kernel's list of locks: trying the lock would prevent a mount from taking the file over for a moment. The list is
// read in part, and does not show locks of another container, so then try.
bool MakerLives(const SharedMemory& memory, const std::string& path) {
  if (memory.MakerRuns()) return true;
  const UniqueFd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  struct stat info = {};
  if (fd.get() < 0 || fstat(fd.get(), &info) != 0) return false;
  if (FindFlockHolder(ReadProcLocks(), major(info.st_dev), minor(info.st_dev), info.st_ino) != 0) return true;
  if (flock(fd.get(), LOCK_SH | LOCK_NB) == 0) return false;  // released with the descriptor
  return errno == EWOULDBLOCK;
}

// In the shared memory of a mount the page follows a header; a file that contains only the metrics
// is the page itself.
Result<ByteView> PageIn(ByteView file) {
  std::uint64_t magic = 0;
  if (file.size() < std::max<std::size_t>(kBufferAreaHeaderBytes, sizeof(magic))) {
    return Fail(Code::kCorruption, "too short to hold metrics");
  }
  std::memcpy(&magic, file.data(), sizeof(magic));
  return magic == kMetricsMagic ? file : file.subspan(kBufferAreaHeaderBytes);
}

// Only the program's user may read the counters.
Error ExplainDenied(const Error& error, const std::string& path) {
  struct stat info = {};
  if (stat(path.c_str(), &info) != 0 || info.st_uid == geteuid()) return error;
  return error.Advise(
      fmt::format("run this as user {}, who runs the program that counts, or as root", info.st_uid));
}

}  // namespace

Result<std::string> SharedMemoryOf(const Volume& volume) {
  std::string path = volume.shared_memory_path();
  if (!path.empty()) return path;
  return Fail(Code::kNotFound,
              fmt::format("{}: no program on this host has it mounted for writing, so nothing is counted",
                          volume.info().device_name));
}

Result<MetricsSnapshot> ReadSharedMetrics(const std::string& path, bool living) {
  // Any user's metrics may be shown to users who may read the file.
  std::vector<std::uint32_t> owners;
  if (const auto owner = OwnerOfName(path)) owners.push_back(*owner);
  // The path of a living program came from the device, any other from the user.
  const auto access = living ? SharedMemory::Access::kRead : SharedMemory::Access::kReadAnywhere;
  const Result<SharedMemory> memory =
      SharedMemory::Open(path, access, owners, kBufferAreaHeaderBytes + kMetricsPageBytes);
  if (!memory && memory.error().code() == Code::kNotFound) {
    return Fail(Code::kNotFound,
                fmt::format("{} is gone: the program that wrote the counters has ended", path));
  }
  if (!memory && memory.error().code() == Code::kPermission) {
    return Fail(ExplainDenied(memory.error(), path));
  }
  if (!memory) return Fail(memory.error());
  if (living && !MakerLives(*memory, path)) {
    return Fail(
        Code::kNotFound,
        fmt::format("the program that counted in {} is dead; --page={} shows its last counters", path, path));
  }
  const Result<ByteView> page = PageIn(memory->view());
  if (!page) return Fail(page.error().With(path));
  Result<MetricsSnapshot> snapshot = DecodeMetrics(*page);
  if (!snapshot) return Fail(snapshot.error().With(path));
  return snapshot;
}

StatsView MetricsIntervals::Next(const MetricsSnapshot& now, SteadyTime time) {
  StatsView view{.metrics = now, .interval_seconds = {}};
  if (last_ && (*last_)[Value::kEpoch] == now[Value::kEpoch]) {
    view.metrics = Difference(now, *last_);
    view.interval_seconds = std::max(1e-3, std::chrono::duration<double>(time - last_time_).count());
  }
  last_ = now;
  last_time_ = time;
  return view;
}

}  // namespace zenfs
