#include "base/clock.h"

#include <sys/prctl.h>

#include <ctime>
#include <thread>

#include "base/scheduler.h"

namespace zenfs {

SteadyTime SteadyNow() {
  if (Scheduler* s = Scheduler::Installed()) return s->SteadyNow();
  return std::chrono::steady_clock::now();
}

std::uint64_t WallSeconds() {
  Scheduler* s = Scheduler::Installed();
  const auto now = s != nullptr ? s->WallNow() : std::chrono::system_clock::now();
  return static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::seconds>(now.time_since_epoch()).count());
}

std::uint64_t ThreadCpuNanoseconds() {
  timespec ts{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
  return static_cast<std::uint64_t>(ts.tv_sec) * 1'000'000'000u + static_cast<std::uint64_t>(ts.tv_nsec);
}

void SleepUntil(SteadyTime when) {
  if (Scheduler* s = Scheduler::Installed()) return s->SleepUntil(when);
  std::this_thread::sleep_until(when);
}

void SharpenSleep() { ::prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL); }

}  // namespace zenfs
