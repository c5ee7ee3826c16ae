// What can be told of a volume's space: in sum, and zone by zone. Plain values.
#pragma once

#include <cstdint>
#include <string_view>

#include "model/lifetime.h"
#include "model/units.h"

namespace zenfs {

// What a mounted volume can say about its space, bytes. total = metadata + log + reclaim + live + garbage +
// free + lost; `free` is what AcquireData can really hand out now or after pending resets. Reclaim can turn
// most of the garbage into free space; it does so when space gets short.
struct SpaceReport {
  std::uint64_t total = 0;
  std::uint64_t metadata = 0;  // capacity of metadata zones
  std::uint64_t log = 0;       // capacity of zones lent to the log, or kept for it
  std::uint64_t reclaim = 0;   // room that data does not get, so that live data can always be moved
  std::uint64_t live = 0;      // file data with padding
  std::uint64_t garbage = 0;   // bytes not live (dead, or not committed yet) in zones that can't be reset yet
  std::uint64_t free = 0;
  std::uint64_t lost = 0;  // offline, read-only and retired zones' unwritten or dead part
};

enum class ZonePhase : std::uint8_t {
  kUnusable,      // offline
  kConventional,  // left alone: it takes writes anywhere, and is no zone to append to
  kMetadata,
  kLog,      // lent to the log
  kEmpty,    // in the pool
  kActive,   // partly written, takes more
  kFull,     // takes no more
  kDead,     // queued for a reset, or being reset
  kRetired,  // readable as far as it goes, never written again in this mount
};
// "unusable", "conventional", "metadata", "log", "empty", "active", "full", "dead", "retired"
[[nodiscard]] std::string_view PhaseName(ZonePhase phase);

// One zone, for df, fs-info, `zenfs zones` and check.
struct ZoneStatus {
  ZoneId id;
  ZonePhase phase = ZonePhase::kEmpty;
  Lifetime lifetime = Lifetime::kNotSet;
  std::uint64_t capacity = 0;
  std::uint64_t written = 0;
  std::uint64_t live = 0;
  std::uint64_t uncommitted = 0;  // of the written bytes, those that a file may yet commit
  std::uint64_t age = 0;          // of a full zone: how many zones were filled since it was, in this mount
  std::uint32_t pins = 0;
  std::uint32_t life = 0;  // another number: what is known of the zone's bytes is of others
};

}  // namespace zenfs
