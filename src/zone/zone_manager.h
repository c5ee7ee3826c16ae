// Space: which zones are empty, being written, full or dead, who may write which, and what is live in them.
//
// Life of a data zone (metadata zones belong to metalog/, conventional and host-managed-elsewhere ones to
// nobody; log zones are lent to wal/ and follow AllocateLogZones/ReleaseLogZones):
//
//   empty --AcquireData--> active --filled, finished, or the device said so--> full
//     ^                      |                                                   |
//     |                      +------- no live bytes, no pins, no writer ---------+--> dead --reset--> empty
//     +-------------------------------------------------------------------------------------+
//   any --write or reset failed--> retired (readable as far as it goes, never written again in this mount)
//
// Invariants
//   a zone is reset only when live_bytes == 0 and pins == 0 and nobody holds its writer (rule 6)
//   active data zones <= plan.data; ZoneWriters at one moment <= plan.open_data
//   AcquireData takes O(active zones), never O(all zones); live-byte changes are O(1) each
//
// Threads: every call from any thread. The mutex inside is a leaf; no device command is sent while it is
// held. Resets and finishes are carried out by one background thread, never by a caller.
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

// Keeps a zone from being reset while something may still read it or point to it: the extents of an open
// file, data written but not committed. Copyable: each copy is a pin of its own.
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

// A file's preference for the zone it wrote last. Other files keep out of a claimed zone while there are
// slots; a claim never blocks anybody. Released by its destructor. Used by one thread at a time.
class ZoneClaim {
 public:
  ZoneClaim() = default;
  ZoneClaim(ZoneClaim&& other) noexcept;
  ZoneClaim& operator=(ZoneClaim&& other) noexcept;
  ~ZoneClaim();

 private:
  friend class ZoneManager;
  ZoneManager* manager_ = nullptr;
  ZonePool::Claim held_;
};

// The exclusive right to write one zone, with an open slot. Held for the length of one write, not for the
// life of a file, so that any number of files can be written on any number of zones.
class ZoneWriter {
 public:
  ZoneWriter() = default;
  ZoneWriter(ZoneWriter&& other) noexcept;
  ZoneWriter& operator=(ZoneWriter&& other) noexcept;
  ~ZoneWriter();

  ZoneId zone() const { return zone_; }
  // Bytes that can still be written; at least one block.
  std::uint64_t room() const { return room_; }

  // Writes the pieces (each a multiple of the block size, together at most room()) at the write pointer and
  // returns where they begin, pinned. The writer can be used again while room() > 0.
  // Errors: kZoneFull when the device ended the zone: nothing of this write counts, take another zone. kBusy
  // when the device has no slot for this zone just now (its limits are shared with its other users): nothing
  // was written, the zone stays as it is. kInvalidArgument for pieces that break the rule above. Any other:
  // the zone has been reported again and retired, nothing of this write counts. After an error room() is 0.
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
    // Empty zones that data may not take, so that syncs and metadata-only work go on when the device is full.
    std::uint32_t reserved_for_log = 2;
    // Zones that the log always has lent. While it has fewer, as many more are kept for it.
    std::uint32_t log_in_use = 0;
    // Somebody answers AwaitReclaimNeed: data and log that find no room wait for that.
    bool reclaims = false;
    // The room of one zone is kept for copies of live data.
    bool headroom = false;
    bool read_only = false;  // no thread, nothing is ever reset
  };

  // `report` covers all zones. `device` outlives the manager.
  static Result<std::unique_ptr<ZoneManager>> Create(ZonedDevice& device, const SlotPlan& plan,
                                                     std::vector<ZoneInfo> report, Options options);
  ~ZoneManager();

  // --- mount: tell what is there, then Start ---
  // A zone that the metadata allocates to the log.
  void AdoptLogZone(ZoneId zone) EXCLUDES(mutex_);
  // Live extents of committed files; also their lifetime, which becomes that of partly written zones.
  void AdoptExtent(const Extent& extent, Lifetime lifetime) EXCLUDES(mutex_);
  // Every non-empty data zone nobody adopted is garbage: queued for reset, before anything is written.
  // Partly written live zones are adopted as active; those beyond plan.data are finished in the background.
  // Errors: those of Thread::Start; then nothing was started.
  [[nodiscard]] Status Start() EXCLUDES(mutex_);

  // --- writing data ---
  // The right to write a zone fit for `lifetime`, the claimed one if it still has room; moves the claim.
  // Waits while zones are busy, resets are pending, or reclaim has not found that nothing can be freed (copies of live
  // data do not wait for reclaim). Errors: kNoSpace when nothing can be freed, and at the deadline when only readers or
  // writers of files keep zones from being freed; kTimedOut at the deadline; kShutdown after Stop; kReadOnly.
  // `wanted`: bytes that are to be written, here and in further zones. If it is given, data waits until there is room for
  // all of it, which is then promised to the claim, and not when a part of it is written.
  [[nodiscard]] Result<ZoneWriter> AcquireData(ZoneClaim& claim, Lifetime lifetime, Deadline deadline,
                                               WritePurpose purpose = WritePurpose::kData,
                                               std::uint64_t wanted = 0) EXCLUDES(mutex_);
  // What was promised and will not be written.
  void TakeBackPromise(ZoneClaim& claim) EXCLUDES(mutex_);

  // --- lending zones to the log ---
  // Takes an empty zone (also one of the reserve) out of the pool; it stays kLog until ReturnLogZone. Waits like
  // AcquireData, so that the headroom stays whole; a mount, which must write before reclaim can, may borrow of it.
  // Errors: kNoSpace, kTimedOut, kShutdown.
  enum class Headroom { kLeave, kBorrow };
  [[nodiscard]] Result<ZoneId> LendLogZone(Deadline deadline, Headroom headroom = Headroom::kLeave)
      EXCLUDES(mutex_);
  // The release is committed and nothing live is in it: it is reset (or, if never written, empty at once)
  // when its last pin goes.
  void ReturnLogZone(ZoneId zone) EXCLUDES(mutex_);

  // --- accounting; called in commit order ---
  void AddLive(std::span<const Extent> extents) EXCLUDES(mutex_);
  void RemoveLive(std::span<const Extent> extents) EXCLUDES(mutex_);

  // Dead zones stay as they are from here on; a reset that runs ends. For who no longer knows what is committed, and so
  // what is dead: before its pins go.
  void StopResets() EXCLUDES(mutex_);

  // --- readers ---
  [[nodiscard]] ZonePin Pin(ZoneId zone) EXCLUDES(mutex_);

  // --- reclaim; for one thread ---
  // Waits until space is short. What there is to reclaim is chosen from Zones(). At `deadline` a verdict that was pending
  // is void, and the need, if there is one, is returned again. Nothing after Stop (stopped()).
  [[nodiscard]] std::optional<ReclaimNeed> AwaitReclaimNeed(Deadline deadline) EXCLUDES(mutex_);
  // Nothing can be gained for a need. It is not returned again before room or liveness changes; if it was urgent and
  // nothing is pending, those who wait get kNoSpace.
  void SetVerdict(const ReclaimVerdict& verdict) EXCLUDES(mutex_);
  // Log zones are worth cleaning even though space is not short.
  void AskToTidy() EXCLUDES(mutex_);
  // What is live in log zones has changed, or a file is free again: a verdict on them is void.
  void NoteChange() EXCLUDES(mutex_);
  // Finishes an active zone in the background, so that it can be emptied. False if it is being written or not active.
  bool FinishActive(ZoneId zone) EXCLUDES(mutex_);
  bool stopped() const EXCLUDES(mutex_);

  // --- looking ---
  // Not OK once the count of live bytes contradicted itself (RemoveLive): nothing is written from then on, and AcquireData
  // and LendLogZone return this error.
  Status health() const EXCLUDES(mutex_);
  SpaceReport Space() const EXCLUDES(mutex_);
  std::vector<ZoneStatus> Zones() const EXCLUDES(mutex_);
  ZoneStatus Zone(ZoneId zone) const EXCLUDES(mutex_);
  // Broken invariants, as sentences; empty means none is.
  std::vector<std::string> Check() const EXCLUDES(mutex_);
  // Table entries looked at so far, by all calls: for tests of cost.
  std::uint64_t table_visits() const EXCLUDES(mutex_);

  // Queues resets for partly written zones without live data, then waits until no reset or finish is queued.
  // For tests, unmount and a full device.
  [[nodiscard]] Status Drain(Deadline deadline) EXCLUDES(mutex_);
  // Wakes and fails all waiters; ends the background thread after its current command. ZonePins may outlive
  // this call, not the manager.
  void Stop() EXCLUDES(mutex_);

 private:
  friend class ZonePin;
  friend class ZoneClaim;
  friend class ZoneWriter;
  ZoneManager(ZonedDevice& device, const ZonePool::Setup& setup, std::span<const ZoneInfo> report,
              std::span<const ZoneId> metadata_zones);
  void RunJobs() EXCLUDES(mutex_);
  // Tells who may wait for what has just changed.
  void Announce() REQUIRES(mutex_);
  std::unexpected<Error> NoSpace() const REQUIRES(mutex_);
  // Waits for a change as `taken` asks.
  Status WaitFor(const ZonePool::Taken& taken, Deadline deadline) REQUIRES(mutex_);
  Result<ZoneWriter::Placed> Write(ZoneWriter& writer, std::span<const ByteView> pieces) EXCLUDES(mutex_);
  void EndWriter(ZoneId zone) EXCLUDES(mutex_);
  void AddPin(ZoneId zone) EXCLUDES(mutex_);
  void DropPin(ZoneId zone) EXCLUDES(mutex_);
  void Unclaim(ZonePool::Claim& claim) EXCLUDES(mutex_);

  ZonedDevice& device_;
  const ZonePool::Setup setup_;
  mutable Mutex mutex_{LockRank::kVolumeLeaf};
  CondVar changed_;  // for those who wait for a zone, and Drain
  CondVar work_;     // for the background thread
  CondVar need_;     // for who reclaims
  ZonePool pool_ GUARDED_BY(mutex_);
  std::uint32_t waiters_ GUARDED_BY(mutex_) = 0;
  bool reclaimer_waits_ GUARDED_BY(mutex_) = false;
  bool stopped_ GUARDED_BY(mutex_) = false;
  Thread thread_;
};

}  // namespace zenfs
