// When each zone was read last, to the tenth of a second, for a price that a read does not notice.
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

  // Called when a read begins and when it ends, so that one under way counts for a second at least.
  void Note(ZoneId zone) {
    const std::int64_t now = Tick(SteadyNow());
    std::atomic<std::int64_t>& last = last_[zone.value];
    // A store only when it tells something new: readers of one zone would pass the cache line around.
    if (last.load(std::memory_order_relaxed) != now) last.store(now, std::memory_order_relaxed);
  }

  // Whether the zone was read in the second before `now`.
  bool Lately(ZoneId zone, SteadyTime now = SteadyNow()) const {
    const std::int64_t last = last_[zone.value].load(std::memory_order_relaxed);
    return last != 0 && Tick(now) - last <= kTicks;
  }

 private:
  static constexpr std::int64_t kTicks = 10;  // a second
  // Tenths of a second, from 1.
  static std::int64_t Tick(SteadyTime time) {
    return 1 + std::chrono::duration_cast<std::chrono::milliseconds>(time.time_since_epoch()).count() / 100;
  }

  const std::unique_ptr<std::atomic<std::int64_t>[]> last_;
};

}  // namespace zenfs
