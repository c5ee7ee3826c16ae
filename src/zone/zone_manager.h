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
#include <span>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/mutex.h"
#include "base/status.h"
#include "device/zoned_device.h"
#include "model/file_record.h"
#include "model/lifetime.h"
#include "zone/shared_zone_pool.h"
#include "zone/space_account.h"
#include "zone/zone_handles.h"
#include "zone/zone_limits.h"
#include "zone/zone_operations.h"
#include "zone/zone_reclaim.h"

namespace zenfs {

class ZoneManager {
 public:
  struct Options {
    std::vector<ZoneId> metadata_zones;
    // Zones that the log needs. While it holds fewer, data leaves the difference empty, so that syncs still succeed when the
    // device is full. Those beyond the least are yielded to data when nothing else is left.
    EmptyZones::LogShare log{.needs = 2, .least = 2};
    // A collector calls ZoneReclaim::AwaitNeed. Then data and log wait for it when they find no room.
    bool reclaims = false;
    // Keep the capacity of this many zones as headroom for copies of live data: 0, or a group of log zones.
    std::uint32_t headroom = 0;
    bool read_only = false;  // no background thread, no resets
    const PlacementPolicy* placement = DefaultPlacement();
  };

  // `report` covers all zones. `device` outlives the manager.
  static Result<std::unique_ptr<ZoneManager>> Create(ZonedDevice& device, const SlotPlan& plan,
                                                     std::vector<ZoneInfo> report, Options options);
  ~ZoneManager();

  // --- mount: adopt all log zones and extents, then Start ---
  // Adopts a zone that the metadata lists as a log zone.
  void AdoptLogZone(ZoneId zone) EXCLUDES(shared_.mutex);
  // Adopts a live extent of a committed file. A zone gets the lifetime of its first adopted extent, by place.
  void AdoptExtent(const Extent& extent, Lifetime lifetime) EXCLUDES(shared_.mutex);
  // Starts the background thread. Queues a reset for each written data zone without live bytes and pins. Keeps
  // partly written live zones active, at most plan.data of them, and queues a finish for the others.
  // Errors: those of Thread::Start; then nothing was started.
  [[nodiscard]] Status Start() EXCLUDES(shared_.mutex);

  // --- writing data ---
  // Returns the writer of a zone that fits `lifetime` and moves the claim to that zone. The claimed zone comes first
  // while it has room. Waits while zones are busy, resets are pending, or reclaim may still free space. Copies of
  // live data do not wait for reclaim.
  // `wanted`: bytes to write, in this zone and further ones. Data waits until there is room for all of them. This
  // room is then promised to the claim, so the write does not wait again when it is partly written.
  // `most`: the writer gets room for at most so many bytes, and what is left of the promise stays with the claim.
  // Errors: kNoSpace if nothing can be freed, or if reclaim or readers still keep all space at the deadline;
  // kTimedOut at the deadline otherwise; kShutdown after Stop; kReadOnly; the error of health().
  [[nodiscard]] Result<ZoneWriter> AcquireData(ZoneClaim& claim, Lifetime lifetime, Deadline deadline,
                                               WritePurpose purpose = WritePurpose::kData,
                                               std::uint64_t wanted = 0,
                                               std::uint64_t most = DataWriters::kNoLimit)
      EXCLUDES(shared_.mutex);
  // The same for exactly `length` bytes, and never waits: the writer has no room if they cannot be written to one zone now.
  [[nodiscard]] ZoneWriter TryAcquireData(ZoneClaim& claim, Lifetime lifetime, WritePurpose purpose,
                                          std::uint64_t length) EXCLUDES(shared_.mutex);

  // --- lending zones to the log ---
  // Takes an empty zone out of the pool, also one that is kept for the log. The zone stays kLog until ReturnLogZone.
  // Waits like AcquireData while the zone would take from the headroom; with kBorrow it takes it all the same. Errors: those of
  // AcquireData, but at the deadline always kTimedOut: the log waits in slices, and only the last one may end with
  // "no space".
  [[nodiscard]] Result<ZoneId> LendLogZone(Deadline deadline, LogLoan loan = LogLoan::kNow)
      EXCLUDES(shared_.mutex);
  // Takes further zones for the group of the zone that was just lent: as many as data can do without now, none if no collector
  // runs. Never waits.
  [[nodiscard]] std::vector<ZoneId> LendMoreLogZones() EXCLUDES(shared_.mutex);
  // The most zones in a group of the log.
  std::uint32_t log_group() const { return shared_.setup.log.group; }
  // Returns a log zone. Precondition: its release is committed and it has no live frames. The zone is reset after its
  // last pin is dropped; if it was never written, it becomes empty without a reset.
  void ReturnLogZone(ZoneId zone) EXCLUDES(shared_.mutex);

  // --- the metadata log ---
  // Takes `count` empty zones for the metadata log. Returns none if data, log and copies could not do without them. Never
  // waits.
  [[nodiscard]] std::vector<ZoneInfo> TakeForMetadata(std::size_t count) EXCLUDES(shared_.mutex);
  // `zones`: taken for the metadata log in this or an earlier mount, empty, and not used by it any more.
  void ReturnFromMetadata(std::span<const ZoneId> zones) EXCLUDES(shared_.mutex);

  // --- accounting; called in commit order ---
  void AddLive(std::span<const Extent> extents) EXCLUDES(shared_.mutex);
  // False once the counts of live bytes contradict themselves; health() then returns the error.
  bool RemoveLive(std::span<const Extent> extents) EXCLUDES(shared_.mutex);

  // --- parts for one purpose ---
  ZoneReclaim& reclaim() { return reclaim_; }           // for the collector
  ZoneOperations& operations() { return operations_; }  // resets and finishes

  // --- readers ---
  [[nodiscard]] ZonePin Pin(ZoneId zone) EXCLUDES(shared_.mutex);

  // --- inspection ---
  // The device of these zones.
  ZonedDevice& device() { return shared_.device; }
  // Not OK after RemoveLive removed more live bytes than a zone had. From then on AcquireData and LendLogZone return
  // this error.
  Status health() const EXCLUDES(shared_.mutex);
  SpaceReport Space() const EXCLUDES(shared_.mutex);
  std::vector<ZoneStatus> Zones() const EXCLUDES(shared_.mutex);
  ZoneStatus Zone(ZoneId zone) const EXCLUDES(shared_.mutex);
  // Descriptions of all broken invariants; empty if all hold.
  std::vector<std::string> Check() const EXCLUDES(shared_.mutex);
  // Number of accesses to zone entries so far; tests use it to measure cost.
  std::uint64_t table_visits() const EXCLUDES(shared_.mutex);

  // Wakes all waiters, which fail with kShutdown, and joins the background thread after its current command. ZonePins
  // may outlive this call, but not the manager.
  void Stop() EXCLUDES(shared_.mutex);

 private:
  ZoneWriter WriterOf(const TakenZone& taken);
  ZoneManager(ZonedDevice& device, const ZonePoolSetup& setup, std::span<const ZoneInfo> report,
              std::span<const ZoneId> metadata_zones);

  SharedZonePool shared_;
  ZoneReclaim reclaim_{shared_};
  ZoneOperations operations_{shared_};
};

}  // namespace zenfs
