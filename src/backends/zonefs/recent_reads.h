// Records when each zone was last read, to a tenth of a second, at negligible cost for the read.
//
// Threads: safe from any thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "base/clock.h"
#include "model/units.h"

namespace zenfs {

class RecentReads {
 public:
  explicit RecentReads(std::uint32_t zones) : last_(std::make_unique<std::atomic<std::int64_t>[]>(zones)) {}

  // Call it when a read begins and when it ends, so that a read in flight counts for at least a
  // second.
  void Note(ZoneId zone) {
    const std::int64_t now = Tick(SteadyNow());
    std::atomic<std::int64_t>& last = last_[zone.value];
    // Store only a new value: otherwise readers of one zone would contend for the cache line.
    if (last.load(std::memory_order_relaxed) != now) last.store(now, std::memory_order_relaxed);
  }

  // True if the zone was read in the second before `now`.
  bool Lately(ZoneId zone, SteadyTime now = SteadyNow()) const {
    const std::int64_t last = last_[zone.value].load(std::memory_order_relaxed);
    return last != 0 && Tick(now) - last <= kTicks;
  }

 private:
  static constexpr std::int64_t kTicks = 10;  // ticks per second
  // Time in tenths of a second; at least 1.
  static std::int64_t Tick(SteadyTime time) {
    return 1 + std::chrono::duration_cast<std::chrono::milliseconds>(time.time_since_epoch()).count() / 100;
  }

  const std::unique_ptr<std::atomic<std::int64_t>[]> last_;
};

}  // namespace zenfs
