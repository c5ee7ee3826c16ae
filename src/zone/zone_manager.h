// Space management: the phase of each zone, the right to write a zone, and the live bytes in it.
//
// Phases of a data zone. Metadata zones belong to metalog/. Log zones are lent to wal/ and follow the edits
// AllocateLogZones and ReleaseLogZones. Conventional zones are not used.
//
//   empty --AcquireData--> active --filled, finished, or ended by the device--> full
//     ^                      |                                                     |
//     |                      +-------- no live bytes, no pins, no writer ----------+--> dead --reset--> empty
//     +---------------------------------------------------------------------------------------+
//   any --write or reset failed--> retired (still readable, never written again in this mount)
//
// Invariants
//   a zone is reset only when it has no live bytes, no pins and no writer (design rule 6)
//   active data zones <= plan.data, ZoneWriters <= plan.open_data; each one more for copies, if
//   plan.reclaim_has_slot()
//   AcquireData costs O(active zones), never O(all zones); a change of live bytes costs O(1)
//
// Threads: all calls are thread-safe. The mutex is a leaf; no device command is sent while it is held. One
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
#include "zone/slot_plan.h"
#include "zone/space_report.h"
#include "zone/zone_pool.h"

namespace zenfs {

class ZoneManager;

// Prevents the reset of a zone while somebody may read it or a commit in flight names it. Examples: the extents
// of an open file, and data that is written but not committed. Each copy counts as one more pin.
class ZonePin {
 public:
  ZonePin() = default;
  ZonePin(const ZonePin& other);
  ZonePin(ZonePin&& other) noexcept;
  ZonePin& operator=(ZonePin other) noexcept;
  ~ZonePin();
  bool valid() const { return manager_ != nullptr; }
  ZoneId zone() const { return zone_; }

 private:
  friend class ZoneManager;
  ZonePin(ZoneManager* manager, ZoneId zone) : manager_(manager), zone_(zone) {}
  ZoneManager* manager_ = nullptr;
  ZoneId zone_;
};

// A file's preference for the zone that it wrote last. Other files avoid a claimed zone while slots are free,
// but a claim never blocks them. The destructor releases the claim. For one thread at a time.
class ZoneClaim {
 public:
  ZoneClaim() = default;
  ZoneClaim(ZoneClaim&& other) noexcept;
  ZoneClaim& operator=(ZoneClaim&& other) noexcept;
  ~ZoneClaim();

 private:
  friend class ZoneManager;
  ZoneManager* manager_ = nullptr;
  ClaimState held_;
};

// The exclusive right to write one zone, with an open slot. It is held for one write, not while a file is open,
// so any number of files can share any number of zones.
class ZoneWriter {
 public:
  ZoneWriter() = default;
  ZoneWriter(ZoneWriter&& other) noexcept;
  ZoneWriter& operator=(ZoneWriter&& other) noexcept;
  ~ZoneWriter();

  ZoneId zone() const { return zone_; }
  // Bytes that can still be written; at least one block after AcquireData.
  std::uint64_t room() const { return room_; }

  // Writes the pieces at the write pointer and returns their place with a pin on the zone. Each piece is a
  // multiple of the block size; their sum is at most room(). The writer can be used again while room() > 0.
  // Errors; discard the data of this write after each of them:
  //   kZoneFull: the device made the zone full; use another zone.
  //   kBusy: the device has no free slot for this zone, because other users share its limits. Nothing was
  //     written, and the zone stays usable.
  //   kInvalidArgument: the sizes of the pieces are wrong; nothing was sent to the device.
  //   all others: the zone is retired.
  // After every error but kInvalidArgument room() is 0.
  struct Placed {
    DeviceOffset place;
    ZonePin pin;
  };
  [[nodiscard]] Result<Placed> Write(std::span<const ByteView> pieces);

 private:
  friend class ZoneManager;
  void Release();
  ZoneManager* manager_ = nullptr;
  ZoneId zone_;
  DeviceOffset place_;  // the write pointer
  std::uint64_t room_ = 0;
};

class ZoneManager {
 public:
  struct Options {
    std::vector<ZoneId> metadata_zones;
    // Number of empty zones that data may not take, so that syncs still succeed when the device is full.
    std::uint32_t reserved_for_log = 2;
    // Number of zones that the log normally holds. While it holds fewer, the difference is kept free for it.
    std::uint32_t log_in_use = 0;
    // A collector calls AwaitReclaimNeed. Then data and log wait for it when they find no room.
    bool reclaims = false;
    // Keep the capacity of one zone as headroom for copies of live data.
    bool headroom = false;
    bool read_only = false;  // no background thread, no resets
  };

  // `report` covers all zones. `device` outlives the manager.
  static Result<std::unique_ptr<ZoneManager>> Create(ZonedDevice& device, const SlotPlan& plan,
                                                     std::vector<ZoneInfo> report, Options options);
  ~ZoneManager();

  // --- mount: adopt all log zones and extents, then Start ---
  // Adopts a zone that the metadata lists as a log zone.
  void AdoptLogZone(ZoneId zone) EXCLUDES(mutex_);
  // Adopts a live extent of a committed file. A zone gets the lifetime of its first adopted extent, by place.
  void AdoptExtent(const Extent& extent, Lifetime lifetime) EXCLUDES(mutex_);
  // Starts the background thread. Queues a reset for each written data zone without live bytes and pins. Keeps
  // partly written live zones active, at most plan.data of them, and queues a finish for the others.
  // Errors: those of Thread::Start; then nothing was started.
  [[nodiscard]] Status Start() EXCLUDES(mutex_);

  // --- writing data ---
  // Returns the writer of a zone that fits `lifetime` and moves the claim to that zone. The claimed zone comes first
  // while it has room. Waits while zones are busy, resets are pending, or reclaim may still free space. Copies of
  // live data do not wait for reclaim.
  // `wanted`: bytes to write, in this zone and further ones. Data waits until there is room for all of them. This
  // room is then promised to the claim, so the write does not wait again when it is partly written.
  // Errors: kNoSpace if nothing can be freed, or if reclaim or readers still keep all space at the deadline;
  // kTimedOut at the deadline otherwise; kShutdown after Stop; kReadOnly; the error of health().
  [[nodiscard]] Result<ZoneWriter> AcquireData(ZoneClaim& claim, Lifetime lifetime, Deadline deadline,
                                               WritePurpose purpose = WritePurpose::kData,
                                               std::uint64_t wanted = 0) EXCLUDES(mutex_);
  // Returns the promised room that the caller will not use.
  void TakeBackPromise(ZoneClaim& claim) EXCLUDES(mutex_);

  // --- lending zones to the log ---
  // Takes an empty zone out of the pool, if necessary from the log's reserve. The zone stays kLog until ReturnLogZone.
  // Waits like AcquireData while the zone would take from the headroom. kBorrow takes it all the same: for a mount,
  // which must write before reclaim runs. Errors: those of AcquireData.
  enum class Headroom { kLeave, kBorrow };
  [[nodiscard]] Result<ZoneId> LendLogZone(Deadline deadline, Headroom headroom = Headroom::kLeave)
      EXCLUDES(mutex_);
  // Returns a log zone. Precondition: its release is committed and it has no live frames. The zone is reset after its
  // last pin is dropped; if it was never written, it becomes empty without a reset.
  void ReturnLogZone(ZoneId zone) EXCLUDES(mutex_);

  // --- accounting; called in commit order ---
  void AddLive(std::span<const Extent> extents) EXCLUDES(mutex_);
  // False once the counts of live bytes contradict themselves; health() then returns the error.
  bool RemoveLive(std::span<const Extent> extents) EXCLUDES(mutex_);

  // Stops resets for this mount; a running reset still ends. Call this once a commit's outcome is unknown, before
  // releasing pins.
  void StopResets() EXCLUDES(mutex_);

  // --- readers ---
  [[nodiscard]] ZonePin Pin(ZoneId zone) EXCLUDES(mutex_);

  // --- reclaim; for one thread ---
  // Waits until space is short. The caller chooses victims from Zones(). At `deadline`, a verdict with `pending` is
  // discarded, and the present need is returned, if any. Returns nullopt after Stop.
  [[nodiscard]] std::optional<ReclaimNeed> AwaitReclaimNeed(Deadline deadline) EXCLUDES(mutex_);
  // Records that no victim was found for a need. The need is not returned again until room or live bytes change. If it
  // was urgent and nothing is pending, waiting writers get kNoSpace.
  void SetVerdict(const ReclaimVerdict& verdict) EXCLUDES(mutex_);
  // Wakes the collector to clean log zones although space is not short.
  void AskToTidy() EXCLUDES(mutex_);
  // Voids the verdict. Call this after the live frames of log zones changed, or after a file stopped being busy.
  void NoteChange() EXCLUDES(mutex_);
  // Queues the finish of an active zone, so that it can become a victim. Returns false if the zone is not active, or is
  // being written.
  bool FinishActive(ZoneId zone) EXCLUDES(mutex_);
  bool stopped() const EXCLUDES(mutex_);

  // --- inspection ---
  // Not OK after RemoveLive removed more live bytes than a zone had. From then on AcquireData and LendLogZone return
  // this error.
  Status health() const EXCLUDES(mutex_);
  SpaceReport Space() const EXCLUDES(mutex_);
  std::vector<ZoneStatus> Zones() const EXCLUDES(mutex_);
  ZoneStatus Zone(ZoneId zone) const EXCLUDES(mutex_);
  // Descriptions of all broken invariants; empty if all hold.
  std::vector<std::string> Check() const EXCLUDES(mutex_);
  // Number of accesses to zone entries so far; tests use it to measure cost.
  std::uint64_t table_visits() const EXCLUDES(mutex_);

  // Queues resets for partly written zones without live data, then waits until no reset or finish is queued or running.
  // Errors: kTimedOut at the deadline; kShutdown after Stop.
  [[nodiscard]] Status Drain(Deadline deadline) EXCLUDES(mutex_);
  // Wakes all waiters, which fail with kShutdown, and joins the background thread after its current command. ZonePins
  // may outlive this call, but not the manager.
  void Stop() EXCLUDES(mutex_);

 private:
  friend class ZonePin;
  friend class ZoneClaim;
  friend class ZoneWriter;
  ZoneManager(ZonedDevice& device, const ZonePoolSetup& setup, std::span<const ZoneInfo> report,
              std::span<const ZoneId> metadata_zones);
  void RunJobs() EXCLUDES(mutex_);
  // Wakes the threads that wait for a change of the pool.
  void Announce() REQUIRES(mutex_);
  std::unexpected<Error> NoSpace() const REQUIRES(mutex_);
  // Waits once for a change, or returns the error that `taken` and the deadline imply.
  Status WaitFor(const TakenZone& taken, Deadline deadline) REQUIRES(mutex_);
  Result<ZoneWriter::Placed> Write(ZoneWriter& writer, std::span<const ByteView> pieces) EXCLUDES(mutex_);
  void EndWriter(ZoneId zone) EXCLUDES(mutex_);
  void AddPin(ZoneId zone) EXCLUDES(mutex_);
  void DropPin(ZoneId zone) EXCLUDES(mutex_);
  void Unclaim(ClaimState& claim) EXCLUDES(mutex_);

  ZonedDevice& device_;
  const ZonePoolSetup setup_;
  mutable Mutex mutex_{LockRank::kVolumeLeaf};
  CondVar changed_;  // for writers that wait for a zone, and for Drain
  CondVar work_;     // for the background thread
  CondVar need_;     // for the collector
  ZonePool pool_ GUARDED_BY(mutex_);
  std::uint32_t waiters_ GUARDED_BY(mutex_) = 0;
  bool reclaimer_waits_ GUARDED_BY(mutex_) = false;
  bool stopped_ GUARDED_BY(mutex_) = false;
  Thread thread_;
};

}  // namespace zenfs
