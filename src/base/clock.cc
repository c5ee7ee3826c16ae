#include "base/clock.h"

#include <sys/prctl.h>

#include <atomic>
#include <chrono>
#include <ctime>
#include <thread>

#include "base/scheduler.h"

namespace zenfs {

SteadyTime SteadyNow() {
  if (Scheduler* s = Scheduler::Installed()) return s->SteadyNow();
  return std::chrono::steady_clock::now();
}

SteadyTime RoughSteadyNow() {
  if (Scheduler* s = Scheduler::Installed()) return s->SteadyNow();
  timespec ts{};
  clock_gettime(CLOCK_MONOTONIC_COARSE, &ts);
  return SteadyTime(std::chrono::seconds(ts.tv_sec) + std::chrono::nanoseconds(ts.tv_nsec));
}

namespace {

std::atomic<std::uint64_t> wall_override{0};  // 0: none

}  // namespace

std::uint64_t WallSeconds() {
  if (const std::uint64_t seconds = wall_override.load(std::memory_order_relaxed)) return seconds;
  if (Scheduler* s = Scheduler::Installed()) {
    const auto since = s->WallNow().time_since_epoch();
    return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::seconds>(since).count());
  }
  timespec ts{};
  clock_gettime(CLOCK_REALTIME_COARSE, &ts);
  return static_cast<std::uint64_t>(ts.tv_sec);
}

WallClockOverride::~WallClockOverride() { wall_override.store(0, std::memory_order_relaxed); }

void WallClockOverride::Set(std::uint64_t seconds) {
  wall_override.store(seconds, std::memory_order_relaxed);
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
