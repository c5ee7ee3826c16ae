// The account of the zones that are allocated to the log.
//
//       Add                 TakeReady                  NoteWritten (full), Close
//   -----------> kReady --------------> kCurrent ------------------------------> kClosed
//                 | |                                                            ^    |
//                 | '------------------------ CloseSpares -----------------------'    |
//                 | TakeUnwritten                                                     | TakeDead
//                 '-----------------------> being released <--------------------------'
//                                                  |
//                       EndRelease: the entry goes, or stays in its state if the commit failed
//
// FrameWriter takes the zones from here and says how far they are written. LogZoneSupply enters allocations and releases.
// Framed files count here which of their frames are live.
//
// Ownership: holds no zone by itself. A zone is lent by the zone manager from before Add until after EndRelease.
// Threads: any. mutex_ is held for no I/O and no commit; only the zone manager's leaf lock comes after it.
//
// Invariants
//   each zone in the account has a durable allocation; a frame's CRC is seeded with that allocation
//   at most one zone is kCurrent; it is not given to be released
//   live(zone) = bytes of the frames that live files point to; TakeDead gives a zone only when it is 0 and nobody pins it
//
// Errors: none of its own. It remembers what ended the log for good (NoteRefusal) and says so (MayGoOn).
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <vector>

#include "base/mutex.h"
#include "base/uuid.h"
#include "device/zoned_device.h"
#include "format/frame.h"
#include "model/edit.h"
#include "zone/zone_manager.h"

namespace zenfs {

// What live files point to in a log zone. Small synced records are mostly padding: their zone is full of live frames
// and holds little all the same.
struct LiveFrames {
  std::uint64_t device_bytes = 0;  // with header and padding: the zone is released when this is 0
  std::uint64_t payload = 0;       // what cleaning would have to copy

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
  bool closed = false;  // no frame goes here any more
  bool held =
      false;  // it is being released; or frames of deleted files that are still open keep it, if who knows says so
  bool young = false;  // zones that died by themselves did so at a higher age than this one has
};

// Where the next frame goes in the current zone.
struct LogCursor {
  ZoneId zone;
  FrameSeed seed;
  DeviceOffset at;
  std::uint64_t room = 0;  // 0: take the next zone
};

class LogZones {
 public:
  // `device` and `zones` outlive it. `volume` seeds the frames.
  LogZones(const ZonedDevice& device, ZoneManager& zones, const Uuid& volume)
      : device_(device), manager_(zones), volume_(volume) {}

  enum class Phase { kMounting, kRunning, kStopped };

  // --- mount, before Start ---
  // Of several partly written zones only one is written on: the current one, or else the one with the most room. Returns
  // the others, which are kClosed from here on.
  std::vector<ZoneId> CloseSpares() EXCLUDES(mutex_);
  // All zones with live frames are pinned: TakeDead may give others from here on.
  void MayRelease() EXCLUDES(mutex_);

  // The mount is complete: live frames are counted. Wakes AwaitWork.
  void Start() EXCLUDES(mutex_);
  // From here on no zone is given to be released, and AwaitWork and MayGoOn say so.
  void Stop() EXCLUDES(mutex_);
  Phase phase() const EXCLUDES(mutex_);

  // --- who writes frames, one thread at a time ---
  // The next ready zone, which is kCurrent now.
  std::optional<LogCursor> TakeReady() EXCLUDES(mutex_);
  // `bytes` more are written to the current zone; `live` of them are counted. A full zone is closed.
  void NoteWritten(ZoneId zone, std::uint64_t bytes, LiveFrames live) EXCLUDES(mutex_);
  void Close(ZoneId zone) EXCLUDES(mutex_);
  // Errors: kShutdown after Stop, or the refusal that ended the log.
  [[nodiscard]] Status MayGoOn() const EXCLUDES(mutex_);

  // --- files ---
  // A live file points to more, or fewer, frames in `zone`. NoteWritten has counted those that were placed.
  void AddLive(ZoneId zone, LiveFrames frames) EXCLUDES(mutex_);
  void RemoveLive(ZoneId zone, LiveFrames frames) EXCLUDES(mutex_);
  // Of the frames in `zone`; none if it is no log zone.
  std::optional<FrameSeed> SeedOf(ZoneId zone) const EXCLUDES(mutex_);

  // --- reclaim ---
  std::vector<LogZoneStatus> Zones() const EXCLUDES(mutex_);
  // Reclaim is about to clean this zone: when it is released, that says nothing about how long frames live.
  void NoteCleaning(ZoneId zone) EXCLUDES(mutex_);

  // --- who allocates and releases zones ---
  // A zone with a durable allocation. It is kReady if it is `writable` and has room, else kClosed. A partly written zone
  // is the next that TakeReady gives, because it holds an active slot until it is full; an empty one is the last.
  void Add(const LogZone& allocated, std::uint64_t capacity, std::uint64_t written = 0, bool writable = true)
      EXCLUDES(mutex_);
  // Each zone that is given must be given back with EndRelease.
  std::vector<ZoneId> TakeDead() EXCLUDES(mutex_);
  std::optional<ZoneId> TakeUnwritten() EXCLUDES(mutex_);
  void EndRelease(ZoneId zone, bool released) EXCLUDES(mutex_);
  // Once the metadata log is read-only no zone is allocated or released any more, and copies are lost.
  void NoteRefusal(const Error& error) EXCLUDES(mutex_);
  bool IsShortOf(std::size_t ready_target) const EXCLUDES(mutex_);
  // Waits until somebody calls Wake, a zone may have died, or fewer than `ready_target` zones are ready; in the last case
  // `pause` longer. False once stopped.
  bool AwaitWork(std::size_t ready_target, std::chrono::milliseconds pause) EXCLUDES(mutex_);
  void Wake() EXCLUDES(mutex_);

 private:
  enum class State { kReady, kCurrent, kClosed };
  struct Zone {
    LogZone allocation;
    std::uint64_t capacity = 0;
    std::uint64_t written = 0;
    LiveFrames live;
    State state = State::kReady;
    bool releasing = false;  // from TakeDead or TakeUnwritten until EndRelease
    bool cleaned = false;    // reclaim has moved frames out of it
  };

  const ZonedDevice& device_;
  ZoneManager& manager_;
  const Uuid volume_;

  mutable Mutex mutex_{LockRank::kLogSpace};
  CondVar wake_;  // for AwaitWork
  std::map<ZoneId, Zone> zones_ GUARDED_BY(mutex_);
  std::deque<ZoneId> ready_ GUARDED_BY(mutex_);  // those that are kReady and not being released
  Phase phase_ GUARDED_BY(mutex_) = Phase::kMounting;
  bool may_release_ GUARDED_BY(mutex_) = false;  // counts of live frames, or pins in their place, are whole
  bool woken_ GUARDED_BY(mutex_) = false;
  Status health_ GUARDED_BY(mutex_);  // not ok: nothing can be committed any more
  std::uint64_t newest_generation_ GUARDED_BY(mutex_) = 0;
  // How many zones were allocated, in the mean of the last ones, between a zone's allocation and its death.
  std::uint64_t survival_ GUARDED_BY(mutex_) = 0;
};

}  // namespace zenfs
