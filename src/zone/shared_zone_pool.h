// The zone pool under its lock, with the waits for a change of it. The parts of the zone manager and the tokens of
// writers and readers share it.
//
// Invariant: after each change of the pool that a waiter may wait for, its maker calls Announce before it releases the
// lock.
//
// Ownership: the device outlives it; it outlives all tokens.
// Threads: `mutex` guards the pool and is a leaf. No device command is sent while it is held.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "base/clock.h"
#include "base/mutex.h"
#include "base/status.h"
#include "device/zoned_device.h"
#include "zone/zone_pool.h"

namespace zenfs {

struct SharedZonePool {
  SharedZonePool(ZonedDevice& pool_device, const ZonePoolSetup& pool_setup, std::span<const ZoneInfo> report,
                 std::span<const ZoneId> metadata_zones);

  // Wakes the threads that wait for a change of the pool.
  void Announce() REQUIRES(mutex);
  // Wakes the background thread if it has a job.
  void AnnounceJobs() REQUIRES(mutex);
  // True if resets can wait, and nobody waits for them.
  bool ResetsCanWait() const REQUIRES(mutex);
  // True if nobody waits for a zone and enough are empty, so that a zone of the log that readers use may be finished and then
  // rest.
  bool MayFinishInstead() const REQUIRES(mutex);
  // True if besides there are resets, and all can wait, so that zones that readers use may rest.
  bool MayRest() const REQUIRES(mutex);
  // `taken` has no zone. Waits once for a change, after which the caller tries again, or returns the error that `taken`
  // and the deadline imply: kNoSpace, or kTimedOut.
  Status WaitFor(const TakenZone& taken, Deadline deadline) REQUIRES(mutex);
  // Waits until no job is queued or running. Returns false at the deadline or after Stop.
  bool WaitForJobs(Deadline deadline) REQUIRES(mutex);
  // Ends all waits, now and later.
  void Stop() EXCLUDES(mutex);
  // The error of calls after Stop.
  std::unexpected<Error> Stopped() const;

  ZonedDevice& device;
  const ZonePoolSetup setup;
  mutable Mutex mutex{LockRank::kVolumeLeaf};
  CondVar changed;  // for writers that wait for a zone, and for WaitForJobs
  CondVar work;     // for the background thread
  CondVar need;     // for the collector
  ZonePool pool GUARDED_BY(mutex);
  std::uint32_t waiters GUARDED_BY(mutex) = 0;  // on `changed`
  bool collector_waits GUARDED_BY(mutex) = false;
  bool operations_pause GUARDED_BY(mutex) = false;  // between two resets
  // While the background thread lets all zones rest: ResetQueue::pushed when it began.
  std::optional<std::uint64_t> operations_rest GUARDED_BY(mutex);
  bool stopped GUARDED_BY(mutex) = false;

 private:
  std::unexpected<Error> NoSpace() const REQUIRES(mutex);
};

}  // namespace zenfs
