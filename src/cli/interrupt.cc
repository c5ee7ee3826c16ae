#include "cli/interrupt.h"

#include <csignal>

namespace zenfs {
namespace {

std::atomic<bool> stop{false};
static_assert(std::atomic<bool>::is_always_lock_free, "a signal handler sets it");

}  // namespace

const std::atomic<bool>& StopOnInterrupt() {
  struct sigaction action{};
  action.sa_handler = [](int) { stop = true; };
  action.sa_flags = SA_RESTART | static_cast<int>(SA_RESETHAND);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    struct sigaction old{};
    // Keep ignoring signals that the process ignores (nohup).
    if (::sigaction(signal, nullptr, &old) == 0 && old.sa_handler == SIG_IGN) continue;
    (void)::sigaction(signal, &action, nullptr);
  }
  return stop;
}

}  // namespace zenfs
