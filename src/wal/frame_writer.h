// Writes the frames of all framed files of a volume into the log zones.
//
// The first thread that arrives becomes the leader. It writes the frames of all waiting files in one device
// command, and flushes once if any of them asked for it. The other threads wait until their frames are
// placed. A frame that does not fit into the rest of the zone is split. So zones are filled to the last
// block, and none keeps an active slot without need.
//
// Ownership: owns the right to write the current log zone; only the leader uses it. The parts in Deps
// outlive it.
// Threads: any. mutex_ guards the queue; it is held for no I/O, and nothing is locked under it. The leader
// (row 7 of the lock order) writes to the device, and commits allocations if no zone is ready.
//
// Invariants
//   a frame goes only into a zone of LogZones, whose allocation is durable and seeds the CRC of the frame
//   a zone is pinned from before its frames are written until each of them is in the map of its file
//   a frame whose write failed is written again in another zone with the same sequence, so duplicates are legal.
//   Frames of a file with the same sequence begin at the same byte and agree in the bytes they share
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
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

  explicit FrameWriter(const Deps& deps)
      : deps_(deps), geometry_(deps.device->geometry()), batch_(current_, geometry_, deps.epoch) {}

  // Places the frame. The result has one element for each part of it. After an error nothing is placed.
  [[nodiscard]] Result<std::vector<PlacedFrame>> Write(const FrameJob& job) EXCLUDES(mutex_);
  // The same for a caller that continues after an error: even then, adds to `placed` the parts that were
  // placed. The rest may be on the device too. So the next frame of this file must begin with the rest, and
  // have the next sequence. If the error came after all parts were placed, the flush failed. If memory runs
  // out the process ends, because other threads wait for the leader.
  [[nodiscard]] Status Place(const FrameJob& job, std::vector<PlacedFrame>& placed) noexcept EXCLUDES(mutex_);

  std::uint64_t reserve_waits() const { return reserve_waits_.load(std::memory_order_relaxed); }
  std::uint64_t payload_bytes() const { return payload_bytes_.load(std::memory_order_relaxed); }
  std::uint64_t padding_bytes() const { return padding_bytes_.load(std::memory_order_relaxed); }

 private:
  // The leader's work.
  void Lead() EXCLUDES(mutex_);
  [[nodiscard]] Status PlaceAll() EXCLUDES(mutex_);
  [[nodiscard]] Status NextZone() EXCLUDES(mutex_);
  bool TakeReady() EXCLUDES(mutex_);
  [[nodiscard]] Status Send() EXCLUDES(mutex_);
  [[nodiscard]] Status LeaveZone(const Error& error) EXCLUDES(mutex_);

  const Deps deps_;
  const Geometry& geometry_;

  Mutex mutex_{LockRank::kLogSpace};
  CondVar placed_;  // for followers
  std::vector<QueuedFrame*> queue_ GUARDED_BY(mutex_);
  bool leading_ GUARDED_BY(mutex_) = false;

  // Only the leader uses these, without the lock. They keep their memory from one leader to the next.
  std::vector<QueuedFrame*> jobs_;
  LogCursor current_;
  FrameBatch batch_;

  std::atomic<std::uint64_t> reserve_waits_{0};
  std::atomic<std::uint64_t> payload_bytes_{0};
  std::atomic<std::uint64_t> padding_bytes_{0};
};

}  // namespace zenfs
