// The zones that frames are written to, shared by all framed files of a volume.
//
//   lent (empty) --Reserve committed--> ready --> current --filled, ended or failed--> closed
//                                                                                        |
//          zone manager  <--ReturnLogZone-- Release committed <-- no live frame in it <--+
//
// Write places frames: whoever comes first becomes the leader and writes what all waiting files have, one
// behind the other, in one device command (and one Flush, if any of them asked); the others sleep until their
// frames are placed. A frame that does not fit what is left of the zone is split, so zones are filled to the
// last block and never hold an active slot for nothing.
//
// Invariants
//   a frame goes only into a zone whose reservation is durable; its CRC is seeded with that reservation
//   live(zone) = bytes of frames that a live file points to; a zone is released only when it is 0
//   a frame whose write failed is written again elsewhere with the same sequence: duplicates are legal. Frames of a file
//   with the same sequence begin at the same byte and hold the same bytes, so the one that a mount takes hides nothing
//
// Threads: Write from any thread. No I/O and no commit happens while mutex_ is held; only the zone manager's
// leaf lock comes after it.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "base/aligned_buffer.h"
#include "base/mutex.h"
#include "base/thread.h"
#include "base/uuid.h"
#include "device/zoned_device.h"
#include "format/frame.h"
#include "model/edit.h"
#include "wal/frame_index.h"
#include "zone/zone_manager.h"

namespace zenfs {

// How the log has its reservations committed; the volume implements it over the metadata log.
class LogReservations {
 public:
  virtual ~LogReservations() = default;
  // Durable when it returns. Picks generation and salt.
  [[nodiscard]] virtual Result<LogZone> Reserve(ZoneId zone) = 0;
  [[nodiscard]] virtual Status Release(ZoneId zone) = 0;
};

// A frame of log data to be placed. `buffer` holds room for the header at its front (kFrameHeaderBytes) and the payload
// behind it; it belongs to the caller, who waits for Write.
struct FrameJob {
  std::uint64_t owner = 0;
  std::uint64_t sequence = 0;  // of the first part
  std::uint64_t file_offset = 0;
  std::uint64_t stable_sequence = 0;
  AlignedBuffer* buffer = nullptr;  // size() = kFrameHeaderBytes + payload
  std::uint64_t epoch = 0;          // 0: that of this mount
  bool flush = false;               // the device's cache is flushed before Write returns
  std::uint64_t placed_before = 0;  // so many bytes of the payload, from its front, are on the device already
  std::uint16_t time = 0;           // FrameHeader::time
  bool unsplit = false;             // goes into one zone as a whole; it must have stood in one before
};

// A frame, or part of one, that is on the device. Keeps its zone from being reset.
struct PlacedFrame {
  std::uint64_t sequence = 0;
  std::uint64_t file_offset = 0;
  std::uint64_t length = 0;        // payload
  DeviceOffset payload;            // where it begins
  std::uint64_t device_bytes = 0;  // with header and padding
  ZonePin pin;

  // As its file's index holds it.
  Piece ToPiece() const {
    return {.file_offset = file_offset,
            .length = length,
            .place = payload,
            .sequence = sequence,
            .frame_bytes = device_bytes};
  }
};

// What live files point to in a log zone. Small synced records are mostly padding: their zone is full of live frames
// and holds little all the same.
struct LiveFrames {
  std::uint64_t device_bytes = 0;  // with header and padding: the zone is released when this is 0
  std::uint64_t payload = 0;       // what folding would have to copy

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

class LogSpace {
 public:
  struct Env {
    ZonedDevice* device = nullptr;
    ZoneManager* zones = nullptr;
    LogReservations* reservations = nullptr;
    Uuid volume;
    std::uint64_t epoch = 0;
    std::uint32_t reserve_target = 2;     // ready zones kept ahead of use
    std::chrono::seconds space_wait{30};  // how long a write waits for a zone
  };

  explicit LogSpace(Env env);
  ~LogSpace();

  // --- mount, before Start ---
  // Write may be called, but no zone is released: files have not counted yet what is live.
  // A zone that the metadata reserves. `info` as the device reports it now.
  void Adopt(const LogZone& zone, const ZoneInfo& info) EXCLUDES(mutex_);
  // Of several partly written zones only the roomiest is written on where the device limits active zones: each holds a slot,
  // and the log has one. The others are finished. Once what a mount brings back is written: it may need their room.
  void FinishSpares() EXCLUDES(mutex_);
  // All zones with live frames are pinned: for want of space Write may release others from here on.
  void MayRelease() EXCLUDES(mutex_);
  // Starts the background thread, which keeps zones ready, releases dead ones and asks reclaim to clean mostly dead ones.
  // Errors: those of Thread::Start; then Write still reserves what it needs itself.
  [[nodiscard]] Status Start() EXCLUDES(mutex_);

  // Places the frame; the result has one element unless it was split. On an error nothing was placed.
  [[nodiscard]] Result<std::vector<PlacedFrame>> Write(const FrameJob& job) EXCLUDES(mutex_);
  // The same for a caller who goes on where an error stopped it: adds to `placed` also then what was placed of the front,
  // which is the caller's. What is left may be on the device all the same, so the next frame of this file has to be one
  // that begins with it, with the next sequence. If all was placed the flush has failed.
  // If memory runs out the process ends: others wait for the leader.
  [[nodiscard]] Status Place(const FrameJob& job, std::vector<PlacedFrame>& placed) noexcept EXCLUDES(mutex_);
  // Reads a placed frame of `owner` back, with the header in front, into an empty `buffer` with room for all of
  // frame_bytes. Errors: those of the read; kCorruption if another frame, or none, stands there.
  [[nodiscard]] Status ReadFrame(std::uint64_t owner, const Piece& piece, AlignedBuffer& buffer)
      EXCLUDES(mutex_);

  // A live file points to more, or fewer, frames in `zone`. Write has counted what it placed.
  void AddLive(ZoneId zone, LiveFrames frames) EXCLUDES(mutex_);
  void RemoveLive(ZoneId zone, LiveFrames frames) EXCLUDES(mutex_);

  // --- reclaim ---
  std::vector<LogZoneStatus> Zones() const EXCLUDES(mutex_);
  // Releases zones without live frames, on the caller's thread. True if there were any.
  bool ReleaseDead() EXCLUDES(mutex_);
  // Reclaim is about to clean this zone: when it is released, that says nothing about how long frames live.
  void NoteCleaning(ZoneId zone) EXCLUDES(mutex_);
  // Gives a zone that was made ready and never written back to the zone manager, as headroom. False if there is none.
  bool GiveBackReady() EXCLUDES(mutex_);

  // Something became free: look for zones to release.
  void Poke() EXCLUDES(mutex_);
  void Stop() EXCLUDES(mutex_);

  std::uint64_t reserve_waits() const { return reserve_waits_.load(std::memory_order_relaxed); }
  std::uint64_t payload_bytes() const { return payload_bytes_.load(std::memory_order_relaxed); }
  std::uint64_t padding_bytes() const { return padding_bytes_.load(std::memory_order_relaxed); }

 private:
  // A reserved zone and how far it is written.
  struct Zone {
    LogZone reservation;
    std::uint64_t capacity = 0;
    std::uint64_t written = 0;
    LiveFrames live;
    bool closed = false;     // no frame goes here any more
    bool releasing = false;  // somebody is committing its release
    bool cleaned = false;    // reclaim has moved frames out of it
  };
  // Where the next frame goes. The leader's own, so it is used without the lock.
  struct Cursor {
    ZoneId zone;
    FrameSeed seed;
    DeviceOffset at;
    std::uint64_t room = 0;  // 0: take the next zone
  };
  // A job in the queue, on its caller's stack.
  struct Waiting {
    const FrameJob* job = nullptr;
    std::uint64_t payload_placed = 0;  // with what was there before
    std::uint64_t parts = 0;
    std::vector<PlacedFrame> placed;
    Status status;
    bool done = false;

    bool whole() const { return payload_placed + kFrameHeaderBytes == job->buffer->size(); }
    bool settled() const { return whole() || !status.ok(); }
  };
  // What the leader takes to the device in one command.
  struct Batch {
    struct Part {
      Waiting* waiting = nullptr;
      PlacedFrame frame;
    };
    std::vector<ByteView> pieces;
    std::vector<Part> parts;
    std::deque<AlignedBuffer> copies;  // of parts that had to be moved behind a header of their own
    std::uint64_t bytes = 0;
  };

  // The leader's work, in log_space_write.cc.
  void Lead(const std::deque<Waiting*>& jobs) EXCLUDES(mutex_);
  [[nodiscard]] Status PlaceAll(const std::deque<Waiting*>& jobs) EXCLUDES(mutex_);
  [[nodiscard]] Status NextZone() EXCLUDES(mutex_);
  bool TakeReady() EXCLUDES(mutex_);
  [[nodiscard]] Status MayGoOn() EXCLUDES(mutex_);
  bool AnyInTransit() const EXCLUDES(mutex_);
  Batch Collect(const std::deque<Waiting*>& jobs);
  void AddPart(Batch& batch, Waiting& waiting);
  void AddFiller(Batch& batch, std::uint64_t room);
  [[nodiscard]] Status Send(Batch& batch) EXCLUDES(mutex_);
  [[nodiscard]] Status LeaveZone(const Error& error) EXCLUDES(mutex_);

  std::vector<ZoneId> CloseSpares() REQUIRES(mutex_);

  // The background thread's work, in log_space_worker.cc.
  void Work() EXCLUDES(mutex_);
  [[nodiscard]] Status ReserveOne(Deadline deadline) EXCLUDES(mutex_);
  [[nodiscard]] Status LendAndReserve(Deadline deadline) EXCLUDES(mutex_);
  void NoteRefusal(const Error& error) EXCLUDES(mutex_);
  void TopUp() EXCLUDES(mutex_);
  bool IsWorthCleaning() const EXCLUDES(mutex_);
  void NoteSurvival(const Zone& zone) REQUIRES(mutex_);

  const Env env_;
  const std::uint32_t block_;

  mutable Mutex mutex_;
  CondVar placed_;  // for followers
  CondVar wake_;    // for the background thread
  std::deque<Waiting*> queue_ GUARDED_BY(mutex_);
  bool leading_ GUARDED_BY(mutex_) = false;
  std::map<ZoneId, Zone> zones_ GUARDED_BY(mutex_);
  std::deque<ZoneId> ready_ GUARDED_BY(mutex_);
  bool started_ GUARDED_BY(mutex_) = false;
  bool may_release_ GUARDED_BY(mutex_) = false;  // counts of live frames, or pins in their place, are whole
  bool stopping_ GUARDED_BY(mutex_) = false;
  bool poked_ GUARDED_BY(mutex_) = false;
  bool short_of_space_ GUARDED_BY(mutex_) = false;  // the last try to reserve a zone found none
  int in_transit_ GUARDED_BY(mutex_) = 0;           // tries to reserve or release a zone that are under way
  Status health_ GUARDED_BY(mutex_);                // not ok: nothing can be committed any more
  std::uint64_t newest_generation_ GUARDED_BY(mutex_) = 0;
  // How many zones were reserved, in the mean of the last ones, between a zone's reservation and its death.
  std::uint64_t survival_ GUARDED_BY(mutex_) = 0;

  Cursor current_;  // of whoever leads

  std::atomic<std::uint64_t> room_{0};
  std::atomic<std::uint64_t> reserve_waits_{0};
  std::atomic<std::uint64_t> payload_bytes_{0};
  std::atomic<std::uint64_t> padding_bytes_{0};
  Thread worker_;
};

}  // namespace zenfs
