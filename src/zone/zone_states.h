// The state of each zone: its phase (zone_manager.h has the diagram), its bytes and who needs them. ZoneTable finds it by number
// in O(1) and keeps sums over all zones. Each change updates the sums, so no call has to walk the table.
//
// Invariant: ZoneTable::totals() is the sum of the contributions of all zones in their present state.
//
// Threads: not thread-safe; the owner locks. Units: bytes.
#pragma once

#include <cstdint>
#include <limits>
#include <string_view>
#include <vector>

#include "base/assert.h"
#include "base/bytes.h"
#include "model/file_record.h"
#include "model/lifetime.h"
#include "model/units.h"

namespace zenfs {

enum class ZonePhase : std::uint8_t {
  kUnusable,      // offline
  kConventional,  // not used: has no write pointer
  kMetadata,
  kLog,      // allocated to the log
  kEmpty,    // in the pool
  kActive,   // partly written, accepts writes
  kFull,     // accepts no writes until its reset
  kDead,     // its reset is queued or running
  kRetired,  // still readable, never written again in this mount
};
// "unusable", "conventional", "metadata", "log", "empty", "active", "full", "dead", "retired"
[[nodiscard]] std::string_view PhaseName(ZonePhase phase);

// The blocks that hold an extent, in bytes of the device. An extent of the older ZenFS may begin inside its first block.
struct BlockRange {
  DeviceOffset begin;
  std::uint64_t bytes = 0;

  DeviceOffset end() const { return begin + bytes; }
};
constexpr BlockRange BlocksOf(const Extent& extent, std::uint32_t block_size) {
  const std::uint64_t begin = RoundDown(extent.place.value, block_size);
  return {DeviceOffset(begin), RoundUp(extent.place.value + extent.length, block_size) - begin};
}

// The live bytes of an extent, or of a piece that was cut off one.
//
// An extent counts all blocks from its first to its last one, which is padded, since it begins on a block
// boundary. If an extent is cut inside a block, this block counts for the piece before the cut. So the counts
// of all pieces always add up to the count of the whole extent.
constexpr std::uint64_t OccupiedBytes(const Extent& piece, std::uint32_t block_size) {
  return RoundUp(piece.place.value + piece.length, block_size) - RoundUp(piece.place.value, block_size);
}

// Garbage around so few live bytes is reclaimed although space is not short.
constexpr bool IsNearlyDead(std::uint64_t live, std::uint64_t capacity) {
  constexpr std::uint64_t kShare = 20;  // live bytes are at most one in so many
  return live != 0 && live <= capacity / kShare;
}

// One zone, for `zenfs zones`, check and the collector.
struct ZoneStatus {
  ZoneId id;
  ZonePhase phase = ZonePhase::kEmpty;
  Lifetime lifetime = Lifetime::kNotSet;
  std::uint64_t capacity = 0;
  std::uint64_t written = 0;
  // Of metadata and log zones only a read-only mount counts them (LiveZones in volume/reader/reader_volume.h).
  std::uint64_t live = 0;
  std::uint64_t uncommitted = 0;  // written bytes that a file may still commit
  std::uint64_t age = 0;          // for a full zone: zones filled after it in this mount
  std::uint32_t pins = 0;
  std::uint32_t incarnation = 0;  // changes when the zone leaves use; facts about older bytes are void then
};

struct ZoneState {
  std::uint64_t capacity = 0;
  std::uint64_t written = 0;  // bytes from the start of the zone
  std::uint64_t live = 0;     // by OccupiedBytes
  // Lowest place of an adopted extent; that extent's file gave the zone its lifetime.
  std::uint64_t first_adopted = std::numeric_limits<std::uint64_t>::max();
  // Written bytes that a file may still commit: pinned, neither live nor dead.
  std::uint64_t uncommitted = 0;
  std::uint64_t filled = 0;   // the pool's count of filled zones when this zone was filled
  std::uint64_t granted = 0;  // bytes that the zone's writer may still write; 0 for copies
  std::uint32_t pins = 0;
  std::uint32_t claims = 0;
  std::uint32_t incarnation = 0;  // raised when the zone leaves use, which voids older claims
  ZonePhase phase = ZonePhase::kUnusable;
  Lifetime lifetime = Lifetime::kNotSet;
  bool writer = false;      // a ZoneWriter for it exists
  bool holds_slot = false;  // counts as one of data's active zones
  bool job = false;         // a reset or finish is queued or running
  bool from_log = false;    // released by the log: `written` is unknown
  bool for_log = false;     // on the second of two joined devices: only the log takes it
  bool distrusted = false;  // its live count was wrong: never reset in this mount

  std::uint64_t room() const { return written < capacity ? capacity - written : 0; }
  // True if nobody can read, write or name its data, so it may be reset (design rule 6).
  bool Unused() const { return live == 0 && pins == 0 && !writer && !distrusted; }
};

class ZoneTable {
 public:
  struct Totals {
    std::uint64_t metadata = 0;
    std::uint64_t log = 0;
    std::uint64_t live = 0;
    std::uint64_t garbage = 0;
    std::uint64_t room = 0;      // in active zones
    std::uint64_t pool = 0;      // empty zones and those being reset, without those that only the log takes
    std::uint64_t log_pool = 0;  // these
    std::uint64_t lost = 0;
    // Number of full zones without live bytes, and with dead ones, whose reset waits for a pin.
    std::uint64_t pinned_dead = 0;
    // Number of full zones that are nearly dead, and whose live bytes can be moved.
    std::uint64_t nearly_dead = 0;
  };

  explicit ZoneTable(std::size_t count) : zones_(count) {}

  std::size_t size() const { return zones_.size(); }
  bool Has(ZoneId zone) const { return zone.value < zones_.size(); }
  const ZoneState& operator[](ZoneId zone) const {
    ++visits_;
    return zones_[zone.value];
  }
  // Like operator[], but not counted as a visit; for checks.
  const ZoneState& Peek(ZoneId zone) const { return zones_[zone.value]; }
  // Calls change(ZoneState&) and updates the totals.
  template <typename F>
  void Change(ZoneId zone, F&& change) {
    ++visits_;
    ZoneState& state = zones_[zone.value];
    Count(state, -1);
    change(state);
    ZENFS_ASSERT(state.written <= state.capacity);
    ZENFS_ASSERT(state.granted == 0 || state.writer);
    Count(state, +1);
  }
  const Totals& totals() const { return totals_; }
  // Number of reads and changes of zones so far; tests use it to measure cost.
  std::uint64_t visits() const { return visits_; }

 private:
  void Count(const ZoneState& state, int sign);

  std::vector<ZoneState> zones_;
  Totals totals_;
  mutable std::uint64_t visits_ = 0;
};

}  // namespace zenfs
