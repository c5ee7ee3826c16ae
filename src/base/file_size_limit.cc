#include "base/file_size_limit.h"

#include <pthread.h>
#include <sys/resource.h>

#include <cerrno>
#include <ctime>

namespace zenfs {
namespace {

sigset_t FileSizeSignal() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGXFSZ);
  return set;
}

}  // namespace

std::uint64_t FileSizeLimit() {
  rlimit limit{};
  const bool known = ::getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
  return known ? limit.rlim_cur : UINT64_MAX;
}

bool HasFileSizeLimit() { return FileSizeLimit() != UINT64_MAX; }

NoFileSizeSignal::NoFileSizeSignal(bool limited) : limited_(limited) {
  if (!limited_) return;
  const sigset_t signal = FileSizeSignal();
  sigset_t pending;
  pending_ = sigpending(&pending) == 0 && sigismember(&pending, SIGXFSZ) == 1;
  pthread_sigmask(SIG_BLOCK, &signal, &before_);
}

NoFileSizeSignal::~NoFileSizeSignal() {
  if (!limited_) return;
  const int error = errno;
  const sigset_t signal = FileSizeSignal();
  const timespec none{};
  // The kernel sends the signal to the thread that writes, so it waits here at the latest now.
  while (!pending_ && sigtimedwait(&signal, nullptr, &none) < 0 && errno == EINTR) {
  }
  pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  errno = error;
}

}  // namespace zenfs
