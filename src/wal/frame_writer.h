// Writes the frames of all framed files of a volume into the log zones.
//
// The first thread that comes becomes the leader. It writes what all waiting files have, one frame behind the other, in one
// device command (and one Flush, if any of them asked); the others sleep until their frames are placed. A frame that does
// not fit what is left of the zone is split, so zones are filled to the last block and never hold an active slot for
// nothing.
//
// Ownership: owns the right to write the current log zone, which the leader has. The parts in Deps outlive it.
// Threads: Write and Place from any thread. mutex_ guards the queue; it is held for no I/O, and nothing is locked under it.
// The leader (row 7 of the lock order) writes to the device, and commits allocations when no zone is ready.
//
// Invariants
//   a frame goes only into a zone of LogZones, whose allocation is durable; its CRC is seeded with that allocation
//   a zone is pinned from before its frames are written until each of them is in its file's index
//   a frame whose write failed is written again elsewhere with the same sequence: duplicates are legal. Frames of a file
//   with the same sequence begin at the same byte and hold the same bytes, so the one that a mount takes hides nothing
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <vector>

#include "base/mutex.h"
#include "base/status.h"
#include "device/zoned_device.h"
#include "wal/frame_batch.h"
#include "wal/frame_job.h"
#include "wal/log_zone_supply.h"
#include "wal/log_zones.h"
#include "zone/zone_manager.h"

namespace zenfs {

class FrameWriter {
 public:
  struct Deps {
    ZonedDevice* device = nullptr;
    ZoneManager* zones = nullptr;
    LogZones* log_zones = nullptr;
    LogZoneSupply* supply = nullptr;
    std::uint64_t epoch = 0;              // of this mount
    std::chrono::seconds space_wait{30};  // how long a write waits for a zone
  };

  explicit FrameWriter(const Deps& deps) : deps_(deps), geometry_(deps.device->geometry()) {}

  // Places the frame; the result has one element unless it was split. On an error nothing was placed.
  [[nodiscard]] Result<std::vector<PlacedFrame>> Write(const FrameJob& job) EXCLUDES(mutex_);
  // The same for a caller who goes on where an error stopped it: adds to `placed` also then what was placed of the front,
  // which is the caller's. What is left may be on the device all the same, so the next frame of this file has to be one
  // that begins with it, with the next sequence. If all was placed the flush has failed.
  // If memory runs out the process ends: others wait for the leader.
  [[nodiscard]] Status Place(const FrameJob& job, std::vector<PlacedFrame>& placed) noexcept EXCLUDES(mutex_);

  std::uint64_t reserve_waits() const { return reserve_waits_.load(std::memory_order_relaxed); }
  std::uint64_t payload_bytes() const { return payload_bytes_.load(std::memory_order_relaxed); }
  std::uint64_t padding_bytes() const { return padding_bytes_.load(std::memory_order_relaxed); }

 private:
  // The leader's work.
  void Lead(const std::deque<QueuedFrame*>& jobs) EXCLUDES(mutex_);
  [[nodiscard]] Status PlaceAll(const std::deque<QueuedFrame*>& jobs) EXCLUDES(mutex_);
  [[nodiscard]] Status NextZone() EXCLUDES(mutex_);
  bool TakeReady() EXCLUDES(mutex_);
  [[nodiscard]] Status Send(FrameBatch& batch) EXCLUDES(mutex_);
  [[nodiscard]] Status LeaveZone(const Error& error) EXCLUDES(mutex_);

  const Deps deps_;
  const Geometry& geometry_;

  Mutex mutex_{LockRank::kLogSpace};
  CondVar placed_;  // for followers
  std::deque<QueuedFrame*> queue_ GUARDED_BY(mutex_);
  bool leading_ GUARDED_BY(mutex_) = false;

  LogCursor current_;  // the leader's own, so it is used without the lock

  std::atomic<std::uint64_t> reserve_waits_{0};
  std::atomic<std::uint64_t> payload_bytes_{0};
  std::atomic<std::uint64_t> padding_bytes_{0};
};

}  // namespace zenfs
