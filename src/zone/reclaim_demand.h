// The demand for reclaim, and the collector's verdict: what the collector must do, and what a writer without room must
// do.
//
// Invariants
//   a verdict counts only for its version, and while no job is queued or running; one about a low need also for some
//   time
//   the version rises with each change of room or live bytes (NoteChange)
//
// Two joined devices have two demands with a verdict each: data needs zones of the main device, and the log those of the
// second one. Cleaning a log zone moves its live frames to the main device, so the log also needs room there.
//
// Ownership: the parts of the pool that it reads outlive it. Threads: not thread-safe; the owner locks. Errors: none.
#pragma once

#include <cstdint>
#include <optional>

#include "base/assert.h"
#include "base/clock.h"
#include "zone/reset_finish_queue.h"
#include "zone/space_account.h"
#include "zone/zone_allocation.h"
#include "zone/zone_states.h"

namespace zenfs {

enum class ReclaimUrgency : std::uint8_t {
  kTidy,    // log zones or data zones are nearly dead
  kLow,     // few empty zones are left
  kAhead,   // writers will have to wait soon
  kUrgent,  // writers wait, or the headroom is not whole
};

// The zones that may become victims.
enum class VictimZones : std::uint8_t {
  kAll,
  // Two joined devices: a reset returns room only to the log, or only to data.
  kLog,  // their live frames move to the main device, and leave its headroom whole
  kData,
};

struct ReclaimNeed {
  ReclaimUrgency urgency = ReclaimUrgency::kLow;
  std::uint64_t room = 0;      // bytes of room for copies now
  std::uint64_t headroom = 0;  // bytes of room that copies should have
  std::uint64_t version = 0;   // of the pool, raised by each change of room or live bytes
  VictimZones victims = VictimZones::kAll;

  bool headroom_whole() const { return room >= headroom; }
};

// The result of a search that found no victim.
struct ReclaimVerdict {
  std::uint64_t version = 0;  // of the need; the next change voids the verdict
  ReclaimUrgency urgency = ReclaimUrgency::kLow;
  VictimZones victims = VictimZones::kAll;
  // Some zone is no victim only because it is busy, pinned or uncommitted now.
  bool pending = false;
  // Some zone is no victim only because its copies do not fit the room.
  bool lacks_room = false;
  // Until then it also answers later needs that are low, whatever has changed: a search looks at all zones, and on a device
  // with many of them each write would cause one.
  SteadyTime until = SteadyTime::min();
};

class ReclaimDemand {
 public:
  struct Deps {
    const ZoneTable& table;
    const EmptyZones& empty;
    const EmptyZones* log_empty = nullptr;  // the log's own zones; null if it has none
    const SpaceAccount& room;
    const ResetQueue& jobs;
    bool reclaims = false;  // a collector acts on Need()
  };
  explicit ReclaimDemand(const Deps& deps) : deps_(deps) {}

  // --- writers ---
  // A writer begins or ends to wait for reclaim. `outcome`: that of its request.
  void WaitsForReclaim(AllocationOutcome outcome, bool begins) {
    int& waiting = outcome == AllocationOutcome::kWaitForLogReclaim ? log_waiting_ : waiting_;
    waiting += begins ? 1 : -1;
    ZENFS_ASSERT(waiting >= 0);
  }
  // Returns what a writer that finds no room must do: wait, or, if nothing can be freed, fail with no space.
  // `own_promise`: bytes promised to this writer itself; it must not wait for them.
  AllocationOutcome AfterReclaim(WritePurpose purpose, std::uint64_t own_promise = 0) const;
  // The same for the log, if it has zones of its own and none is empty.
  AllocationOutcome AfterLogReclaim() const;

  // --- the collector ---
  // Returns nullopt if space is not short, or if the present verdict answers the need.
  std::optional<ReclaimNeed> Need() const;
  // True if writers wait, or will have to soon, and something may be done about it.
  bool Presses() const;
  void SetVerdict(const ReclaimVerdict& verdict) {
    (verdict.victims == VictimZones::kLog ? log_verdict_ : verdict_) = verdict;
    if (verdict.victims != VictimZones::kData) tidy_asked_ = false;
  }
  // Discards verdicts with `pending`: the pending space may be free now.
  void ForgetPendingVerdict();
  // Asks the collector to clean log zones although space is not short.
  void AskToTidy() { tidy_asked_ = true; }
  // From now on, nearly dead data zones are emptied although space is not short. A mount needs all room for what it
  // recovers, so it calls this at its end.
  void TidyData() {
    tidies_data_ = true;
    NoteChange();  // what was recovered can be moved now
  }

  // Room or live bytes changed, or a change outside the pool may have created a victim. Voids the verdict.
  void NoteChange() { ++version_; }

 private:
  using Verdict = std::optional<ReclaimVerdict>;

  bool log_apart() const { return deps_.log_empty != nullptr; }
  std::optional<ReclaimUrgency> Urgency() const;
  std::optional<ReclaimUrgency> LogUrgency() const;
  std::optional<ReclaimNeed> LogNeed() const;
  std::optional<ReclaimNeed> DataNeed() const;
  // True if the log waits, and only room on the main device would help it.
  bool LogNeedsRoom() const;
  bool Holds(const Verdict& verdict, ReclaimUrgency urgency) const;
  // True if an urgent search has found nothing, and nothing is pending.
  bool NothingComes(const Verdict& verdict) const;

  const Deps deps_;
  int waiting_ = 0;      // writers of data; also those of the log unless it is apart
  int log_waiting_ = 0;  // writers of the log, if it is apart
  std::uint64_t version_ = 0;
  Verdict verdict_;
  Verdict log_verdict_;
  bool tidy_asked_ = false;
  bool tidies_data_ = false;
};

}  // namespace zenfs
