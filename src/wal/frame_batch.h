// Frames of several jobs, laid out for one write to a log zone.
//
// A frame gets its header in place, in the job's buffer. Only the later parts of a split frame are copied,
// because their headers would overwrite the payload before them.
//
// Ownership: callers own the jobs and their buffers, and wait until the batch is written.
// Threads: no lock; only the leader of FrameWriter uses it.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "base/aligned_buffer.h"
#include "base/status.h"
#include "device/geometry.h"
#include "wal/frame_job.h"
#include "wal/log_zones.h"

namespace zenfs {

// A job in the queue of FrameWriter. It is on the caller's stack.
struct QueuedFrame {
  const FrameJob* job = nullptr;
  std::uint64_t payload_placed = 0;  // bytes; includes FrameJob::placed_before
  std::uint64_t parts = 0;
  std::vector<PlacedFrame>* placed = nullptr;  // of the caller
  Status status;
  bool done = false;
  bool append_failed = false;  // the leader writes it
  bool cut = false;            // parts of it are placed, and its caller comes again with the rest

  std::uint64_t payload_left() const { return job->buffer->size() - kFrameHeaderBytes - payload_placed; }
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
  bool whole() const { return payload_placed + kFrameHeaderBytes == job->buffer->size(); }
  bool settled() const { return whole() || cut || !status.ok(); }
};

class FrameBatch {
 public:
  // Each batch is written at `cursor`, which outlives this. `epoch`: for jobs without one.
  FrameBatch(const LogCursor& cursor, const Geometry& geometry, std::uint64_t epoch)
      : cursor_(cursor), geometry_(geometry), epoch_(epoch) {}

  // Adds the rest of the job, or as much of it as fits into LogCursor::left(). Call this once for each job, while bytes() is
  // less than that: after it, either the job is complete or nothing is left. A job that is too large for any zone gets an error
  // instead.
  void Add(QueuedFrame& queued);

  // Begins the next batch. It keeps its memory, so small batches allocate nothing.
  void Clear();

  bool empty() const { return pieces_.empty(); }
  std::uint64_t bytes() const { return bytes_; }
  std::span<const ByteView> pieces() const { return pieces_; }
  // Call this when the batch is on the device: passes each frame to its job, with `pin`.
  void Deliver(ZonePin pin);
  // The bytes that will be live after Deliver.
  LiveFrames live() const;

 private:
  struct Part {
    QueuedFrame* queued = nullptr;
    PlacedFrame frame;
  };

  void AddFiller(std::uint64_t room);
  // Buffer of the next part of the job. The reference is valid until the next call; its memory until the
  // end.
  AlignedBuffer& BufferOf(const QueuedFrame& queued, std::uint64_t payload, std::uint64_t device_bytes);

  const LogCursor& cursor_;
  const Geometry& geometry_;
  const std::uint64_t epoch_;
  std::vector<ByteView> pieces_;
  std::vector<Part> parts_;
  std::vector<AlignedBuffer> copies_;  // later parts of split frames, and fillers
  std::uint64_t bytes_ = 0;
};

}  // namespace zenfs
