// The zones of the log, and their allocation.
//
//   LogZones       the zones that are allocated to the log: their states, and how much of each is live
//   LogZoneSupply  allocates and releases them, with a thread ahead of use
//
// FrameWriter takes zones from LogZones and reports its writes. Framed files count their live frames there.
//
// The zones of one generation are a group. On most devices it has one zone. Where a zone has a fraction of the device's
// bandwidth (LogGroup in zone/spread.h) it has several, which become current together and are written in turns. The next group
// follows when all of them are closed, so older groups have older frames only.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <vector>

#include "base/clock.h"
#include "base/mutex.h"
#include "base/status.h"
#include "base/thread.h"
#include "base/uuid.h"
#include "device/zoned_device.h"
#include "format/frame.h"
#include "model/edit.h"
#include "zone/zone_manager.h"

namespace zenfs {

// The frames in a log zone that live files point to. A frame of a small synced record is mostly padding, so
// a zone full of live frames may have little payload.
struct LiveFrames {
  std::uint64_t device_bytes = 0;  // with header and padding: the zone is released when this is 0
  std::uint64_t payload = 0;       // bytes that cleaning the zone would copy

  LiveFrames& operator+=(const LiveFrames& other) {
    device_bytes += other.device_bytes;
    payload += other.payload;
    return *this;
  }
  LiveFrames& operator-=(const LiveFrames& other) {
    device_bytes -= other.device_bytes;
    payload -= other.payload;
    return *this;
  }
};

// A log zone as reclaim sees it.
struct LogZoneStatus {
  ZoneId zone;
  std::uint64_t generation = 0;  // later zones have higher ones
  std::uint64_t capacity = 0;
  std::uint64_t written = 0;
  LiveFrames live;
  bool closed = false;    // gets no more frames
  bool writable = false;  // ready or current, and not being released
  bool current = false;
  // It is being released. The caller of Zones also sets this if it knows of fewer frames in the zone: a file does not
  // point to its new frame yet.
  bool held = false;
  bool young = false;  // below the mean age at which zones died without cleaning

  bool can_be_cleaned() const { return closed && !held && live.device_bytes != 0; }
};

// Bytes of the unwritten zones that the log can do without, because it can write another group: one that is written, or
// `group` unwritten zones.
[[nodiscard]] std::uint64_t SpareBytes(std::span<const LogZoneStatus> zones, std::uint32_t group);

// The place of the next frame.
struct LogCursor {
  ZoneId zone;
  FrameSeed seed;
  DeviceOffset at;
  std::uint64_t room = 0;  // bytes left in the zone; 0: it gets no more frames
  // Bytes, whole blocks, that go to the zone before the next one is taken; 0: take it.
  std::uint64_t unit_left = 0;

  // Bytes that frames may take here.
  std::uint64_t left() const { return std::min(room, unit_left); }
  void Advance(std::uint64_t bytes) {
    at = at + bytes;
    room -= bytes;
    unit_left -= std::min(unit_left, bytes);  // a frame that may not be split goes beyond it
  }
  void TakeBack(std::uint64_t bytes) {
    at = DeviceOffset(at.value - bytes);
    room += bytes;
    unit_left += bytes;
  }
};

// States of a zone of the log:
//
//       Add                 TakeNext                   NoteWritten (full), Close
//   -----------> kReady --------------> kCurrent ------------------------------> kClosed
//                 | |                                                            ^    |
//                 | '------------------------ CloseSpares -----------------------'    |
//                 |------------> kSyncs (TakeForSyncs; Close)                         |
//                 | TakeUnwritten                                                     | TakeDead
//                 '-----------------------> being released <--------------------------'
//                                                  |
//                       EndRelease: removes the entry; if the commit failed, the zone keeps its state
//
// Ownership: the zone manager has allocated each zone to the log from before Add until after EndRelease.
// Threads: any. mutex_ is held for no I/O and no commit; only the zone manager's lock comes after it.
//
// Invariants
//   each zone here has a durable allocation, which seeds the CRCs of its frames
//   the kCurrent zones belong to one group; they are never released, and only the one taken last gets frames
//   live(zone) = bytes of the frames that live files point to; TakeDead takes a zone only if it is 0 and no pin
//   keeps the zone
//
// Errors: none of its own. After NoteRefusal with kReadOnly, MayGoOn returns that error.
class LogZones {
 public:
  // `device` and `zones` outlive it. `volume` seeds the frames. `group`: zones that a group may have at most.
  LogZones(const ZonedDevice& device, ZoneManager& zones, const Uuid& volume, std::uint32_t group)
      : device_(device), manager_(zones), volume_(volume), group_(group) {}

  enum class Phase { kMounting, kRunning, kStopped };

  // --- mount, before Start ---
  // Keeps the partly written zones of one group: the current one, or else the one with the most room. Closes the others
  // and returns them. The caller finishes each and passes it to EndRelease, not released: a zone that is reset meanwhile would
  // be full although it counts as empty.
  std::vector<ZoneId> CloseSpares() EXCLUDES(mutex_);
  // Call this when all zones with live frames are pinned. From then on TakeDead takes other zones.
  void MayRelease() EXCLUDES(mutex_);

  // Call this when the mount is complete and live frames are counted. Wakes AwaitWork.
  void Start() EXCLUDES(mutex_);
  // From then on no zone is released, AwaitWork returns false and MayGoOn fails.
  void Stop() EXCLUDES(mutex_);
  Phase phase() const EXCLUDES(mutex_);

  // --- for the writer of frames, one thread at a time ---
  // Takes the current zone that was taken longest ago. If no zone is current, first makes those of the next ready group
  // kCurrent. Call this when nobody writes to the zone that was taken last. None if no zone is ready or current.
  std::optional<LogCursor> TakeNext() EXCLUDES(mutex_);
  // Makes a ready, unwritten zone kSyncs, for sync blocks (wal/zrwa_sync_blocks.h); it stays so until Close, or for the rest of the
  // mount.
  std::optional<LogCursor> TakeForSyncs() EXCLUDES(mutex_);
  // `bytes` were written to the current zone. Adds `live` to its live frames. Closes the zone if it is
  // full.
  void NoteWritten(ZoneId zone, std::uint64_t bytes, LiveFrames live) EXCLUDES(mutex_);
  void Close(ZoneId zone) EXCLUDES(mutex_);
  // Errors: kShutdown after Stop; the error of NoteRefusal.
  [[nodiscard]] Status MayGoOn() const EXCLUDES(mutex_);

  // --- for files ---
  // A live file points to more, or fewer, frames in `zone`. NoteWritten has counted new frames already.
  void AddLive(ZoneId zone, LiveFrames frames) EXCLUDES(mutex_);
  void RemoveLive(ZoneId zone, LiveFrames frames) EXCLUDES(mutex_);
  // Seed of the frames in `zone`; none if it is not a log zone.
  std::optional<FrameSeed> SeedOf(ZoneId zone) const EXCLUDES(mutex_);

  // --- for reclaim ---
  std::vector<LogZoneStatus> Zones() const EXCLUDES(mutex_);
  // Reclaim begins to clean these closed zones. Their age at release is not used for `young`.
  void NoteCleaning(std::span<const ZoneId> zones) EXCLUDES(mutex_);

  // --- for the owner of allocations ---
  // Adds the unwritten zones of a group. Its allocation is durable.
  void AddGroup(std::span<const LogZone> group) EXCLUDES(mutex_);
  // For a mount: adds a zone with a durable allocation: kReady if it is `writable` and has room, else kClosed.
  // TakeNext takes partly written zones first, because they hold an active slot until they are full.
  void Add(const LogZone& allocated, std::uint64_t capacity, std::uint64_t written = 0, bool writable = true)
      EXCLUDES(mutex_);
  // The caller passes each zone that it gets to EndRelease.
  std::vector<ZoneId> TakeDead() EXCLUDES(mutex_);
  // kSpare: only if a zone is current or partly written, or more than a group is ready.
  enum class Unwritten { kAny, kSpare };
  std::optional<ZoneId> TakeUnwritten(Unwritten which = Unwritten::kAny) EXCLUDES(mutex_);
  void EndRelease(ZoneId zone, bool released) EXCLUDES(mutex_);
  // A commit failed with `error`. If the metadata log is read-only, no zone is allocated or released from
  // then on.
  void NoteRefusal(const Error& error) EXCLUDES(mutex_);
  bool IsShortOf(std::size_t ready_target) const EXCLUDES(mutex_);
  // Waits until Wake is called, a zone may have died, or fewer than `ready_target` zones are ready. In the
  // last case waits `pause` longer. Returns false after Stop.
  bool AwaitWork(std::size_t ready_target, std::chrono::milliseconds pause) EXCLUDES(mutex_);
  void Wake() EXCLUDES(mutex_);

 private:
  enum class State { kReady, kCurrent, kSyncs, kClosed };
  struct Zone {
    LogZone allocation;
    std::uint64_t capacity = 0;
    std::uint64_t written = 0;
    LiveFrames live;
    State state = State::kReady;
    bool releasing = false;  // from TakeDead, TakeUnwritten or CloseSpares until EndRelease
    bool cleaned = false;    // reclaim has moved frames out of it
  };

  // In the order in which they are taken: partly written ones first, then older groups, because older groups must have older
  // frames. A mount and a failed release add groups in another order. While a zone is ready, nobody writes to it.
  struct ReadyZone {
    bool unwritten = false;
    std::uint64_t generation = 0;
    ZoneId zone;

    auto operator<=>(const ReadyZone& other) const = default;
  };

  static ReadyZone ReadyOf(const Zone& zone);
  void AddLocked(const LogZone& allocated, std::uint64_t capacity, std::uint64_t written, bool writable)
      REQUIRES(mutex_);
  // The first of ready_ without frames; ready_.end() if there is none.
  std::set<ReadyZone>::const_iterator FindUnwritten() const REQUIRES(mutex_);
  bool HasSpare() const REQUIRES(mutex_);
  LogCursor CursorOf(ZoneId id) const REQUIRES(mutex_);

  const ZonedDevice& device_;
  ZoneManager& manager_;
  const Uuid volume_;
  const std::uint32_t group_;

  mutable Mutex mutex_{LockRank::kLogSpace};
  CondVar wake_;  // for AwaitWork
  std::map<ZoneId, Zone> zones_ GUARDED_BY(mutex_);
  std::set<ReadyZone> ready_ GUARDED_BY(mutex_);   // kReady zones that are not being released
  std::deque<ZoneId> current_ GUARDED_BY(mutex_);  // kCurrent zones; back: the one taken last
  Phase phase_ GUARDED_BY(mutex_) = Phase::kMounting;
  bool may_release_ GUARDED_BY(mutex_) = false;  // all live frames are counted or pinned
  bool woken_ GUARDED_BY(mutex_) = false;
  Status health_ GUARDED_BY(mutex_);  // not ok: the metadata log is read-only
  std::uint64_t newest_generation_ GUARDED_BY(mutex_) = 0;
  // Moving average of the age of a zone at its death, counted in allocations.
  std::uint64_t survival_ GUARDED_BY(mutex_) = 0;
};

// Commits allocations of log zones. LogZoneAllocator (open/commit_path.h) implements this with the metadata log.
class LogZoneAllocations {
 public:
  virtual ~LogZoneAllocations() = default;
  // Makes a group of the zones: chooses its generation, and a salt for each. The allocation is durable when this returns.
  [[nodiscard]] virtual Result<std::vector<LogZone>> Allocate(std::span<const ZoneId> zones) = 0;
  // Tells later mounts that frames may be in the `bytes` behind the write pointer (MarkSyncZone).
  [[nodiscard]] virtual Status MarkSync(ZoneId zone, std::uint64_t bytes) = 0;
  [[nodiscard]] virtual Status Release(std::span<const ZoneId> zones) = 0;
};

// Allocates and releases the zones of the log.
//
// A background thread, "zenfs-log", allocates zones ahead of use, releases zones without live frames, and
// asks reclaim to clean zones with few. Callers that cannot wait for the thread do the same themselves: the
// leader of FrameWriter if no zone is ready (AllocateGroup, ReleaseDead), and reclaim (ReleaseDead,
// ReleaseUnwritten).
//
// Ownership: owns the thread. The parts in Deps outlive it.
// Threads: any; no lock of its own. Each allocation or release is one commit (row 8 of the lock order),
// made without a lock of this layer. The caller may be the leader of FrameWriter (row 7).
//
// Invariants
//   a zone enters LogZones only after its allocation is committed
//   a zone goes back to the zone manager only after its release is committed, and after it has left LogZones
class LogZoneSupply {
 public:
  struct Deps {
    ZoneManager* zones = nullptr;
    LogZones* log_zones = nullptr;
    LogZoneAllocations* allocations = nullptr;
    std::uint32_t ready_target = 1;  // ready zones kept ahead of use
  };

  explicit LogZoneSupply(const Deps& deps) : deps_(deps) {}
  ~LogZoneSupply() { Stop(); }

  // Starts the thread. It keeps zones ready, releases dead ones and asks reclaim to clean mostly dead ones.
  // Errors: those of Thread::Start. Without the thread, writes allocate zones themselves with AllocateGroup.
  [[nodiscard]] Status Start();
  // Ends the thread, and all waits of the log (LogZones::Stop).
  void Stop();

  // Makes one more group ready, on the caller's thread. While space is short it has fewer zones. During a mount it has one,
  // also out of the headroom. Errors: those of
  // ZoneManager::AllocateLogZone (kTimedOut: no zone became free until `deadline`) and of the commit.
  [[nodiscard]] Status AllocateGroup(Deadline deadline, LogZonePurpose purpose = LogZonePurpose::kNow);
  // Releases zones without live frames, on the caller's thread. Returns true if it released any.
  bool ReleaseDead();
  // Releases a ready zone that was never written, so that the zone manager can use it as headroom. Returns
  // false if there is none, or if the commit failed.
  bool ReleaseUnwritten(LogZones::Unwritten which = LogZones::Unwritten::kAny);
  // True if a thread is allocating or releasing a zone, so that a zone may soon be free or ready.
  bool AnyInTransit() const { return in_transit_.load(std::memory_order_acquire) != 0; }

 private:
  class Transit;

  void Work();
  bool TopUp();
  bool Release(std::span<const ZoneId> zones);

  const Deps deps_;
  std::atomic<int> in_transit_{0};
  Thread worker_;
};

}  // namespace zenfs
