// The demand for reclaim, and the collector's verdict: what the collector must do, and what a writer without room must
// do.
//
// Invariants
//   a verdict counts only for its version, and while no job is queued or running
//   the version rises with each change of room or live bytes (NoteChange)
//
// Ownership: the parts of the pool that it reads outlive it. Threads: not thread-safe; the owner locks. Errors: none.
#pragma once

#include <cstdint>
#include <optional>

#include "base/assert.h"
#include "zone/empty_zones.h"
#include "zone/reclaim_need.h"
#include "zone/room_account.h"
#include "zone/taken_zone.h"
#include "zone/zone_job_queue.h"
#include "zone/zone_table.h"

namespace zenfs {

class ReclaimDemand {
 public:
  // `reclaims`: a collector acts on Need().
  ReclaimDemand(const ZoneTable& table, const EmptyZones& empty, const RoomAccount& room,
                const ZoneJobQueue& jobs, bool reclaims)
      : table_(table), empty_(empty), room_(room), jobs_(jobs), reclaims_(reclaims) {}

  // --- writers ---
  // A writer begins or ends to wait for reclaim.
  void WaitsForReclaim(bool begins) {
    waiting_ += begins ? 1 : -1;
    ZENFS_ASSERT(waiting_ >= 0);
  }
  // Returns what a writer that finds no room must do: wait, or, if nothing can be freed, fail with no space.
  // `own_promise`: bytes promised to this writer itself; it must not wait for them.
  TakeOutcome AfterReclaim(WritePurpose purpose, std::uint64_t own_promise = 0) const;

  // --- the collector ---
  // Returns nullopt if space is not short, or if the present verdict answers the need.
  std::optional<ReclaimNeed> Need() const;
  void SetVerdict(const ReclaimVerdict& verdict) {
    verdict_ = verdict;
    tidy_asked_ = false;
  }
  // Discards a verdict with `pending`: the pending space may be free now.
  void ForgetPendingVerdict();
  // Asks the collector to clean log zones although space is not short.
  void AskToTidy() { tidy_asked_ = true; }

  // Room or live bytes changed, or a change outside the pool may have created a victim. Voids the verdict.
  void NoteChange() { ++version_; }

 private:
  std::optional<ReclaimUrgency> Urgency() const;
  bool VerdictHolds(ReclaimUrgency urgency) const;

  const ZoneTable& table_;
  const EmptyZones& empty_;
  const RoomAccount& room_;
  const ZoneJobQueue& jobs_;
  const bool reclaims_;
  int waiting_ = 0;  // writers
  std::uint64_t version_ = 0;
  std::optional<ReclaimVerdict> verdict_;
  bool tidy_asked_ = false;
};

}  // namespace zenfs
