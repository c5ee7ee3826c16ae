// The empty zones, the number of zones that a reset will make empty, and the number that is kept for the log.
//
// The log's share: the zones that the log is short of, and at least one while the log waits. The log takes it, and copies do as a
// last resort. Data never does, but the collector yields what the log can do without when nothing else can be gained.
//
// If the log uses sync blocks (wal/zrwa_sync_blocks.h) or has a device of its own, one empty zone is the spare for a mount, which must
// write to the log before reclaim can move anything. Nobody else takes it, and it counts for nobody.
//
// Invariants
//   each zone in phase kEmpty is here once; each zone in phase kDead counts in pending_resets()
//   log_zones() counts the zones that the log holds
//
// Threads: not thread-safe; the owner locks. Units: zones. Errors: none.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>

#include "base/assert.h"
#include "model/units.h"

namespace zenfs {

class EmptyZones {
 public:
  // All other log zones may be full of frames that the mount recovers, and it must write those of sync blocks, and those that a
  // dead process flushed.
  static constexpr std::size_t kSpareForMount = 1;

  struct LogShare {
    std::uint32_t needs = 0;  // number of zones that the log needs to be fast
    std::uint32_t least = 0;  // those that it can't do without
    std::uint32_t spare = 0;  // those that only a mount takes
    std::uint32_t group = 1;  // those that it takes at once, if there is enough room
  };
  explicit EmptyZones(LogShare log) : log_(log) { ZENFS_ASSERT(log.least <= log.needs); }

  // Without the spare.
  std::size_t size() const { return WithoutSpare(all()); }
  bool empty() const { return size() == 0; }
  // True if there is a zone, be it the spare.
  bool HasForMount() const { return all() != 0; }
  std::size_t all() const { return zones_.size(); }
  // Removes the zone that was empty for the longest time, to spread wear. Precondition: !empty(), or HasForMount() in a mount.
  ZoneId Take();
  void Add(ZoneId zone) { zones_.push_back(zone); }
  // Returns a zone that was taken and not written. It is taken next.
  void Return(ZoneId zone) { zones_.push_front(zone); }

  // --- resets, queued or running ---
  std::size_t pending_resets() const { return pending_resets_; }
  void BeginReset() { ++pending_resets_; }
  void EndReset();
  // Empty zones after all pending resets, without the spare, and with it.
  std::size_t size_after_resets() const { return WithoutSpare(all_after_resets()); }
  std::size_t all_after_resets() const { return all() + pending_resets_; }

  // --- the log's share ---
  std::uint32_t log_zones() const { return log_zones_; }
  void CountLogZone() { ++log_zones_; }
  void DiscountLogZone();
  // Fewer empty zones than these are short supply, on a device of `zones` zones.
  std::size_t few(std::size_t zones) const { return kept_for_log() + std::max<std::size_t>(2, zones / 32); }
  std::size_t kept_for_log() const { return yielded_ ? least_kept_for_log() : all_kept_for_log(); }
  std::size_t all_kept_for_log() const { return MissingOf(log_.needs); }
  std::size_t least_kept_for_log() const { return MissingOf(log_.least); }
  // Reduces the share to the least. Returns false if it is the least already.
  bool Yield();
  void EndYield() { yielded_ = false; }
  // While this is true, the log takes no zone ahead of use.
  bool yielded() const { return yielded_; }
  std::uint32_t log_group() const { return log_.group; }
  // The log begins or ends to wait for a zone that it needs now.
  void LogWaits(bool begins);
  // True if data may take a zone now, or after all pending resets.
  bool HasSpare() const { return size() > kept_for_log(); }
  bool WillHaveSpare() const { return size_after_resets() > kept_for_log(); }

 private:
  std::size_t WithoutSpare(std::size_t zones) const {
    return zones - std::min<std::size_t>(zones, log_.spare);
  }
  std::size_t MissingOf(std::uint32_t wanted) const {
    const std::uint32_t missing = wanted > log_zones_ ? wanted - log_zones_ : 0;
    return std::max(missing, log_waits_ == 0 ? 0U : 1U);
  }

  const LogShare log_;
  std::deque<ZoneId> zones_;
  std::size_t pending_resets_ = 0;
  std::uint32_t log_zones_ = 0;  // lent to the log
  int log_waits_ = 0;
  bool yielded_ = false;
};

}  // namespace zenfs
