// Writes the frames of all framed files of a volume into the log zones.
//
// Frames are sent in one of two ways (SendChoice in wal/zone_append.h):
//
//   writes    The first thread that arrives becomes the leader. It writes the frames of all waiting files in one
//             device command, and flushes once if any of them asked for it. The other threads wait until their
//             frames are placed.
//   appends   Each thread reserves room in the zone and appends its own frame (zone append); up to `depth` are in flight. The
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
#include <span>
#include <utility>
#include <vector>

#include "base/aligned_buffer.h"
#include "base/mutex.h"
#include "base/status.h"
#include "device/zoned_device.h"
#include "format/frame.h"
#include "wal/frame_read.h"
#include "wal/log_zones.h"
#include "wal/zone_append.h"
#include "zone/zone_manager.h"

namespace zenfs {

// A frame of log data to write. `buffer` has room for the header (kFrameHeaderBytes), then the payload. The
// caller owns it and waits for FrameWriter.
struct FrameJob {
  std::uint64_t owner = 0;
  std::uint64_t sequence = 0;  // of the first part
  std::uint64_t file_offset = 0;
  std::uint64_t stable_sequence = 0;
  AlignedBuffer* buffer = nullptr;  // size() = kFrameHeaderBytes + payload
  std::uint64_t epoch = 0;          // 0: the epoch of this mount
  bool flush = false;               // flush the device's cache before the call returns
  std::uint64_t placed_before = 0;  // bytes at the front of the payload that are on the device already
  std::uint16_t time = 0;           // FrameHeader::time
  bool unsplit = false;             // must not be split; the frame has been in one zone before

  std::uint64_t payload_bytes() const { return buffer->size() - kFrameHeaderBytes; }
};

// A frame, or part of one, on the device. Its pin keeps the zone from being reset.
struct PlacedFrame {
  std::uint64_t sequence = 0;
  std::uint64_t file_offset = 0;
  std::uint64_t length = 0;        // payload
  DeviceOffset payload;            // place of its first byte
  std::uint64_t device_bytes = 0;  // with header and padding
  ZonePin pin;

  LiveFrames live() const { return {.device_bytes = device_bytes, .payload = length}; }
  // The entry for the index of its file.
  Piece ToPiece() const {
    return {.file_offset = file_offset,
            .length = length,
            .place = payload,
            .sequence = sequence,
            .frame_bytes = device_bytes};
  }
};

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
  // After an error too it adds to `placed` the parts that were placed. The rest may be on the device too. So the next frame of
  // this file must begin with the rest, and have the next sequence. If the error came after all parts were placed, the flush
  // failed. If memory runs out the process ends, because other threads wait for the leader.
  [[nodiscard]] Status Place(const FrameJob& job, std::vector<PlacedFrame>& placed) noexcept EXCLUDES(mutex_);
  // The header of the frame in one part, for a caller that writes it elsewhere (wal/zrwa_sync_blocks.h).
  FrameHeader HeaderOf(const FrameJob& job) const;

  std::uint64_t reserve_waits() const { return reserve_waits_.load(std::memory_order_relaxed); }
  std::uint64_t payload_bytes() const { return payload_bytes_.load(std::memory_order_relaxed); }
  std::uint64_t padding_bytes() const { return padding_bytes_.load(std::memory_order_relaxed); }
  // Without the lock: SendChoice::state() reads only atomics.
  SendChoice::State sending() const NO_THREAD_SAFETY_ANALYSIS { return choice_.state(); }

 private:
  // A job in the queue. It is on the caller's stack.
  struct Queued {
    const FrameJob* job = nullptr;
    std::uint64_t payload_placed = 0;  // bytes; includes FrameJob::placed_before
    std::uint64_t parts = 0;
    std::vector<PlacedFrame>* placed = nullptr;  // of the caller
    Status status;
    bool done = false;
    bool append_failed = false;  // the leader writes it
    bool cut = false;            // parts of it are placed, and its caller comes again with the rest

    std::uint64_t payload_left() const { return job->payload_bytes() - payload_placed; }
    // Of its next part, with `payload` bytes. `epoch`: for a job without one.
    FrameHeader HeaderOf(std::uint64_t payload, std::uint64_t epoch) const;
    // The next part, of `payload` bytes in a frame of `device_bytes` that begins at `at`. Without a pin.
    PlacedFrame PartAt(DeviceOffset at, std::uint64_t payload, std::uint64_t device_bytes) const;
    // The next part is on the device.
    void Placed(PlacedFrame frame) {
      payload_placed += frame.length;
      parts += 1;
      placed->push_back(std::move(frame));
    }
    bool whole() const { return payload_placed == job->payload_bytes(); }
    bool settled() const { return whole() || cut || !status.ok(); }
  };

  // Frames of several jobs, laid out for one write to a log zone. A frame gets its header in place, in the job's buffer. Only
  // the later parts of a split frame are copied, because their headers would overwrite the payload before them.
  class Batch {
   public:
    // Each batch is written at `cursor`, which outlives this. `epoch`: for jobs without one.
    Batch(const LogCursor& cursor, const Geometry& geometry, std::uint64_t epoch)
        : cursor_(cursor), geometry_(geometry), epoch_(epoch) {}

    // Adds the rest of the job, or as much of it as fits into LogCursor::left(). Call this once for each job, while bytes() is
    // less than that: after it, either the job is complete or nothing is left. A job that is too large for any zone gets an
    // error instead.
    void Add(Queued& queued);
    // Begins the next batch. It keeps its memory, so small batches allocate nothing.
    void Clear();

    bool empty() const { return pieces_.empty(); }
    std::uint64_t bytes() const { return bytes_; }
    std::span<const ByteView> pieces() const { return pieces_; }
    // The bytes that will be live after Deliver.
    LiveFrames live() const;
    // Call this when the batch is on the device: passes each frame to its job, with `pin`.
    void Deliver(ZonePin pin);

   private:
    struct Part {
      Queued* queued = nullptr;
      PlacedFrame frame;
    };

    // Fills the rest of the zone with zeros, which a scan skips.
    void AddFiller(std::uint64_t room);
    // A buffer that holds the next part of the job, with room for its header. The reference is valid until the next call; its
    // memory until the end.
    AlignedBuffer& BufferOf(const Queued& queued, std::uint64_t payload, std::uint64_t device_bytes);

    const LogCursor& cursor_;
    const Geometry& geometry_;
    const std::uint64_t epoch_;
    std::vector<ByteView> pieces_;
    std::vector<Part> parts_;
    std::vector<AlignedBuffer> copies_;  // later parts of split frames, and fillers
    std::uint64_t bytes_ = 0;
  };

  // An append in flight: the room that it reserved and the seed of its zone.
  struct Reservation {
    ZoneId zone;
    FrameSeed seed;
    std::uint64_t bytes = 0;
  };

  // Returns when the frame is placed or has an error.
  void Await(Queued& queued) REQUIRES(mutex_);

  // --- appends ---
  bool MayAppend(const Queued& queued) const REQUIRES(mutex_);
  // Appends the frame at the front of the queue, which belongs to the caller. If that fails, it is at the front
  // again.
  void AppendFront() REQUIRES(mutex_);
  Reservation Reserve(std::uint64_t bytes) REQUIRES(mutex_);
  // Errors: those of an append; kIo if the place in the device's reply cannot be.
  [[nodiscard]] Status ZoneAppend(Queued& queued, const Reservation& reserved) EXCLUDES(mutex_);
  [[nodiscard]] Status TakePlace(const Reservation& reserved, DeviceOffset at) EXCLUDES(mutex_);
  void NoteFailed(const Reservation& reserved, const Error& error) REQUIRES(mutex_);

  // --- the leader's work ---
  void TakeLead() REQUIRES(mutex_);
  void Lead() EXCLUDES(mutex_);
  [[nodiscard]] Status PlaceAll() EXCLUDES(mutex_);
  bool TakeNext() EXCLUDES(mutex_);
  [[nodiscard]] Status NextZone() EXCLUDES(mutex_);
  [[nodiscard]] Status Send() EXCLUDES(mutex_);
  [[nodiscard]] Status LeaveZone(const Error& error) EXCLUDES(mutex_);

  // `bytes` of frames were written to the zone, `live` of them to be live.
  void NoteOnDevice(ZoneId zone, std::uint64_t bytes, LiveFrames live);

  const Deps deps_;
  const Geometry& geometry_;

  Mutex mutex_{LockRank::kLogSpace};
  CondVar placed_;  // for followers, and for frames that wait for an append to end
  std::vector<Queued*> queue_ GUARDED_BY(mutex_);
  bool leading_ GUARDED_BY(mutex_) = false;
  std::uint32_t appending_ GUARDED_BY(mutex_) = 0;  // appends in flight; 0 while leading_
  AppendPlaces places_ GUARDED_BY(mutex_);
  SendChoice choice_ GUARDED_BY(mutex_);

  // The leader uses these without the lock. They keep their memory from one leader to the next.
  std::vector<Queued*> jobs_;
  // Appends use the first two with the lock, while nobody leads.
  LogCursor current_;            // behind the reserved room
  std::optional<Error> failed_;  // an append to the current zone failed: the leader leaves the zone
  Batch batch_;

  std::atomic<std::uint64_t> reserve_waits_{0};
  std::atomic<std::uint64_t> payload_bytes_{0};
  std::atomic<std::uint64_t> padding_bytes_{0};
};

}  // namespace zenfs
