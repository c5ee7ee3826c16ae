// Writes the frames of all framed files of a volume into the log zones.
//
// Frames are sent in one of two ways (wal/send_choice.h):
//
//   writes    The first thread that arrives becomes the leader. It writes the frames of all waiting files in one
//             device command, and flushes once if any of them asked for it. The other threads wait until their
//             frames are placed.
//   appends   Each thread reserves room in the zone and appends its own frame; up to `depth` are in flight. The
//             device chooses the places and completes them in any order.
//
// The leader also does what an append cannot do: it takes the next zone, splits a frame that does not fit into
// the rest of a zone (so zones are filled to the last block, and none keeps an active slot without need), and
// writes frames whose append failed. It leads only while no append is in flight, and no append begins meanwhile.
//
// Ownership: owns the right to write the current log zone: the leader, or else the appends in flight, each the
// room that it reserved. The parts in Deps outlive it.
// Threads: any. mutex_ is held for no I/O; no lock comes after it. The leader (row 7 of the lock order) writes to
// the device, and commits allocations if no zone is ready. An append only uses the device.
//
// Invariants
//   room reserved in a zone is what will be written to it: the device takes no append that was not reserved
//   a frame goes only into a zone of LogZones, whose allocation is durable and seeds the CRC of the frame
//   a zone is pinned from before its frames are written until each of them is in the map of its file
//   a frame whose write failed is written again in another zone with the same sequence, so duplicates are legal.
//   Frames of a file with the same sequence begin at the same byte and agree in the bytes they share
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/mutex.h"
#include "base/status.h"
#include "device/zoned_device.h"
#include "wal/append_places.h"
#include "wal/frame_batch.h"
#include "wal/frame_job.h"
#include "wal/log_zone_supply.h"
#include "wal/log_zones.h"
#include "wal/send_choice.h"
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
    WalSending sending = WalSending::kAuto;
    std::uint32_t depth = 16;  // most appends in flight
  };

  explicit FrameWriter(const Deps& deps)
      : deps_(deps),
        geometry_(deps.device->geometry()),
        choice_(deps.sending, geometry_.max_append_bytes != 0),
        batch_(current_, geometry_, deps.epoch) {}

  // Places the frame. The result has one element for each part of it. After an error nothing is placed.
  [[nodiscard]] Result<std::vector<PlacedFrame>> Write(const FrameJob& job) EXCLUDES(mutex_);
  // The same for a caller that publishes what was placed. Returns OK with only a front of the frame placed if the rest has to wait
  // for a zone: call it again with the rest.
  // After an error too it adds to `placed` the parts that were placed. The rest may be on the device too. So the next frame of this file must begin with the rest, and
  // have the next sequence. If the error came after all parts were placed, the flush failed. If memory runs
  // out the process ends, because other threads wait for the leader.
  [[nodiscard]] Status Place(const FrameJob& job, std::vector<PlacedFrame>& placed) noexcept EXCLUDES(mutex_);

  std::uint64_t epoch() const { return deps_.epoch; }
  std::uint64_t reserve_waits() const { return reserve_waits_.load(std::memory_order_relaxed); }
  std::uint64_t payload_bytes() const { return payload_bytes_.load(std::memory_order_relaxed); }
  std::uint64_t padding_bytes() const { return padding_bytes_.load(std::memory_order_relaxed); }
  SendChoice::State sending() const { return choice_.state(); }

 private:
  // An append in flight: the room that it reserved and the seed of its zone.
  struct Reservation {
    ZoneId zone;
    FrameSeed seed;
    std::uint64_t bytes = 0;
  };

  // Returns when the frame is placed or has an error.
  void Await(QueuedFrame& queued) REQUIRES(mutex_);
  void TakeLead() REQUIRES(mutex_);

  // --- appends ---
  bool MayAppend(const QueuedFrame& queued) const REQUIRES(mutex_);
  // Appends the frame at the front of the queue, which belongs to the caller. If that fails, it is at the front
  // again.
  void AppendFront() REQUIRES(mutex_);
  Reservation Reserve(std::uint64_t bytes) REQUIRES(mutex_);
  // Errors: those of an append; kIo if the place in the device's reply cannot be.
  [[nodiscard]] Status Append(QueuedFrame& queued, const Reservation& reserved) EXCLUDES(mutex_);
  [[nodiscard]] Status TakePlace(const Reservation& reserved, DeviceOffset at) EXCLUDES(mutex_);
  void NoteFailed(const Reservation& reserved, const Error& error) REQUIRES(mutex_);

  // --- the leader's work ---
  void Lead() EXCLUDES(mutex_);
  [[nodiscard]] Status PlaceAll() EXCLUDES(mutex_);
  [[nodiscard]] Status NextZone() EXCLUDES(mutex_);
  bool TakeNext() EXCLUDES(mutex_);
  [[nodiscard]] Status Send() EXCLUDES(mutex_);
  [[nodiscard]] Status LeaveZone(const Error& error) EXCLUDES(mutex_);

  // `bytes` of frames were written to the zone, `live` of them to be live.
  void NoteOnDevice(ZoneId zone, std::uint64_t bytes, LiveFrames live);

  const Deps deps_;
  const Geometry& geometry_;

  Mutex mutex_{LockRank::kLogSpace};
  CondVar placed_;  // for followers, and for frames that wait for an append to end
  std::vector<QueuedFrame*> queue_ GUARDED_BY(mutex_);
  bool leading_ GUARDED_BY(mutex_) = false;
  std::uint32_t appending_ GUARDED_BY(mutex_) = 0;  // appends in flight; 0 while leading_
  AppendPlaces places_ GUARDED_BY(mutex_);
  SendChoice choice_;  // under mutex_, except for state()

  // The leader uses these without the lock. They keep their memory from one leader to the next.
  std::vector<QueuedFrame*> jobs_;
  // Appends use the last two with the lock, while nobody leads.
  LogCursor current_;            // behind the reserved room
  std::optional<Error> failed_;  // an append to the current zone failed: the leader leaves the zone
  FrameBatch batch_;

  std::atomic<std::uint64_t> reserve_waits_{0};
  std::atomic<std::uint64_t> payload_bytes_{0};
  std::atomic<std::uint64_t> padding_bytes_{0};
};

}  // namespace zenfs
