// Time and deadlines. The only place that asks the operating system for either.
#pragma once

#include <chrono>
#include <cstdint>

namespace zenfs {

using SteadyTime = std::chrono::steady_clock::time_point;

[[nodiscard]] SteadyTime SteadyNow();
// Seconds since 1970-01-01 UTC, by the clock that the kernel gives files their times by: a few milliseconds behind the
// precise one, and cheap enough for each append.
[[nodiscard]] std::uint64_t WallSeconds();
// CPU time used by the calling thread, nanoseconds.
[[nodiscard]] std::uint64_t ThreadCpuNanoseconds();
void SleepUntil(SteadyTime when);
// From now on sleeps of the calling thread end as soon as the kernel can, not up to 50 us later, which it uses to wake
// several threads at once.
void SharpenSleep();

// A point in time after which waiting is an error. Every wait in the project takes one.
class Deadline {
 public:
  static Deadline After(std::chrono::nanoseconds span) { return Deadline(SteadyNow() + span); }
  static Deadline Never() { return Deadline(SteadyTime::max()); }

  bool Passed() const { return when_ != SteadyTime::max() && SteadyNow() >= when_; }
  SteadyTime when() const { return when_; }

 private:
  explicit Deadline(SteadyTime when) : when_(when) {}
  SteadyTime when_;
};

// For tests: while one lives, WallSeconds() is what it says. One at a time.
class WallClockOverride {
 public:
  explicit WallClockOverride(std::uint64_t seconds) { Set(seconds); }
  ~WallClockOverride();
  WallClockOverride(const WallClockOverride&) = delete;
  WallClockOverride& operator=(const WallClockOverride&) = delete;

  void Set(std::uint64_t seconds);  // not 0
};

}  // namespace zenfs
