// Preloaded into a program that writes to a zoned block device: logs what the device has completed and flushed to the file
// named by ZENFS_DEVICE_TRACE, a line an event, in an order in which it may have happened:
//
//   write OFFSET LENGTH    the device has acknowledged it
//   flush ID               begins: covers all events above
//   flushed ID             has returned
//   reset OFFSET LENGTH    begins
//   finish OFFSET LENGTH   the device has acknowledged it
//   failed WHAT            one of these, with an error
//
// Bytes. A write's line stands before the program learns that it is complete, a flush's before the device does, so a write
// that the program could count on is never missing above the flush. A reset counts from its beginning, because its zone has
// no bytes left to be found once the device works on it. What is under way has no line: it may be lost, as in a real cut.
//
// A flush takes 10 ms, as on a slow drive: in memory it would be over at once, and hardly anything ever at risk.
//
// Only the system calls that the backend dev: writes by are seen: pwritev2(2), fdatasync(2), fsync(2), ioctl(2).
#include <dlfcn.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <linux/blkzoned.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdarg>
#include <cstdlib>
#include <string>

#include "base/clock.h"
#include "base/mutex.h"

namespace {

constexpr unsigned long long kSector = 512;
constexpr std::chrono::milliseconds kFlushTime(10);

class Trace {
 public:
  // Never destroyed: the program writes until it is killed.
  static Trace& Get() {
    static Trace* const trace = new Trace;
    return *trace;
  }

  // A record that is lost would make the test blame the program.
  void Log(const std::string& event) {
    const zenfs::MutexLock lock(mutex_);
    const std::string line = event + '\n';
    if (write(fd_, line.data(), line.size()) != static_cast<ssize_t>(line.size())) std::abort();
  }

  bool Concerns(int fd) const {
    struct stat status;
    return fd_ >= 0 && fstat(fd, &status) == 0 && S_ISBLK(status.st_mode);
  }

  long NextFlush() { return flushes_.fetch_add(1); }

 private:
  Trace() {
    const char* const path = std::getenv("ZENFS_DEVICE_TRACE");
    if (path == nullptr) return;
    fd_ = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    if (fd_ < 0) std::abort();
  }

  int fd_ = -1;
  zenfs::Mutex mutex_;  // leaf
  std::atomic<long> flushes_{0};
};

template <typename Function>
Function* Next(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

int Flush(int fd, int (*next)(int)) {
  Trace& trace = Trace::Get();
  if (!trace.Concerns(fd)) return next(fd);
  const long id = trace.NextFlush();
  trace.Log(fmt::format("flush {}", id));
  zenfs::SleepUntil(zenfs::SteadyNow() + kFlushTime);
  const int answer = next(fd);
  const int error = errno;
  trace.Log(answer == 0 ? fmt::format("flushed {}", id) : "failed flush");
  errno = error;
  return answer;
}

}  // namespace

#pragma GCC visibility push(default)
extern "C" {

ssize_t pwritev2(int fd, const iovec* pieces, int count, off_t offset, int flags) {
  static const auto next = Next<ssize_t(int, const iovec*, int, off_t, int)>("pwritev2");
  const ssize_t answer = next(fd, pieces, count, offset, flags);
  const int error = errno;
  Trace& trace = Trace::Get();
  if (trace.Concerns(fd)) trace.Log(answer > 0 ? fmt::format("write {} {}", offset, answer) : "failed write");
  errno = error;
  return answer;
}

int fdatasync(int fd) {
  static const auto next = Next<int(int)>("fdatasync");
  return Flush(fd, next);
}

int fsync(int fd) {
  static const auto next = Next<int(int)>("fsync");
  return Flush(fd, next);
}

int ioctl(int fd, unsigned long request, ...) noexcept {
  static const auto next = Next<int(int, unsigned long, void*)>("ioctl");
  va_list arguments;
  va_start(arguments, request);
  void* const argument = va_arg(arguments, void*);
  va_end(arguments);
  Trace& trace = Trace::Get();
  const bool reset = request == BLKRESETZONE, finish = request == BLKFINISHZONE;
  if ((!reset && !finish) || !trace.Concerns(fd)) return next(fd, request, argument);
  const auto* const range = static_cast<const blk_zone_range*>(argument);
  const std::string event = fmt::format("{} {} {}", reset ? "reset" : "finish", range->sector * kSector,
                                        range->nr_sectors * kSector);
  if (reset) trace.Log(event);
  const int answer = next(fd, request, argument);
  const int error = errno;
  if (answer != 0) trace.Log("failed " + event);
  if (finish && answer == 0) trace.Log(event);
  errno = error;
  return answer;
}

}  // extern "C"
#pragma GCC visibility pop
