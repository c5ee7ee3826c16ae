// Preloaded into a program that writes to a zoned block device: logs what the device has completed and flushed to the file
// named by ZENFS_DEVICE_TRACE, a line an event, in an order in which it may have happened:
//
//   write OFFSET LENGTH        the device has acknowledged it
//   append OFFSET LENGTH       the same, of a zone append
//   copy OFFSET LENGTH         the same, of a copy inside the device to there
//   rewrite OFFSET LENGTH AT   the same, in a random write area; its bytes are in a second file, FILE.bytes, from AT on
//   flush ID                   begins: covers all events above
//   flushed ID                 has returned
//   reset OFFSET               of a zone, begins
//   finish OFFSET              of a zone; the device has acknowledged it
//   area OFFSET                of a zone, which is opened with a random write area; the device has acknowledged it
//   cancelled EVENT            one of these that may have been executed or not: the kernel had to reset the controller. An
//                              append has its zone for a place
//   failed EVENT               one of these, with another error
//
// Bytes. A write's line stands before the program learns that it is complete, a flush's before the device does, so a write
// that the program could count on is never missing above the flush. A reset counts from its beginning, because its zone has
// no bytes left to be found once the device works on it. What is under way has no line: it may be lost, as in a real cut.
//
// A flush takes 10 ms, as on a slow drive: in memory it would be over at once, and hardly anything ever at risk.
//
// Only the system calls that the backends dev: and nvme: write by are seen: pwritev2(2), fdatasync(2), fsync(2), and ioctl(2)
// for zones and for NVMe commands. Queues use a ring, but only for reads.
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
#include <iterator>
#include <set>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/mutex.h"
#include "nvme_command.h"

namespace {

constexpr unsigned long long kSector = 512;
constexpr std::chrono::milliseconds kFlushTime(10);
constexpr std::uint64_t kArea = 64 << 10;  // of the lab's drives; a write pointer at its start does not move

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

  bool on() const { return fd_ >= 0; }
  bool Concerns(int fd) const {
    struct stat status;
    return on() && fstat(fd, &status) == 0 && S_ISBLK(status.st_mode);
  }

  long NextFlush() { return flushes_.fetch_add(1); }

  // Of zones with a random write area, by their starts.
  void BeginArea(std::uint64_t zone) {
    const zenfs::MutexLock lock(mutex_);
    areas_.insert(zone);
  }
  void EndArea(std::uint64_t zone) {
    const zenfs::MutexLock lock(mutex_);
    areas_.erase(zone);
  }
  bool IsInArea(std::uint64_t offset) {
    const zenfs::MutexLock lock(mutex_);
    const auto behind = areas_.upper_bound(offset);
    return behind != areas_.begin() && offset - *std::prev(behind) < kArea;
  }
  // Writes what a command writes to the end of a second file, and returns where it is there.
  long KeepBytes(const zenfs::NvmeCommand& command) {
    const std::string bytes = command.bytes();
    const zenfs::MutexLock lock(mutex_);
    const off_t end = lseek(bytes_fd_, 0, SEEK_END);
    if (write(bytes_fd_, bytes.data(), bytes.size()) != static_cast<ssize_t>(bytes.size())) std::abort();
    return end;
  }

 private:
  Trace() {
    const char* const path = std::getenv("ZENFS_DEVICE_TRACE");
    if (path == nullptr) return;
    fd_ = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    bytes_fd_ = open((std::string(path) + ".bytes").c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    if (fd_ < 0 || bytes_fd_ < 0) std::abort();
  }

  int fd_ = -1;
  int bytes_fd_ = -1;
  std::set<std::uint64_t> areas_;
  zenfs::Mutex mutex_;  // leaf
  std::atomic<long> flushes_{0};
};

std::size_t Length(const iovec* pieces, int count) {
  std::size_t bytes = 0;
  for (int i = 0; i < count; ++i) bytes += pieces[i].iov_len;
  return bytes;
}

template <typename Function>
Function* Next(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

// The kernel cancels commands with EINTR when it resets the controller; the program sends them again.
std::string Refused(const std::string& event, int error) {
  return (error == EINTR ? "cancelled " : "failed ") + event;
}

template <typename Call>
int Flush(const Call& call) {
  Trace& trace = Trace::Get();
  const long id = trace.NextFlush();
  trace.Log(fmt::format("flush {}", id));
  zenfs::SleepUntil(zenfs::SteadyNow() + kFlushTime);
  const int answer = call();
  const int error = errno;
  trace.Log(answer == 0 ? fmt::format("flushed {}", id) : Refused(fmt::format("flush {}", id), error));
  errno = error;
  return answer;
}

int Flush(int fd, int (*next)(int)) {
  const auto call = [&] { return next(fd); };
  return Trace::Get().Concerns(fd) ? Flush(call) : call();
}

// A command that resets or finishes the zone at `start`.
template <typename Call>
int Managed(const std::string& what, std::uint64_t start, const Call& call) {
  Trace& trace = Trace::Get();
  const std::string event = fmt::format("{} {}", what, start);
  if (what == "reset") trace.Log(event);
  const int answer = call();
  const int error = errno;
  if (answer != 0) trace.Log(Refused(event, answer < 0 ? error : 0));
  if (what != "reset" && answer == 0) trace.Log(event);
  errno = error;
  return answer;
}

std::string_view NameOf(zenfs::NvmeCommand::Kind kind) {
  using Kind = zenfs::NvmeCommand::Kind;
  return kind == Kind::kAppend ? "append" : kind == Kind::kCopy ? "copy" : "write";
}

template <typename Call>
int Written(const zenfs::NvmeCommand& command, const Call& call) {
  Trace& trace = Trace::Get();
  const bool area = command.kind() == zenfs::NvmeCommand::Kind::kWrite && trace.IsInArea(command.offset());
  const long number = area ? trace.KeepBytes(command) : 0;
  const int answer = call();
  const int error = errno;
  const std::uint64_t place = command.is_append() && answer == 0 ? command.place() : command.offset();
  const std::string_view what = area ? "rewrite" : NameOf(command.kind());
  std::string event = fmt::format("{} {} {}", what, place, command.length());
  if (area) event += fmt::format(" {}", number);
  trace.Log(answer == 0 ? event : Refused(event, answer < 0 ? error : 0));
  errno = error;
  return answer;
}

template <typename Call>
int NvmeCommand(unsigned long request, const void* argument, const Call& call) {
  using Kind = zenfs::NvmeCommand::Kind;
  const zenfs::NvmeCommand command(request, argument);
  Trace& trace = Trace::Get();
  switch (command.kind()) {
    case Kind::kWrite:
    case Kind::kCopy:
    case Kind::kAppend: return Written(command, call);
    case Kind::kFlush: return Flush(call);
    case Kind::kFinish: return Managed("finish", command.offset(), call);
    case Kind::kReset: trace.EndArea(command.offset()); return Managed("reset", command.offset(), call);
    case Kind::kOpenRandom: trace.BeginArea(command.offset()); return Managed("area", command.offset(), call);
    case Kind::kOther: break;
  }
  return call();
}

}  // namespace

#pragma GCC visibility push(default)
extern "C" {

ssize_t pwritev2(int fd, const iovec* pieces, int count, off_t offset, int flags) {
  static const auto next = Next<ssize_t(int, const iovec*, int, off_t, int)>("pwritev2");
  const ssize_t answer = next(fd, pieces, count, offset, flags);
  const int error = errno;
  Trace& trace = Trace::Get();
  if (trace.Concerns(fd)) {
    trace.Log(answer > 0 ? fmt::format("write {} {}", offset, answer)
                         : fmt::format("failed write {} {}", offset, Length(pieces, count)));
  }
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
  const auto call = [&] { return next(fd, request, argument); };
  const Trace& trace = Trace::Get();
  if (trace.on() && zenfs::IsNvmeCommand(request)) return NvmeCommand(request, argument, call);
  if ((request == BLKRESETZONE || request == BLKFINISHZONE) && trace.Concerns(fd)) {
    const auto* const range = static_cast<const blk_zone_range*>(argument);
    return Managed(request == BLKRESETZONE ? "reset" : "finish", range->sector * kSector, call);
  }
  return call();
}

}  // extern "C"
#pragma GCC visibility pop
