// Frames of several jobs, laid out for one write to a log zone.
//
// A job's frame is sealed where it stands, in the job's buffer. Only a later part of a split frame is copied, because its
// header would overwrite what stands before it.
//
// Ownership: the jobs and their buffers are the callers', who wait until the batch is written.
// Threads: none of its own; the leader of FrameWriter has it.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/aligned_buffer.h"
#include "base/status.h"
#include "device/geometry.h"
#include "wal/frame_job.h"
#include "wal/log_zones.h"

namespace zenfs {

// A job in the queue of FrameWriter, on its caller's stack.
struct QueuedFrame {
  const FrameJob* job = nullptr;
  std::uint64_t payload_placed = 0;  // with what was there before
  std::uint64_t parts = 0;
  std::vector<PlacedFrame> placed;
  Status status;
  bool done = false;

  bool whole() const { return payload_placed + kFrameHeaderBytes == job->buffer->size(); }
  bool settled() const { return whole() || !status.ok(); }
};

class FrameBatch {
 public:
  // For what `cursor` has room for. `epoch`: of frames that name none.
  FrameBatch(const LogCursor& cursor, const Geometry& geometry, std::uint64_t epoch)
      : cursor_(cursor), geometry_(geometry), epoch_(epoch) {}

  // Adds what is left of the job, or as much of it as the zone has room for. Call it once a job: a part ends either the
  // job or the zone. A job that no zone can take gets an error instead.
  void Add(QueuedFrame& queued);

  bool empty() const { return pieces_.empty(); }
  std::uint64_t bytes() const { return bytes_; }
  std::span<const ByteView> pieces() const { return pieces_; }
  // The batch is on the device: hands its frames out to their jobs, each with `pin`.
  void Deliver(const ZonePin& pin);
  // Bytes that files will point to.
  LiveFrames live() const;
  std::uint64_t payload_bytes() const;

 private:
  struct Part {
    QueuedFrame* queued = nullptr;
    PlacedFrame frame;
  };

  void AddFiller(std::uint64_t room);
  // Valid until the next copy is made; its memory stays.
  AlignedBuffer& BufferOf(const QueuedFrame& queued, std::uint64_t payload, std::uint64_t device_bytes);

  const LogCursor& cursor_;
  const Geometry& geometry_;
  const std::uint64_t epoch_;
  std::vector<ByteView> pieces_;
  std::vector<Part> parts_;
  std::vector<AlignedBuffer> copies_;  // of parts that had to be moved behind a header of their own
  std::uint64_t bytes_ = 0;
};

}  // namespace zenfs
