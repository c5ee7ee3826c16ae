// The phases of the zones of the pool, from the report at mount to the reset (zone_manager.h has the diagram).
//
// Invariants
//   a reset is queued only for an unused zone, and begun only if the zone is still unused
//   between Start and the end of the mount, the invariants of zone_pool_parts.h hold after each call
//
// Ownership: the parts outlive it. Threads: not thread-safe; the owner locks.
// Cost: O(active zones) for calls that change the list of active zones, O(1) for the others, except AdoptReport and
// Start. Errors: none.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "device/zoned_device.h"
#include "zone/reset_queue.h"
#include "zone/zone_pool_parts.h"

namespace zenfs {

class ZonePhases {
 public:
  explicit ZonePhases(ZonePoolParts& parts) : parts_(parts) {}

  // --- mount ---
  void AdoptReport(std::span<const ZoneInfo> report, std::span<const ZoneId> metadata_zones);
  // Call after all adoptions: offers empty zones, activates partly written live zones, queues resets of garbage.
  void Start();

  // --- from empty to full ---
  // Precondition: there is an empty zone.
  ZoneId Activate();
  // Ends writes to the zone. If the zone may still be active in the device (`slot_free` is false), queues a finish.
  void EndZone(ZoneId zone, ZonePhase phase, bool slot_free);
  // Queues the finish of an active zone, so that it can become a victim. Returns false if the zone is not active, is
  // being written or has a job.
  bool FinishActive(ZoneId zone);
  void QueueFinish(ZoneId zone);
  // Number of zones filled in this mount.
  std::uint64_t filled() const { return filled_; }

  // --- metadata ---
  // Takes `count` empty zones for the metadata log, or none if data, log and copies could not do without them.
  std::vector<ZoneId> TakeForMetadata(std::size_t count);
  // Precondition: it was taken, and is empty.
  void ReturnFromMetadata(ZoneId zone);

  // --- from full to empty ---
  // Call this after a writer, a pin, a job or live bytes of the zone went away: reuses the zone if it is unused now.
  void Settle(ZoneId zone);
  // Queue resets for unused active zones: for all; for those where a reset is worth its wear; for the first of these.
  void ResetUnusedActives();
  void ResetWorthwhileActives();
  void ResetOneWorthwhileActive();
  // Cancels all queued resets and queues no more.
  void StopResets();

  // --- jobs ---
  // True if the next job is a reset, data was written during the last one, which slows writes down, and enough zones and
  // room are left.
  bool ResetsCanWait() const;
  // True if enough zones and room are left without the queued resets.
  bool HasRoom() const;
  // Call this instead of JobDone after the zone was finished and not reset: its slot is free, so the reset is queued again
  // and can wait.
  void PutOffReset(const ZoneJob& job);
  // Returns the next job that is still needed. Call JobDone before the next call.
  std::optional<ZoneJob> NextJob();
  void JobDone(const ZoneJob& job, const ZoneJobOutcome& outcome);

 private:
  void AdoptActive(std::vector<ZoneId> zones);
  bool IsUnusedActive(ZoneId zone) const;
  bool IsWorthAReset(ZoneId zone) const;
  void QueueReset(ZoneId zone);
  void UnqueueReset(ZoneId zone);
  void DropFromActive(ZoneId zone);

  ZonePoolParts& parts_;
  std::uint64_t filled_ = 0;
  std::uint64_t written_before_job_ = 0;
  bool wrote_during_reset_ = false;
};

}  // namespace zenfs
