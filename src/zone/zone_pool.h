// The state machine behind ZoneManager: every decision about zones, without a lock, a device or a wait.
//
// Invariants
//   active_ holds exactly the zones in phase kActive; each holds a slot and has room
//   a slot is held by an active zone, or by one whose reset or finish is queued or running; by nothing else
//   a zone in phase kDead has a reset queued or running
//   TakeForData costs O(active zones); everything else O(1) but Start and Zones
//   neither data nor the log is granted the last `headroom` bytes, so the live data of any one zone can always be moved
//   a verdict of no space holds only for the version of the pool that it was made of, and with no job under way
//
// Threads: none of its own; ZoneManager calls it under its mutex.
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
  // After a device said that it has no slot for one more active zone, none is opened for this long.
  static constexpr std::chrono::milliseconds kBusyPause{20};

  struct Setup {
    Geometry geometry;
    SlotPlan plan;
    std::uint32_t reserved_for_log = 0;
    std::uint32_t log_in_use = 0;
    std::uint64_t headroom = 0;  // bytes that only copies may take
    bool read_only = false;
    bool reclaims = false;  // somebody answers NeedOfReclaim
  };

  ZonePool(const Setup& setup, std::span<const ZoneInfo> report, std::span<const ZoneId> metadata_zones);

  // --- mount ---
  void AdoptLogZone(ZoneId zone);
  void AdoptExtent(const Extent& extent, Lifetime lifetime);
  // Everything has been adopted: empty zones may be taken, partly written ones are active, garbage is reset.
  void Start();

  // --- data ---
  struct Claim {
    ZoneId zone;
    std::uint32_t incarnation = 0;
    bool held = false;
    std::uint64_t promised = 0;  // room that no other writer of data gets
  };
  enum class Outcome {
    kTaken,
    kWait,            // for a writer, a job, or retry_at
    kWaitForReclaim,  // until live data has been moved together, or reclaim has found that nothing can be
    kWaitForPins,     // nobody reclaims, and only zones that somebody still reads could be freed
    kNoSpace,
  };
  struct Taken {
    Outcome outcome = Outcome::kNoSpace;
    ZoneId zone;
    std::uint64_t written = 0;
    std::uint64_t room = 0;
    SteadyTime retry_at = SteadyTime::max();
  };
  // Chooses a zone, moves the claim there and gives out its writer. Data that is to write `wanted` bytes, in several zones
  // perhaps, is promised room for all of them first (at most a zone's), so that it does not wait with a part written.
  Taken TakeForData(Claim& claim, Lifetime lifetime, WritePurpose purpose, SteadyTime now,
                    std::uint64_t wanted = 0);
  // Gives up the zone and what was promised.
  void Unclaim(Claim& claim);
  void TakeBackPromise(Claim& claim);
  // The writer wrote `bytes`, which the caller gets pinned.
  void Wrote(ZoneId zone, std::uint64_t bytes);
  // The writer's write failed with `code`; `info` is the zone as reported afterwards. Returns the code for
  // the writer's caller: kZoneFull, kBusy (nothing happened), or `code` (kIo for kBusy) when the zone was retired.
  Code WriteFailed(ZoneId zone, Code code, const std::optional<ZoneInfo>& info, SteadyTime now);
  void EndWriter(ZoneId zone);

  // --- log ---
  // `borrow`: the headroom may be taken too.
  Taken TakeForLog(bool borrow);
  void ReturnLogZone(ZoneId zone);

  // --- accounting ---
  void AddLive(std::span<const Extent> extents);
  // If more bytes of a zone die than live, none lives, the zone is never reset, and health() says so from then on.
  void RemoveLive(std::span<const Extent> extents);
  void Pin(ZoneId zone);
  void Unpin(ZoneId zone);

  // --- reclaim ---
  // Somebody begins, or ends, to wait for reclaim.
  void WaitsForReclaim(bool begins) {
    waiting_for_reclaim_ += begins ? 1 : -1;
    ZENFS_ASSERT(waiting_for_reclaim_ >= 0);
  }
  std::optional<ReclaimNeed> NeedOfReclaim() const;
  std::uint64_t RoomForCopies() const;
  // What a writer that finds no room does: waits for reclaim, or, if reclaim has found nothing, gives up.
  // `own_promise`: what the writer was promised, which it does not wait for.
  Taken AfterReclaim(WritePurpose purpose, std::uint64_t own_promise = 0) const;
  void SetVerdict(const ReclaimVerdict& verdict) {
    verdict_ = verdict;
    tidy_asked_ = false;
  }
  // What was pending may be free now.
  void ForgetPendingVerdict();
  // Log zones have become worth cleaning although space is not short.
  void AskToTidy() { tidy_asked_ = true; }
  // Something outside the pool changed that may make a victim.
  void NoteChange() { ++version_; }
  // Finishes an active zone, so that it can be a victim. False if it is being written or not active.
  bool FinishActive(ZoneId zone);

  // --- background work ---
  // None is queued any more, and those that wait are not wanted.
  void StopResets();
  bool HasJob() const { return !jobs_.empty(); }
  bool Idle() const { return jobs_.empty() && !job_running_; }
  // The next job that is still wanted; JobDone follows, then the next.
  std::optional<ZoneJob> NextJob();
  void JobDone(const ZoneJob& job, const ZoneJobOutcome& outcome);
  // Queues resets for active zones with nothing live in them, however little they are written.
  void ResetDeadActives();

  // --- looking ---
  SpaceReport Space() const;
  ZoneStatus Zone(ZoneId zone) const;
  std::vector<ZoneStatus> Zones() const;
  std::size_t empty_zones() const { return empty_.size(); }
  std::uint32_t slots_used() const { return slots_used_; }
  std::uint32_t writers() const { return writers_; }
  const ZoneTable& table() const { return table_; }
  // Every invariant above that is broken, as sentences. Walks all zones; for tests and `check`.
  std::vector<std::string> Check() const;
  // Not OK once more bytes of a zone died than lived, see RemoveLive. Then nothing more may be written: what the pool
  // takes for dead in other zones may be live.
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
  // False if there is no room for what is wanted and nothing was promised before.
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
  // True if copies can still take the headroom. A block of tolerance: zones may differ in capacity, see MeanZone.
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
  // For assertions: true, or ends the process with the invariant that is broken. Walks the active zones; at every call
  // whose number is a power of two, all.
  bool Sound() const;
  void HoldSlot(ZoneState& state);
  void FreeSlot(ZoneState& state);
  void Distrust(ZoneId zone, std::uint64_t bytes);
  // Data may have one of so many empty zones.
  bool HasSpare(std::size_t empty) const { return empty > KeptForLog(); }
  // The reserve, and what the log will soon take because it always has that many.
  std::size_t KeptForLog() const {
    return setup_.reserved_for_log + (setup_.log_in_use > log_zones_ ? setup_.log_in_use - log_zones_ : 0);
  }

  const Setup setup_;
  ZoneTable table_;
  std::uint32_t log_zones_ = 0;  // lent to the log
  std::deque<ZoneId> empty_;     // taken from the front, returned at the back: wear is spread
  std::vector<ZoneId> active_;
  std::deque<ZoneJob> jobs_;
  std::size_t pending_resets_ = 0;  // queued and running
  bool job_running_ = false;
  bool started_ = false;
  bool resets_stopped_ = false;
  std::uint32_t slots_used_ = 0;
  std::uint32_t writers_ = 0;
  std::uint64_t granted_ = 0;   // to all writers of data
  std::uint64_t promised_ = 0;  // beside that, to claims
  std::uint64_t filled_ = 0;    // zones filled in this mount
  int waiting_for_reclaim_ = 0;
  std::uint64_t version_ = 0;  // raised by each change of room, or of what is live
  std::optional<ReclaimVerdict> verdict_;
  bool tidy_asked_ = false;
  SteadyTime open_again_at_ = SteadyTime::min();
  Status health_;
  mutable std::uint64_t sound_calls_ = 0;
};

}  // namespace zenfs
