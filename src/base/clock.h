// Time and deadlines. All time of the project comes from here.
#pragma once

#include <chrono>
#include <cstdint>

namespace zenfs {

using SteadyTime = std::chrono::steady_clock::time_point;

[[nodiscard]] SteadyTime SteadyNow();
// The same from the kernel's coarse clock: up to a few milliseconds late, and cheap enough for each append.
[[nodiscard]] SteadyTime RoughSteadyNow();
// Seconds since 1970-01-01 UTC, from the kernel's coarse clock, which also gives files their times. It is up to a few
// milliseconds late, and cheap enough for each append.
[[nodiscard]] std::uint64_t WallSeconds();
// CPU time used by the calling thread, in nanoseconds.
[[nodiscard]] std::uint64_t ThreadCpuNanoseconds();
void SleepUntil(SteadyTime when);
// Sets the timer slack of the calling thread to the minimum. By default the kernel may end a sleep up to 50 us late, to
// wake several threads at once.
void SharpenSleep();

// A point in time at which a wait ends.
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

// For tests: while this object exists, WallSeconds() returns its value. One object at a time.
class WallClockOverride {
 public:
  explicit WallClockOverride(std::uint64_t seconds) { Set(seconds); }
  ~WallClockOverride();
  WallClockOverride(const WallClockOverride&) = delete;
  WallClockOverride& operator=(const WallClockOverride&) = delete;

  void Set(std::uint64_t seconds);  // not 0
};

}  // namespace zenfs
