// The zone manager as the collector sees it: the need for space, and the collector's answers.
//
// Ownership: `shared` outlives it. Threads: AwaitNeed from one thread; the other calls from any.
#pragma once

#include <optional>

#include "base/clock.h"
#include "base/mutex.h"
#include "zone/reclaim_demand.h"
#include "zone/shared_zone_pool.h"
#include "zone/zone_handles.h"

namespace zenfs {

class ZoneReclaim {
 public:
  explicit ZoneReclaim(SharedZonePool& shared) : shared_(shared) {}

  // Waits until space is short. The caller chooses victims from ZoneManager::Zones. At `deadline`, a verdict with
  // `pending` is discarded, and the present need is returned, if any. Returns nullopt after ZoneManager::Stop.
  [[nodiscard]] std::optional<ReclaimNeed> AwaitNeed(Deadline deadline) EXCLUDES(shared_.mutex);
  // True if writers wait for space, or will have to soon.
  bool presses() const EXCLUDES(shared_.mutex);
  // Records that no victim was found for a need. The need is not returned again until room or live bytes change. If it
  // was urgent and nothing is pending, waiting writers get kNoSpace.
  void SetVerdict(const ReclaimVerdict& verdict) EXCLUDES(shared_.mutex);
  // Lets data take the zones that are kept for the log beyond the least. Call this if no victim was found and the headroom is whole.
  // Returns false if nothing is left to yield.
  [[nodiscard]] bool YieldLogZone() EXCLUDES(shared_.mutex);
  // Wakes the collector to clean log zones although space is not short.
  void AskToTidy() EXCLUDES(shared_.mutex);
  // From now on the collector empties nearly dead data zones. Call this at the end of a mount.
  void TidyData() EXCLUDES(shared_.mutex);
  // Voids the verdict. Call this after the live frames of log zones changed, or after a file stopped being busy.
  void NoteChange() EXCLUDES(shared_.mutex);
  // Queues the finish of an active zone, so that it can become a victim. Returns false if the zone is not active, or is
  // being written.
  bool FinishActive(ZoneId zone) EXCLUDES(shared_.mutex);
  // Pins a victim while it is emptied. The pin is not valid if the zone died since it was chosen: then it may be reset at
  // this moment, and its next incarnation must not begin with a pin.
  [[nodiscard]] ZonePin PinVictim(ZoneId zone) EXCLUDES(shared_.mutex);
  // True after ZoneManager::Stop.
  bool stopped() const EXCLUDES(shared_.mutex);

 private:
  SharedZonePool& shared_;
};

}  // namespace zenfs
