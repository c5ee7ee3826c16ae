// All decisions about zones, without locks, device commands and waits: who writes which zone, which bytes of a zone somebody needs,
// how a zone becomes full and empty again (zone_manager.h has the diagram), and when the collector must make room. ZoneManager calls
// it under its mutex; tests and bench/space use it without a device.
//
// Mount: adopt the log zones and the extents, then call Start.
//
// Data: AllocateData follows this order: the claimed zone, if it has room, or a wait for another file's write there; then the order
// of ChooseZone; then a wait, while a reset, a finish, a writer or reclaim may make room; otherwise no space. Before all of this, data
// waits if its write would take from the headroom.
//
// Invariants; from Start on, the first six hold after each call (Check)
//   the list of active zones contains exactly the zones in phase kActive; each holds a slot and has room, unless the mount is
//   read-only
//   a zone holds a slot only if it is active, its reset or finish is queued or running, or it came from the log
//   a zone in phase kDead has a reset queued or running
//   a zone has at most one writer; its zone is active, or filled or retired by it, and no reset of it is queued
//   the sums of the parts agree with the table
//   uncommitted bytes are 0 while a zone has no pin
//   a reset is queued only for an unused zone, and begun only if the zone is still unused; a zone whose live count was wrong is never
//   reset
//   the live bytes of a zone are the sum of OccupiedBytes of the extents that were adopted or added and not removed
//   data never gets the last `headroom` bytes of room, so the live data of any one zone, or of a group of log zones, can always be
//   moved; outside a mount the log takes a zone only if the headroom stays whole; on its own device, only if one more zone is empty
//   a zone in phase kLog is written by the log only; the pool does not know its written bytes
//
// Threads: not thread-safe. Units: bytes. Cost: O(active zones) for AllocateData and calls that change the list of active zones, O(1)
// for the others and for each extent, except the constructor, Start, Zones and Check.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/status.h"
#include "device/zoned_device.h"
#include "model/file_record.h"
#include "model/lifetime.h"
#include "zone/placement.h"
#include "zone/reclaim_demand.h"
#include "zone/reset_finish_queue.h"
#include "zone/space_account.h"
#include "zone/zone_allocation.h"
#include "zone/zone_limits.h"
#include "zone/zone_states.h"

namespace zenfs {

class ZonePool {
 public:
  struct Setup {
    Geometry geometry;
    SlotPlan plan;
    EmptyZones::LogShare log;
    std::uint64_t headroom = 0;  // bytes that only copies may take
    bool read_only = false;
    bool reclaims = false;  // a collector acts on ReclaimDemand::Need
    const PlacementPolicy* placement = DefaultPlacement();
  };
  static constexpr std::uint64_t kNoLimit = ~std::uint64_t{0};
  // After the device refused to activate another zone, no zone is opened for this time.
  static constexpr std::chrono::milliseconds kBusyPause{20};

  // `report` covers all zones.
  ZonePool(const Setup& setup, std::span<const ZoneInfo> report, std::span<const ZoneId> metadata_zones);
  ZonePool(const ZonePool&) = delete;  // the parts refer to each other
  ZonePool& operator=(const ZonePool&) = delete;

  // --- mount ---
  // The log holds `zone`.
  void AdoptLogZone(ZoneId zone);
  // A zone gets the lifetime of its first adopted extent, by place.
  void AdoptExtent(const Extent& extent, Lifetime lifetime);
  // Offers empty zones, activates partly written live zones, queues resets of garbage.
  void Start();

  // --- allocation for data and copies ---
  // Chooses a zone, moves the claim to it and begins its writer. Data gets room for all of `wanted` bytes promised
  // first, at most a zone, so that it does not wait again when it is partly written. The writer gets room for at most
  // `most` bytes; the rest stays promised.
  ZoneAllocation AllocateData(ClaimState& claim, Lifetime lifetime, WritePurpose purpose, SteadyTime now,
                              std::uint64_t wanted = 0, std::uint64_t most = kNoLimit);
  // The writer wrote `bytes`. Adds a pin to the zone, which the caller must drop with Unpin.
  void Wrote(ZoneId zone, std::uint64_t bytes);
  // A write failed with `code`; `info` is the zone report after it. Returns the code for the caller of the writer:
  // kZoneFull, kBusy if nothing was written, or, if the zone was retired, `code` with kBusy replaced by kIo.
  Code WriteFailed(ZoneId zone, Code code, const std::optional<ZoneInfo>& info, SteadyTime now);
  void ReleaseWriter(ZoneId zone);
  // Gives up the claim on the zone and the promised room; or only the room.
  void ReleaseClaim(ClaimState& claim);
  void ReleasePromise(ClaimState& claim);

  // --- allocation for the log ---
  // Allocates an empty zone, also one that is kept for the log. Unless it mounts, the log waits for reclaim like data.
  ZoneAllocation AllocateLogZone(LogZonePurpose purpose);
  // Allocates up to `most` more zones, for one group: as many as data can do without, and as the headroom stays whole.
  std::vector<ZoneId> AllocateMoreLogZones(std::size_t most);
  // The zone is reset once it is unused. Does nothing if the log does not hold it.
  void ReleaseLogZone(ZoneId zone);
  // The log begins or ends to wait for a zone that it needs now: then data leaves one for it.
  void LogWaits(bool begins) { LogEmpty().LogWaits(begins); }
  // Reduces the log's share to what it can't do without. Returns false if it is reduced already. A log on its own device has
  // nothing here.
  bool ReduceLogShare() { return empty_.ReduceLogShare(); }

  // --- allocation for the metadata log ---
  // Allocates `count` empty zones, or none if data, log and copies could not do without them.
  std::vector<ZoneId> AllocateMetadataZones(std::size_t count);
  // Precondition: it was allocated to the metadata log, and is empty.
  void ReleaseMetadataZone(ZoneId zone);

  // --- the bytes that somebody needs ---
  void AddLive(std::span<const Extent> extents);
  // If this removes more bytes than are live in a zone, the zone counts as without live bytes, is never reset in this
  // mount, and health() reports corruption.
  void RemoveLive(std::span<const Extent> extents);
  void Pin(ZoneId zone);
  // True for the last pin of the zone: threads may wait for that.
  bool Unpin(ZoneId zone);
  // Not OK after RemoveLive removed more bytes than were live. Then nothing more may be written: the live counts of
  // other zones may be wrong too, so a reset could destroy live data.
  const Status& health() const { return health_; }

  // --- resets and finishes ---
  // Queues the finish of an active zone, so that it can become a victim. Returns false if the zone is not active, is
  // being written or has a job.
  bool FinishActive(ZoneId zone);
  // Queues resets for all unused active zones.
  void ResetUnusedActives();
  // Cancels all queued resets and queues no more.
  void StopResets();
  // Returns the next job that is still needed. Call JobDone or PutOffReset before the next call.
  std::optional<ZoneJob> NextJob();
  void JobDone(const ZoneJob& job, const ZoneJobOutcome& outcome);
  // Call this instead of JobDone after the zone was finished and not reset: its slot is free, so the reset is queued again
  // and can wait.
  void PutOffReset(const ZoneJob& job);
  // True if the next job is a reset, data was written during the last one, which slows writes down, and enough zones and
  // room are left.
  bool ResetsCanWait() const;
  // True if enough zones and room are left without the queued resets, also for a log on its own device, which is small.
  bool HasRoomToRest() const { return (!log_apart() || log_empty_.size() > 1) && HasRoom(); }
  ResetQueue& jobs() { return jobs_; }
  const ResetQueue& jobs() const { return jobs_; }

  // --- the collector ---
  ReclaimDemand& demand() { return demand_; }
  const ReclaimDemand& demand() const { return demand_; }

  // --- reports ---
  SpaceReport Space() const { return account_.Report(log_apart()); }
  ZoneStatus Zone(ZoneId zone) const;
  std::vector<ZoneStatus> Zones() const;
  // Descriptions of all broken invariants; empty if all hold.
  std::vector<std::string> Check() const;
  // True for two joined devices: the log has zones and slots of its own.
  bool log_apart() const { return setup_.geometry.log_zones != 0; }
  const ZoneTable& table() const { return table_; }
  const std::vector<ZoneId>& active() const { return active_; }
  const SlotBudget& slots() const { return slots_; }
  const SlotBudget& log_slots() const { return log_slots_; }
  const EmptyZones& empty() const { return empty_; }
  const EmptyZones& log_empty() const { return log_empty_; }
  const SpaceAccount& account() const { return account_; }

 private:
  void AdoptReport(std::span<const ZoneInfo> report, std::span<const ZoneId> metadata_zones);
  void AdoptActive(std::vector<ZoneId> zones);
  ZoneAllocation BeginWriter(ZoneId zone, ClaimState& claim, Lifetime lifetime, WritePurpose purpose,
                             std::uint64_t most);
  void LeaveZone(ClaimState& claim);
  EmptyZoneUse UseOfEmpty(WritePurpose purpose, SteadyTime now) const;
  // Data may not write a block. NoBlock also ends the promise of the claim.
  ZoneAllocation NoBlock(ClaimState& claim);
  ZoneAllocation NoRoom();
  // No active zone can be used, now or after a writer ends.
  ZoneAllocation NothingUsable(const ClaimState& claim, WritePurpose purpose, SteadyTime now) const;
  ZoneId NewLogZone(EmptyZones& empty);
  void Distrust(ZoneId zone, std::uint64_t bytes);
  // Precondition: there is an empty zone.
  ZoneId Activate();
  // Ends writes to the zone. If the zone may still be active in the device (`slot_free` is false), queues a finish.
  void EndZone(ZoneId zone, ZonePhase phase, bool slot_free);
  // Call this after a writer, a pin, a job or live bytes of the zone went away: reuses the zone if it is unused now.
  void Settle(ZoneId zone);
  bool IsUnusedActive(ZoneId zone) const;
  bool IsWorthAReset(ZoneId zone) const;
  // Queue resets for unused active zones where a reset is worth its wear: for all; for the first one.
  void ResetWorthwhileActives();
  void ResetOneWorthwhileActive();
  void QueueFinish(ZoneId zone);
  void QueueReset(ZoneId zone);
  void UnqueueReset(ZoneId zone);
  void DropFromActive(ZoneId zone);
  // True if enough zones and room are left without the queued resets.
  bool HasRoom() const;
  EmptyZones& EmptyOf(ZoneId zone) { return setup_.geometry.OnLogDevice(zone) ? log_empty_ : empty_; }
  SlotBudget& SlotsOf(ZoneId zone) { return setup_.geometry.OnLogDevice(zone) ? log_slots_ : slots_; }
  EmptyZones& LogEmpty() { return log_apart() ? log_empty_ : empty_; }
  // For assertions: returns true, or ends the process with the broken invariant. Checks the active zones; if the
  // number of calls is a power of two, also all zones.
  bool Sound() const;

  const Setup setup_;
  ZoneTable table_;
  SlotBudget slots_;
  EmptyZones empty_;
  // The log's own, if log_apart(): zones that the log released and that wait for a finish or a reset hold its slots.
  SlotBudget log_slots_;
  EmptyZones log_empty_{{.spare = EmptyZones::kSpareForMount}};
  std::vector<ZoneId> active_;
  ResetQueue jobs_;
  SpaceAccount account_;
  ReclaimDemand demand_;
  Status health_;
  SteadyTime open_again_at_ = SteadyTime::min();
  std::uint64_t filled_ = 0;        // number of zones filled in this mount
  std::uint64_t data_written_ = 0;  // bytes in this mount
  std::uint64_t written_before_job_ = 0;
  bool wrote_during_reset_ = false;
  bool started_ = false;  // by Start; the invariants hold from then on
  mutable std::uint64_t sound_calls_ = 0;
};

}  // namespace zenfs
