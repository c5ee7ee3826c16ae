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

  // Parts of `metadata` and `log`, which only a read-only mount knows (volume/live_zones.h); 0 otherwise.
  std::uint64_t metadata_used = 0;  // written in metadata zones
  std::uint64_t log_used = 0;       // frames that files consist of
  std::uint64_t log_garbage = 0;    // all else that is written in log zones

  // What every verb and the exporter show; total = used + reclaimable + reserved + free + lost.
  std::uint64_t used() const { return live + log_used + metadata_used; }
  std::uint64_t reclaimable() const { return garbage + log_garbage; }
  // Nothing is there, and data does not get it.
  std::uint64_t reserved() const { return metadata - metadata_used + log - log_used - log_garbage + reclaim; }
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

// One zone, for `zenfs zones` and check.
struct ZoneStatus {
  ZoneId id;
  ZonePhase phase = ZonePhase::kEmpty;
  Lifetime lifetime = Lifetime::kNotSet;
  std::uint64_t capacity = 0;
  std::uint64_t written = 0;
  std::uint64_t live = 0;         // of a metadata or log zone only in a read-only mount (volume/live_zones.h)
  std::uint64_t uncommitted = 0;  // of the written bytes, those that a file may yet commit
  std::uint64_t age = 0;          // of a full zone: how many zones were filled since it was, in this mount
  std::uint32_t pins = 0;
  std::uint32_t incarnation = 0;  // another number: what is known of the zone's bytes is of others
};

}  // namespace zenfs
