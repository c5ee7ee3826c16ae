// Space management: the phase of each zone, the right to write a zone, and the live bytes in it.
//
// Phases of a data zone. Metadata zones belong to metalog/. Log zones are allocated to wal/ and follow the edits
// AllocateLogZones and ReleaseLogZones. Conventional zones are not used.
//
//   empty --AllocateData--> active --filled, finished, or ended by the device--> full
//     ^                       |                                                    |
//     |                       +------- no live bytes, no pins, no writer ----------+--> dead --reset--> empty
//     +---------------------------------------------------------------------------------------+
//   any --write or reset failed--> retired (still readable, never written again in this mount)
//
// The manager is the lock, the waits and the thread around ZonePool, which makes all decisions.
//
// Invariants
//   a zone is reset only when it has no live bytes, no pins and no writer (design rule 6)
//   active data zones <= plan.data, ZoneWriters <= plan.open_data; each one more for copies, if
//   plan.reclaim_has_slot()
//   AllocateData costs O(active zones), never O(all zones); a change of live bytes costs O(1)
//   after each change of the pool that somebody may wait for, its maker calls Announce before it releases the lock
//
// Threads: all calls are thread-safe, unless they say otherwise. The mutex is a leaf; no device command is sent while it is held. One
// background thread executes all resets and finishes.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/mutex.h"
#include "base/status.h"
#include "base/thread.h"
#include "device/zoned_device.h"
#include "model/file_record.h"
#include "model/lifetime.h"
#include "zone/zone_handles.h"
#include "zone/zone_pool.h"

namespace zenfs {

class State;

// The read-only mounts of this host. They can't hold a pin, so they are asked before a reset.
class ZoneReaders {
 public:
  virtual ~ZoneReaders() = default;
  // True if a living reader uses files in the zone. Costs one system call. Threads: any.
  virtual bool IsRead(ZoneId zone) const = 0;
  // The zone will be reset now: readers must not trust bytes that they read from now on. Threads: one.
  virtual void NoteReset(ZoneId zone) = 0;
};

class ZoneManager {
 public:
  struct Options {
    std::vector<ZoneId> metadata_zones;
    // Zones that the log needs. While it holds fewer, data leaves the difference empty, so that syncs still succeed when the
    // device is full. Those beyond the least are left to data when nothing else is left (ReduceLogShare).
    EmptyZones::LogShare log{.needs = 2, .least = 2};
    // A collector calls AwaitReclaimNeed. Then data and log wait for it when they find no room.
    bool reclaims = false;
    // Keep the capacity of this many zones as headroom for copies of live data: 0, or a group of log zones.
    std::uint32_t headroom = 0;
    bool read_only = false;  // no background thread, no resets
    const PlacementPolicy* placement = DefaultPlacement();
  };
  // A zone that a reader of this host uses rests for this time before its reset.
  static constexpr std::chrono::seconds kRest{60};

  // `report` covers all zones. `device` outlives the manager, and the manager its tokens.
  static Result<std::unique_ptr<ZoneManager>> Create(ZonedDevice& device, const SlotPlan& plan,
                                                     std::vector<ZoneInfo> report, Options options);
  ~ZoneManager();

  // --- mount: Adopt, then Start ---
  // Takes the log zones of the committed `state`, and counts the extents of its files as live. A zone gets the lifetime of the
  // file that has its first extent, by place. Call this at most once.
  void Adopt(const State& state) EXCLUDES(mutex_);
  // Call this before Start, if at all. `readers` outlives the thread.
  void SetReaders(ZoneReaders* readers) { readers_ = readers; }
  // Starts the background thread. Queues a reset for each written data zone without live bytes and pins. Keeps
  // partly written live zones active, at most plan.data of them, and queues a finish for the others.
  // Errors: those of Thread::Start; then nothing was started.
  [[nodiscard]] Status Start() EXCLUDES(mutex_);
  // Wakes all waiters, which fail with kShutdown, and joins the background thread after its current command. ZonePins
  // may outlive this call, but not the manager.
  void Stop() EXCLUDES(mutex_);
  bool stopped() const EXCLUDES(mutex_);

  // --- allocation for data ---
  // Returns the writer of a zone that fits `lifetime` and moves the claim to that zone. The claimed zone comes first
  // while it has room. Waits while zones are busy, resets are pending, or reclaim may still free space. Copies of
  // live data do not wait for reclaim.
  // `wanted`: bytes to write, in this zone and further ones. Data waits until there is room for all of them. This
  // room is then promised to the claim, so the write does not wait again when it is partly written.
  // `most`: the writer gets room for at most so many bytes, and what is left of the promise stays with the claim.
  // Errors: kNoSpace if nothing can be freed, or if reclaim or readers still keep all space at the deadline;
  // kTimedOut at the deadline otherwise; kShutdown after Stop; kReadOnly; the error of health().
  [[nodiscard]] Result<ZoneWriter> AllocateData(ZoneClaim& claim, Lifetime lifetime, Deadline deadline,
                                                WritePurpose purpose = WritePurpose::kData,
                                                std::uint64_t wanted = 0,
                                                std::uint64_t most = ZonePool::kNoLimit) EXCLUDES(mutex_);
  // The same for exactly `length` bytes, and never waits: the writer has no room if they cannot be written to one zone now.
  [[nodiscard]] ZoneWriter TryAllocateData(ZoneClaim& claim, Lifetime lifetime, WritePurpose purpose,
                                           std::uint64_t length) EXCLUDES(mutex_);

  // --- allocation for the log ---
  // Allocates an empty zone, also one that is kept for the log. The zone stays kLog until ReleaseLogZone.
  // Waits like AllocateData while the zone would take from the headroom; with kMount it takes it all the same. Errors: those of
  // AllocateData, but at the deadline always kTimedOut: the log waits in slices, and only the last one may end with
  // "no space".
  [[nodiscard]] Result<ZoneId> AllocateLogZone(Deadline deadline,
                                               LogZonePurpose purpose = LogZonePurpose::kNow)
      EXCLUDES(mutex_);
  // Allocates further zones for the group of the zone that was just allocated: as many as data can do without now, none if no
  // collector runs. Never waits.
  [[nodiscard]] std::vector<ZoneId> AllocateMoreLogZones() EXCLUDES(mutex_);
  // The most zones in a group of the log.
  std::uint32_t log_group() const { return setup_.log.group; }
  // Precondition: the release of the zone is committed and it has no live frames. The zone is reset after its
  // last pin is dropped; if it was never written, it becomes empty without a reset.
  void ReleaseLogZone(ZoneId zone) EXCLUDES(mutex_);

  // --- allocation for the metadata log ---
  // Allocates `count` empty zones. Returns none if data, log and copies could not do without them. Never waits.
  [[nodiscard]] std::vector<ZoneInfo> AllocateMetadataZones(std::size_t count) EXCLUDES(mutex_);
  // `zones`: allocated to the metadata log in this or an earlier mount, empty, and not used by it any more.
  void ReleaseMetadataZones(std::span<const ZoneId> zones) EXCLUDES(mutex_);

  // --- accounting; called in commit order ---
  void AddLive(std::span<const Extent> extents) EXCLUDES(mutex_);
  // False once the counts of live bytes contradict themselves; health() then returns the error.
  bool RemoveLive(std::span<const Extent> extents) EXCLUDES(mutex_);
  // Prevents the reset of `zone`. The pin is not valid if the device has no such zone.
  [[nodiscard]] ZonePin Pin(ZoneId zone) EXCLUDES(mutex_);

  // --- resets ---
  // Stops resets for this mount; a running reset still ends. Call this once a commit's outcome is unknown, before
  // releasing pins.
  void StopResets() EXCLUDES(mutex_);
  // Queues resets for partly written zones without live data, then waits until no reset or finish is queued or running.
  // Does nothing in a read-only mount. Errors: kTimedOut at the deadline; kShutdown after Stop.
  [[nodiscard]] Status DrainResets(Deadline deadline) EXCLUDES(mutex_);

  // --- the collector ---
  // Waits until space is short. The caller chooses victims from Zones(). At `deadline`, a verdict with
  // `pending` is discarded, and the present need is returned, if any. Returns nullopt after Stop. For one thread.
  [[nodiscard]] std::optional<ReclaimNeed> AwaitReclaimNeed(Deadline deadline) EXCLUDES(mutex_);
  // True if writers wait for space, or will have to soon.
  bool reclaim_presses() const EXCLUDES(mutex_);
  // Records that no victim was found for a need. The need is not returned again until room or live bytes change. If it
  // was urgent and nothing is pending, waiting writers get kNoSpace.
  void SetReclaimVerdict(const ReclaimVerdict& verdict) EXCLUDES(mutex_);
  // Voids the verdict. Call this after the live frames of log zones changed, or after a file stopped being busy.
  void NoteReclaimChange() EXCLUDES(mutex_);
  // Lets data take the zones that are kept for the log beyond the least. Call this if no victim was found and the headroom is whole.
  // Returns false if the share is reduced already. The log gets its share back when data could take a zone besides it.
  [[nodiscard]] bool ReduceLogShare() EXCLUDES(mutex_);
  // Wakes the collector to clean log zones although space is not short.
  void AskToTidy() EXCLUDES(mutex_);
  // From now on the collector empties nearly dead data zones. Call this at the end of a mount.
  void TidyData() EXCLUDES(mutex_);
  // Queues the finish of an active zone, so that it can become a victim. Returns false if the zone is not active, or is
  // being written.
  bool FinishActive(ZoneId zone) EXCLUDES(mutex_);
  // Pins a victim while it is emptied. The pin is not valid if the zone died since it was chosen: then it may be reset at
  // this moment, and its next incarnation must not begin with a pin.
  [[nodiscard]] ZonePin PinVictim(ZoneId zone) EXCLUDES(mutex_);

  // --- inspection ---
  // The device of these zones.
  ZonedDevice& device() { return device_; }
  // Not OK after RemoveLive removed more live bytes than a zone had. From then on AllocateData and AllocateLogZone return
  // this error.
  Status health() const EXCLUDES(mutex_);
  SpaceReport Space() const EXCLUDES(mutex_);
  std::vector<ZoneStatus> Zones() const EXCLUDES(mutex_);
  ZoneStatus Zone(ZoneId zone) const EXCLUDES(mutex_);
  // Descriptions of all broken invariants; empty if all hold.
  std::vector<std::string> Check() const EXCLUDES(mutex_);

 private:
  friend class ZonePin;
  friend class ZoneClaim;
  friend class ZoneWriter;

  ZoneManager(ZonedDevice& device, const ZonePool::Setup& setup, std::span<const ZoneInfo> report,
              std::span<const ZoneId> metadata_zones);
  ZoneWriter WriterOf(const ZoneAllocation& allocated);

  // --- waits ---
  // Wakes the threads that wait for a change of the pool.
  void Announce() REQUIRES(mutex_);
  // Wakes the background thread if it has a job.
  void AnnounceJobs() REQUIRES(mutex_);
  // `none` has no zone. Waits once for a change, after which the caller tries again, or returns the error that `none`
  // and the deadline imply: kNoSpace, or kTimedOut.
  Status WaitFor(const ZoneAllocation& none, Deadline deadline) REQUIRES(mutex_);
  std::unexpected<Error> NoSpace() const REQUIRES(mutex_);
  std::unexpected<Error> Stopped() const;   // the error of calls after Stop
  std::unexpected<Error> ReadOnly() const;  // the error of writes in a read-only mount

  // --- the background thread ---
  void RunResets() EXCLUDES(mutex_);
  // Waits before the next reset, or until something changes; false if the next job may begin.
  bool Pause() REQUIRES(mutex_);
  // Lets zones rest: puts one off, or waits until one has rested or something changes. False if the next job may begin.
  // Releases the lock meanwhile.
  bool Rest() REQUIRES(mutex_);
  // A zone that the log released holds a slot until its reset. If a reader uses it, finishes it, so that it can rest
  // too. Returns false if it must be reset now. Releases the lock meanwhile.
  bool FinishInstead(const ZoneJob& job) REQUIRES(mutex_);
  // True if resets can wait, and nobody waits for them.
  bool ResetsCanWait() const REQUIRES(mutex_);
  // True if nobody waits for a zone and enough are empty, so that a zone of the log that readers use may be finished and then
  // rest.
  bool MayFinishInstead() const REQUIRES(mutex_);
  // True if besides there are resets, and all can wait, so that zones that readers use may rest.
  bool MayRest() const REQUIRES(mutex_);

  ZonedDevice& device_;
  const ZonePool::Setup setup_;
  ZoneReaders* readers_ = nullptr;
  mutable Mutex mutex_{LockRank::kVolumeLeaf};
  CondVar changed_;  // for writers that wait for a zone, and for DrainResets
  CondVar work_;     // for the background thread
  CondVar need_;     // for the collector
  ZonePool pool_ GUARDED_BY(mutex_);
  std::uint32_t waiters_ GUARDED_BY(mutex_) = 0;  // on changed_
  bool collector_waits_ GUARDED_BY(mutex_) = false;
  bool resets_pause_ GUARDED_BY(mutex_) = false;  // between two resets
  // While the background thread lets all zones rest: ResetQueue::pushed when it began.
  std::optional<std::uint64_t> resets_rest_ GUARDED_BY(mutex_);
  bool stopped_ GUARDED_BY(mutex_) = false;
  SteadyTime next_reset_ GUARDED_BY(mutex_);  // if it can wait
  Thread thread_;
};

// --- how a volume divides its space: the same for writers, readers, mkfs and `zenfs advise` ---

// The zones that the log writes in turns, and as many that are ready, so that syncs need not wait for one. When nothing else is
// left, data gets the ready ones. Of two joined devices, the log has the second one and needs no zone of the main one.
[[nodiscard]] EmptyZones::LogShare LogShareOn(const Geometry& geometry);

// Reclaim needs headroom for its copies: a zone, or a group of log zones. A device with fewer zones besides the metadata zones
// can't spare one; there reclaim moves only what fits the remaining room.
inline constexpr std::uint32_t kFewestZonesForHeadroom = 9;
[[nodiscard]] std::uint32_t HeadroomZonesOn(const Geometry& geometry, std::uint32_t metadata_zones);

// The options of the zone manager for a volume.
[[nodiscard]] ZoneManager::Options SpaceOptions(const Geometry& geometry,
                                                const std::vector<ZoneId>& metadata_zones);

}  // namespace zenfs
