#include "base/file_lock.h"

#include <sys/file.h>

#include <cerrno>
#include <chrono>

#include "base/clock.h"

namespace zenfs {
namespace {

constexpr std::chrono::milliseconds kPatience{200};
constexpr std::chrono::milliseconds kPause{5};

}  // namespace

int RetryWhileBusy(int busy, const std::function<int()>& attempt) {
  const Deadline deadline = Deadline::After(kPatience);
  int error = attempt();
  while (error == busy && !deadline.Passed()) {
    SleepUntil(SteadyNow() + kPause);
    error = attempt();
  }
  return error;
}

int LockFile(int fd) {
  return RetryWhileBusy(EWOULDBLOCK, [fd] { return ::flock(fd, LOCK_EX | LOCK_NB) == 0 ? 0 : errno; });
}

}  // namespace zenfs
