// The space of a volume, in sum and by zone. Plain values.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string_view>

#include "model/lifetime.h"
#include "model/units.h"

namespace zenfs {

// The space of a mounted volume in bytes. total = metadata + log + reclaim + live + garbage + free + lost.
// `free` is the room that AcquireData can grant now, after pending resets, or once the collector has yielded what the
// log can do without. If space gets short, reclaim turns most of the garbage into free space.
struct SpaceReport {
  std::uint64_t total = 0;
  std::uint64_t metadata = 0;  // capacity of metadata zones
  std::uint64_t log = 0;       // capacity of zones lent to the log, or kept for it
  std::uint64_t reclaim = 0;   // headroom for copies of live data
  std::uint64_t live = 0;      // file data with padding
  std::uint64_t garbage = 0;   // dead or uncommitted bytes in zones that cannot be reset yet
  std::uint64_t free = 0;
  std::uint64_t log_limit = 0;  // bytes of the zones that the log may take; not part of the sum
  std::uint64_t lost = 0;       // capacity without live data in offline, read-only and retired zones

  // Parts of `metadata`, `log` and `live`; only a read-only mount fills them (volume/live_zones.h), otherwise 0.
  std::uint64_t metadata_used = 0;  // written bytes of metadata zones
  std::uint64_t log_used = 0;       // live frames of files
  std::uint64_t log_garbage = 0;    // all other written bytes of log zones
  std::uint64_t padding = 0;        // rest of the last block of each extent

  // The log holds `bytes` that it can do without.
  void CountSpareOfLog(std::uint64_t bytes) {
    const std::uint64_t held = std::min(bytes, log);
    log -= held;
    free += held;
  }

  // The sums that commands and the exporter show: total = used + reclaimable + reserved + free + lost.
  std::uint64_t used() const { return live + log_used + metadata_used; }
  std::uint64_t reclaimable() const { return garbage + log_garbage; }
  // Unwritten space that data does not get.
  std::uint64_t reserved() const { return metadata - metadata_used + log - log_used - log_garbage + reclaim; }
};

enum class ZonePhase : std::uint8_t {
  kUnusable,      // offline
  kConventional,  // not used: has no write pointer
  kMetadata,
  kLog,      // lent to the log
  kEmpty,    // in the pool
  kActive,   // partly written, accepts writes
  kFull,     // accepts no writes until its reset
  kDead,     // its reset is queued or running
  kRetired,  // still readable, never written again in this mount
};
// "unusable", "conventional", "metadata", "log", "empty", "active", "full", "dead", "retired"
[[nodiscard]] std::string_view PhaseName(ZonePhase phase);

// Garbage around so few live bytes is reclaimed although space is not short.
constexpr bool IsNearlyDead(std::uint64_t live, std::uint64_t capacity) {
  constexpr std::uint64_t kShare = 20;  // live bytes are at most one in so many
  return live != 0 && live <= capacity / kShare;
}

// One zone, for `zenfs zones` and check.
struct ZoneStatus {
  ZoneId id;
  ZonePhase phase = ZonePhase::kEmpty;
  Lifetime lifetime = Lifetime::kNotSet;
  std::uint64_t capacity = 0;
  std::uint64_t written = 0;
  std::uint64_t live = 0;  // for metadata and log zones only in a read-only mount (volume/live_zones.h)
  std::uint64_t uncommitted = 0;  // written bytes that a file may still commit
  std::uint64_t age = 0;          // for a full zone: zones filled after it in this mount
  std::uint32_t pins = 0;
  std::uint32_t incarnation = 0;  // changes when the zone leaves use; facts about older bytes are void then
};

}  // namespace zenfs
