// The state machine of ZoneManager: all decisions about zones, without locks, device commands and waits.
//
// Invariants
//   active_ contains exactly the zones in phase kActive; each holds a slot and has room
//   a zone holds a slot only if it is active, its reset or finish is queued or running, or it came from the log
//   a zone in phase kDead has a reset queued or running
//   TakeForData costs O(active zones); all other calls cost O(1), except Start, Zones and Check
//   data and log never get the last `headroom` bytes of room, so the live data of any one zone can always be moved
//   a verdict of no space counts only for its version of the pool, and while no job is queued or running
//
// Threads: not thread-safe; ZoneManager calls it under its mutex.
#pragma once

#include <deque>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "base/assert.h"
#include "base/clock.h"
#include "base/status.h"
#include "device/zoned_device.h"
#include "model/file_record.h"
#include "zone/placement.h"
#include "zone/reclaim_need.h"
#include "zone/slot_plan.h"
#include "zone/space_report.h"
#include "zone/zone_operations.h"
#include "zone/zone_table.h"

namespace zenfs {

class ZonePool {
 public:
  // After the device refused to activate another zone, no zone is opened for this time.
  static constexpr std::chrono::milliseconds kBusyPause{20};

  struct Setup {
    Geometry geometry;
    SlotPlan plan;
    std::uint32_t reserved_for_log = 0;
    std::uint32_t log_in_use = 0;
    std::uint64_t headroom = 0;  // bytes that only copies may take
    bool read_only = false;
    bool reclaims = false;  // a collector acts on NeedOfReclaim
  };

  ZonePool(const Setup& setup, std::span<const ZoneInfo> report, std::span<const ZoneId> metadata_zones);

  // --- mount ---
  void AdoptLogZone(ZoneId zone);
  void AdoptExtent(const Extent& extent, Lifetime lifetime);
  // Call after all adoptions: offers empty zones, activates partly written live zones, queues resets of garbage.
  void Start();

  // --- data ---
  struct Claim {
    ZoneId zone;
    std::uint32_t incarnation = 0;
    bool held = false;
    std::uint64_t promised = 0;  // bytes of room that no other writer of data gets
  };
  enum class Outcome {
    kTaken,
    kWait,            // for a writer, a job, or retry_at
    kWaitForReclaim,  // until the collector frees space or gives a verdict
    kWaitForPins,     // without a collector: only pinned zones could be freed
    kNoSpace,
  };
  struct Taken {
    Outcome outcome = Outcome::kNoSpace;
    ZoneId zone;
    std::uint64_t written = 0;
    std::uint64_t room = 0;
    SteadyTime retry_at = SteadyTime::max();
  };
  // Chooses a zone, moves the claim to it and takes its writer. Data gets room for all of `wanted` bytes promised
  // first, at most the headroom, so that it does not wait again when it is partly written.
  Taken TakeForData(Claim& claim, Lifetime lifetime, WritePurpose purpose, SteadyTime now,
                    std::uint64_t wanted = 0);
  // Gives up the claim on the zone and the promised room.
  void Unclaim(Claim& claim);
  void TakeBackPromise(Claim& claim);
  // The writer wrote `bytes`. Adds a pin to the zone, which the caller must drop with Unpin.
  void Wrote(ZoneId zone, std::uint64_t bytes);
  // A write failed with `code`; `info` is the zone report after it. Returns the code for the caller of the writer:
  // kZoneFull, kBusy if nothing was written, or, if the zone was retired, `code` with kBusy replaced by kIo.
  Code WriteFailed(ZoneId zone, Code code, const std::optional<ZoneInfo>& info, SteadyTime now);
  void EndWriter(ZoneId zone);

  // --- log ---
  // `borrow`: may take from the headroom.
  Taken TakeForLog(bool borrow);
  void ReturnLogZone(ZoneId zone);

  // --- accounting ---
  void AddLive(std::span<const Extent> extents);
  // If this removes more bytes than are live in a zone, the zone counts as without live bytes, is never reset in this
  // mount, and health() reports corruption.
  void RemoveLive(std::span<const Extent> extents);
  void Pin(ZoneId zone);
  void Unpin(ZoneId zone);

  // --- reclaim ---
  // A writer begins or ends to wait for reclaim.
  void WaitsForReclaim(bool begins) {
    waiting_for_reclaim_ += begins ? 1 : -1;
    ZENFS_ASSERT(waiting_for_reclaim_ >= 0);
  }
  std::optional<ReclaimNeed> NeedOfReclaim() const;
  std::uint64_t RoomForCopies() const;
  // Returns what a writer that finds no room must do: wait, or, if nothing can be freed, fail with no space.
  // `own_promise`: bytes promised to this writer itself; it must not wait for them.
  Taken AfterReclaim(WritePurpose purpose, std::uint64_t own_promise = 0) const;
  void SetVerdict(const ReclaimVerdict& verdict) {
    verdict_ = verdict;
    tidy_asked_ = false;
  }
  // Discards a verdict with `pending`: the pending space may be free now.
  void ForgetPendingVerdict();
  // Asks the collector to clean log zones although space is not short.
  void AskToTidy() { tidy_asked_ = true; }
  // Voids the verdict: a change outside the pool may have created a victim.
  void NoteChange() { ++version_; }
  // Queues the finish of an active zone, so that it can become a victim. Returns false if the zone is not active, is
  // being written or has a job.
  bool FinishActive(ZoneId zone);

  // --- background work ---
  // Cancels all queued resets and queues no more.
  void StopResets();
  bool HasJob() const { return !jobs_.empty(); }
  bool Idle() const { return jobs_.empty() && !job_running_; }
  // Returns the next job that is still needed. Call JobDone before the next call.
  std::optional<ZoneJob> NextJob();
  void JobDone(const ZoneJob& job, const ZoneJobOutcome& outcome);
  // Queues resets for all unused active zones, even if they are hardly written.
  void ResetDeadActives();

  // --- inspection ---
  SpaceReport Space() const;
  ZoneStatus Zone(ZoneId zone) const;
  std::vector<ZoneStatus> Zones() const;
  std::size_t empty_zones() const { return empty_.size(); }
  std::uint32_t slots_used() const { return slots_used_; }
  std::uint32_t writers() const { return writers_; }
  const ZoneTable& table() const { return table_; }
  // Descriptions of all broken invariants. Costs O(all zones).
  std::vector<std::string> Check() const;
  // Not OK after RemoveLive removed more bytes than were live. Then nothing more may be written: the live counts of
  // other zones may be wrong too, so a reset could destroy live data.
  const Status& health() const { return health_; }

 private:
  struct Candidate {
    ZoneId zone;
    Match match = Match::kPoor;
    bool busy = false;
    std::uint32_t claims = 0;
    std::uint64_t room = 0;
  };
  struct Candidates {
    std::optional<Candidate> free;     // claimed by nobody
    std::optional<Candidate> claimed;  // by other files
  };
  Candidates FindActive(Lifetime lifetime) const;
  bool HasSlot(WritePurpose purpose) const;
  bool MayOpenZone(WritePurpose purpose, SteadyTime now) const;
  ZoneId OpenEmpty(Lifetime lifetime);
  Taken Take(ZoneId zone, Claim& claim, Lifetime lifetime, WritePurpose purpose);
  // Promises room for `wanted` bytes. Returns false if there is too little room and nothing was promised before.
  bool Promise(Claim& claim, std::uint64_t wanted);
  void VoidPromise(Claim& claim) {
    ZENFS_ASSERT(promised_ >= claim.promised);
    promised_ -= std::exchange(claim.promised, 0);
  }
  void LeaveZone(Claim& claim);
  Taken NothingUsable(const Claim& claim, WritePurpose purpose, SteadyTime now) const;
  Taken NoRoomForData();
  std::optional<ReclaimUrgency> Urgency() const;
  bool VerdictHolds(ReclaimUrgency urgency) const;
  std::uint64_t MeanZone() const;
  // True if copies can still take the headroom. Tolerates one block, because MeanZone is rounded.
  bool HeadroomIsFree() const { return RoomForCopies() + setup_.geometry.block_size >= setup_.headroom; }
  std::uint64_t RoomBesideLog() const;
  std::uint64_t RoomFor(const Claim& claim) const;
  static Taken Untaken(Outcome why) { return {why, {}, 0, 0, SteadyTime::max()}; }
  void ResetOneIfShort();

  void AdoptActive(std::vector<ZoneId> zones);
  void Settle(ZoneId zone);
  void QueueReset(ZoneId zone);
  void UnqueueReset(ZoneId zone);
  void QueueFinish(ZoneId zone);
  void EndZone(ZoneId zone, ZonePhase phase, bool slot_free);
  void DropFromActive(ZoneId zone);
  // For assertions: returns true, or ends the process with the broken invariant. Checks the active zones; if the
  // number of calls is a power of two, also all zones.
  bool Sound() const;
  void HoldSlot(ZoneState& state);
  void FreeSlot(ZoneState& state);
  void Distrust(ZoneId zone, std::uint64_t bytes);
  // True if data may take one of `empty` empty zones.
  bool HasSpare(std::size_t empty) const { return empty > KeptForLog(); }
  // Number of empty zones that data may not take: the reserve, and the zones that the log is short of.
  std::size_t KeptForLog() const {
    return setup_.reserved_for_log + (setup_.log_in_use > log_zones_ ? setup_.log_in_use - log_zones_ : 0);
  }

  const Setup setup_;
  ZoneTable table_;
  std::uint32_t log_zones_ = 0;  // lent to the log
  std::deque<ZoneId> empty_;     // taken from the front, returned at the back, to spread wear
  std::vector<ZoneId> active_;
  std::deque<ZoneJob> jobs_;
  std::size_t pending_resets_ = 0;  // queued and running
  bool job_running_ = false;
  bool started_ = false;
  bool resets_stopped_ = false;
  std::uint32_t slots_used_ = 0;
  std::uint32_t writers_ = 0;
  std::uint64_t granted_ = 0;   // bytes granted to all writers of data
  std::uint64_t promised_ = 0;  // bytes promised to claims, not granted yet
  std::uint64_t filled_ = 0;    // zones filled in this mount
  int waiting_for_reclaim_ = 0;
  std::uint64_t version_ = 0;  // raised by each change of room or live bytes
  std::optional<ReclaimVerdict> verdict_;
  bool tidy_asked_ = false;
  SteadyTime open_again_at_ = SteadyTime::min();
  Status health_;
  mutable std::uint64_t sound_calls_ = 0;
};

}  // namespace zenfs
