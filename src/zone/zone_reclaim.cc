#include "zone/zone_reclaim.h"

namespace zenfs {

std::optional<ReclaimNeed> ZoneReclaim::AwaitNeed(Deadline deadline) {
  MutexLock lock(shared_.mutex);
  ReclaimDemand& demand = shared_.pool.reclaim();
  shared_.collector_waits = true;
  std::optional<ReclaimNeed> need;
  bool in_time = true;
  while (!shared_.stopped && in_time && !(need = demand.Need())) {
    in_time = shared_.need.WaitUntil(shared_.mutex, deadline);
  }
  shared_.collector_waits = false;
  if (!need) {
    demand.ForgetPendingVerdict();
    need = demand.Need();
  }
  return shared_.stopped ? std::nullopt : need;
}

bool ZoneReclaim::presses() const {
  MutexLock lock(shared_.mutex);
  return shared_.pool.reclaim().Presses();
}

void ZoneReclaim::SetVerdict(const ReclaimVerdict& verdict) {
  MutexLock lock(shared_.mutex);
  shared_.pool.reclaim().SetVerdict(verdict);
  shared_.Announce();
}

bool ZoneReclaim::YieldLogZone() {
  MutexLock lock(shared_.mutex);
  const bool yields = shared_.pool.YieldLogZone();  // a log on its own device has nothing here
  shared_.Announce();
  return yields;
}

void ZoneReclaim::AskToTidy() {
  MutexLock lock(shared_.mutex);
  shared_.pool.reclaim().AskToTidy();
  shared_.Announce();
}

void ZoneReclaim::TidyData() {
  MutexLock lock(shared_.mutex);
  shared_.pool.reclaim().TidyData();
  shared_.Announce();
}

void ZoneReclaim::NoteChange() {
  MutexLock lock(shared_.mutex);
  shared_.pool.reclaim().NoteChange();
  shared_.Announce();
}

bool ZoneReclaim::FinishActive(ZoneId zone) {
  MutexLock lock(shared_.mutex);
  const bool finishes = shared_.pool.phases().FinishActive(zone);
  shared_.Announce();
  return finishes;
}

ZonePin ZoneReclaim::PinVictim(ZoneId zone) {
  if (zone.value >= shared_.setup.geometry.zone_count) return {};
  MutexLock lock(shared_.mutex);
  const ZonePhase phase = shared_.pool.Zone(zone).phase;
  if (phase == ZonePhase::kEmpty || phase == ZonePhase::kDead) return {};
  shared_.pool.live().Pin(zone);
  return ZonePin(&shared_, zone);
}

bool ZoneReclaim::stopped() const {
  MutexLock lock(shared_.mutex);
  return shared_.stopped;
}

}  // namespace zenfs
