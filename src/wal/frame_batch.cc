#include "wal/frame_batch.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/bytes.h"
#include "format/frame.h"

namespace zenfs {

FrameHeader QueuedFrame::HeaderOf(std::uint64_t payload, std::uint64_t epoch) const {
  return {.kind = FrameKind::kLogData,
          .time = job->time,
          .header_bytes = kFrameHeaderBytes,
          .payload_bytes = static_cast<std::uint32_t>(payload),
          .owner = job->owner,
          .sequence = job->sequence + parts,
          .file_offset = job->file_offset + payload_placed,
          .epoch = job->epoch != 0 ? job->epoch : epoch,
          .stable_sequence = job->stable_sequence};
}

PlacedFrame QueuedFrame::PartAt(DeviceOffset at, std::uint64_t payload, std::uint64_t device_bytes) const {
  return {.sequence = job->sequence + parts,
          .file_offset = job->file_offset + payload_placed,
          .length = payload,
          .payload = at + kFrameHeaderBytes,
          .device_bytes = device_bytes,
          .pin = {}};
}

void FrameBatch::Add(QueuedFrame& queued) {
  const FrameJob& job = *queued.job;
  const std::uint64_t left = queued.payload_left();
  const std::uint64_t room = cursor_.room - bytes_;
  if (queued.settled()) return;
  if (room <= kFrameHeaderBytes) return AddFiller(room);
  if (job.unsplit && room < kFrameHeaderBytes + left) {
    if (cursor_.at + bytes_ != geometry_.ZoneStart(cursor_.zone)) return AddFiller(room);
    queued.status = Fail(
        Code::kNoSpace,
        fmt::format("log zone {}: too small for a frame of {} bytes that must be moved from another zone",
                    cursor_.zone.value, kFrameHeaderBytes + left));
    return;
  }
  const std::uint64_t most = job.unsplit ? room : cursor_.left() - bytes_;
  const std::uint64_t payload = std::min<std::uint64_t>(left, most - kFrameHeaderBytes);
  const std::uint64_t frame_bytes = kFrameHeaderBytes + payload;
  const std::uint64_t device_bytes = RoundUp(frame_bytes, geometry_.block_size);
  AlignedBuffer& buffer = BufferOf(queued, payload, device_bytes);
  // Only the last part has padding; the others end on a block boundary. The buffer keeps its size, which
  // the file may read meanwhile.
  if (device_bytes != frame_bytes) buffer.ZeroBehind(device_bytes);
  SealFrame(buffer.Span().first(frame_bytes), queued.HeaderOf(payload, epoch_), cursor_.seed);
  parts_.push_back({&queued, queued.PartAt(cursor_.at + bytes_, payload, device_bytes)});
  pieces_.push_back(buffer.View(0, device_bytes));
  bytes_ += device_bytes;
}

// A buffer that holds the next part of the job, with room for its header.
AlignedBuffer& FrameBatch::BufferOf(const QueuedFrame& queued, std::uint64_t payload,
                                    std::uint64_t device_bytes) {
  const FrameJob& job = *queued.job;
  if (queued.payload_placed == 0) return *job.buffer;
  AlignedBuffer& copy = copies_.emplace_back(device_bytes);
  copy.Resize(kFrameHeaderBytes);
  copy.Append(job.buffer->View(kFrameHeaderBytes + queued.payload_placed, payload));
  return copy;
}

// Fills the rest of the zone with zeros if an unsplit frame does not fit there. A scan skips them.
void FrameBatch::AddFiller(std::uint64_t room) {
  AlignedBuffer& filler = copies_.emplace_back(room);
  std::memset(filler.data(), 0, room);
  filler.Resize(room);
  pieces_.push_back(filler.View());
  bytes_ += room;
}

LiveFrames FrameBatch::live() const {
  LiveFrames live;
  for (const Part& part : parts_) live += {part.frame.device_bytes, part.frame.length};
  return live;
}

void FrameBatch::Deliver(ZonePin pin) {
  for (Part& part : parts_) {
    part.frame.pin = &part == &parts_.back() ? std::move(pin) : pin;  // each copy takes a lock
    part.queued->Placed(std::move(part.frame));
  }
}

void FrameBatch::Clear() {
  pieces_.clear();
  parts_.clear();
  copies_.clear();
  bytes_ = 0;
}

}  // namespace zenfs
