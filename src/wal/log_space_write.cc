// The leader's part of LogSpace: frames into zones.
#include <fmt/format.h>

#include <algorithm>

#include "base/sync_point.h"
#include "wal/log_space.h"

namespace zenfs {
namespace {

// A zone that fails is left for the next; as many are tried before the error reaches the files.
constexpr int kZonesTried = 3;
// Zones that the device ends before they took a frame are left for the next; so many in a row are a failure.
constexpr int kZonesEnded = 32;
constexpr std::chrono::milliseconds kBusyPause{5};
constexpr std::uint64_t kBatchBytesMax = 4 << 20;
constexpr std::chrono::milliseconds kReserveSlice{200};

}  // namespace

void LogSpace::Lead(const std::deque<Waiting*>& jobs) {
  SyncPoint::Reach("LogSpace::Lead");
  const Status placed = PlaceAll(jobs);
  bool flush = false;
  for (Waiting* each : jobs) {
    if (!each->settled()) each->status = placed;
    flush = flush || (each->whole() && each->job->flush);
  }
  if (!flush || !env_.device->geometry().volatile_cache) return;
  // Also for what was placed before another's frame failed: those who waited for it return without an error.
  const Status flushed = env_.device->Flush();
  if (flushed.ok()) return;
  // The frames are placed but not stable; only those who asked for that have to know.
  for (Waiting* each : jobs) {
    if (each->job->flush && each->status.ok()) each->status = flushed;
  }
}

Status LogSpace::PlaceAll(const std::deque<Waiting*>& jobs) {
  int tries_left = kZonesTried;
  int ended = 0;
  const Deadline busy_until = Deadline::After(env_.space_wait);
  for (;;) {
    // Asked first: who just filled a zone must not wait for one that nobody needs yet.
    if (std::ranges::all_of(jobs, &Waiting::settled)) return {};
    if (current_.room == 0) ZENFS_RETURN_IF_ERROR(NextZone());
    Batch batch = Collect(jobs);
    if (batch.pieces.empty()) continue;  // whoever is left was refused
    const Status sent = Send(batch);
    if (sent.ok()) {
      ended = 0;
    } else if (sent.error().code() == Code::kZoneFull) {
      if (++ended == kZonesEnded) return Fail(Code::kIo, sent.error().text());
    } else if (sent.error().code() == Code::kBusy) {  // the device's limits are shared with its other users
      if (busy_until.Passed()) return sent;
      SleepUntil(std::min(busy_until.when(), SteadyNow() + kBusyPause));
    } else if (--tries_left == 0) {
      return Fail(sent.error().As(Code::kIo));  // zones may be read-only or gone; the volume is neither
    }
  }
}

bool LogSpace::TakeReady() {
  MutexLock lock(mutex_);
  if (ready_.empty()) return false;
  const Zone& zone = zones_.at(ready_.front());
  const LogZone& reserved = zone.reservation;
  current_ = {.zone = reserved.zone,
              .seed = FrameSeed::Of(env_.volume, reserved.zone, reserved.generation, reserved.salt),
              .at = env_.device->geometry().ZoneStart(reserved.zone) + zone.written,
              .room = zone.capacity - zone.written};
  room_.store(current_.room, std::memory_order_relaxed);
  ready_.pop_front();
  poked_ = true;  // the reserve is one short now
  wake_.NotifyOne();
  return true;
}

// Waits for reclaim in slices: the background thread may have got a zone meanwhile, or dead zones can be released. Two
// refusals are an answer: what the first one met may have passed, a commit that found its zone full, for example.
Status LogSpace::NextZone() {
  if (TakeReady()) return {};
  reserve_waits_.fetch_add(1, std::memory_order_relaxed);
  const Deadline deadline = Deadline::After(env_.space_wait);
  for (int refused = 0;;) {
    SyncPoint::Reach("LogSpace::NextZone");
    ZENFS_RETURN_IF_ERROR(MayGoOn());
    const Deadline slice = Deadline::After(kReserveSlice);
    const Status reserved = ReserveOne(slice.when() < deadline.when() ? slice : deadline);
    if (TakeReady()) return {};
    if (reserved.ok()) continue;  // given back as headroom
    const bool in_time = reserved.error().code() != Code::kTimedOut;
    if (!in_time && deadline.Passed()) {
      return Fail(Code::kNoSpace,
                  fmt::format("{}: no zone for the log became free within {} s; delete files to make room",
                              env_.device->name(), env_.space_wait.count()));
    }
    if (ReleaseDead()) continue;
    if (in_time && AnyInTransit() && !deadline.Passed()) {  // by another thread
      SleepUntil(std::min(deadline.when(), SteadyNow() + kBusyPause));
      continue;
    }
    if (in_time && ++refused == 2) return reserved;
  }
}

bool LogSpace::AnyInTransit() const {
  MutexLock lock(mutex_);
  return in_transit_ != 0;
}

Status LogSpace::MayGoOn() {
  MutexLock lock(mutex_);
  if (!health_.ok()) return health_;
  if (!stopping_) return {};
  return Fail(Code::kShutdown, env_.device->name() + ": is being unmounted");
}

LogSpace::Batch LogSpace::Collect(const std::deque<Waiting*>& jobs) {
  Batch batch;
  for (Waiting* waiting : jobs) {
    if (batch.bytes >= std::min(current_.room, kBatchBytesMax)) break;
    AddPart(batch, *waiting);
  }
  return batch;
}

// Adds what is left of the job, or as much of it as the zone has room for. One part a batch: it ends either
// the job or the zone.
void LogSpace::AddPart(Batch& batch, Waiting& waiting) {
  const FrameJob& job = *waiting.job;
  const std::uint64_t done = waiting.payload_placed;
  const std::uint64_t left = job.buffer->size() - kFrameHeaderBytes - done;
  const std::uint64_t room = current_.room - batch.bytes;
  if (waiting.settled()) return;
  if (job.unsplit && room < kFrameHeaderBytes + left) {
    if (current_.at + batch.bytes != env_.device->geometry().ZoneStart(current_.zone)) {
      return AddFiller(batch, room);
    }
    waiting.status =
        Fail(Code::kNoSpace, fmt::format("log zone {}: too small for a frame of {} bytes that stood in "
                                         "another",
                                         current_.zone.value, kFrameHeaderBytes + left));
    return;
  }
  const std::uint64_t payload = std::min<std::uint64_t>(left, room - kFrameHeaderBytes);
  const std::uint64_t frame_bytes = kFrameHeaderBytes + payload;
  const std::uint64_t device_bytes = RoundUp(frame_bytes, block_);
  AlignedBuffer* buffer = job.buffer;
  if (done != 0) {  // the header of a later part would overwrite what stands before it
    buffer = &batch.copies.emplace_back(device_bytes);
    buffer->Resize(kFrameHeaderBytes);
    buffer->Append(job.buffer->View(kFrameHeaderBytes + done, payload));
  }
  // Behind the payload, without a change of the buffer's size, which its file may look at meanwhile. A part
  // that is not the last ends on a block boundary.
  if (device_bytes != frame_bytes) std::memset(buffer->data() + frame_bytes, 0, device_bytes - frame_bytes);
  const std::uint64_t sequence = job.sequence + waiting.parts;
  SealFrame(ByteSpan(buffer->data(), frame_bytes),
            FrameHeader{.kind = FrameKind::kLogData,
                        .time = job.time,
                        .header_bytes = kFrameHeaderBytes,
                        .payload_bytes = static_cast<std::uint32_t>(payload),
                        .owner = job.owner,
                        .sequence = sequence,
                        .file_offset = job.file_offset + done,
                        .epoch = job.epoch != 0 ? job.epoch : env_.epoch,
                        .stable_sequence = job.stable_sequence},
            current_.seed);
  batch.parts.push_back({&waiting,
                         {.sequence = sequence,
                          .file_offset = job.file_offset + done,
                          .length = payload,
                          .payload = current_.at + batch.bytes + kFrameHeaderBytes,
                          .device_bytes = device_bytes,
                          .pin = {}}});
  batch.pieces.push_back(ByteView(buffer->data(), device_bytes));
  batch.bytes += device_bytes;
}

// For an unsplit frame, which does not fit what is left of the zone. A scan passes over the zeros.
void LogSpace::AddFiller(Batch& batch, std::uint64_t room) {
  AlignedBuffer& filler = batch.copies.emplace_back(room);
  std::memset(filler.data(), 0, room);
  filler.Resize(room);
  batch.pieces.push_back(filler.View());
  batch.bytes += room;
}

Status LogSpace::Send(Batch& batch) {
  // Pinned first: nothing may take the zone between the write and the moment a file points to it.
  const ZonePin pin = env_.zones->Pin(current_.zone);
  const Status written = env_.device->Write(current_.at, batch.pieces);
  if (!written.ok()) return LeaveZone(written.error());
  MutexLock lock(mutex_);
  Zone& zone = zones_.at(current_.zone);
  zone.written += batch.bytes;
  current_.at = current_.at + batch.bytes;
  current_.room -= batch.bytes;
  room_.store(current_.room, std::memory_order_relaxed);
  if (current_.room == 0) {
    zone.closed = true;
    poked_ = true;
    wake_.NotifyOne();
  }
  std::uint64_t payload = 0;
  for (Batch::Part& part : batch.parts) {
    part.frame.pin = pin;
    part.waiting->payload_placed += part.frame.length;
    part.waiting->parts += 1;
    payload += part.frame.length;
    zone.live += {part.frame.device_bytes, part.frame.length};
    part.waiting->placed.push_back(std::move(part.frame));
  }
  payload_bytes_.fetch_add(payload, std::memory_order_relaxed);
  padding_bytes_.fetch_add(batch.bytes - payload, std::memory_order_relaxed);
  return {};
}

// What was placed of the batch that failed, if anything, is a duplicate of what goes to the next zone.
Status LogSpace::LeaveZone(const Error& error) {
  Error told = error.With(fmt::format("log zone {}", current_.zone.value));
  if (error.code() == Code::kBusy)
    return Fail(std::move(told));  // nothing was written, the zone is as it was
  // Where it can still be done: a zone left open would keep the one slot that the next zone needs.
  if (error.code() != Code::kZoneFull) IgnoreError(env_.device->Finish(current_.zone));
  current_.room = 0;
  room_.store(0, std::memory_order_relaxed);
  MutexLock lock(mutex_);
  zones_.at(current_.zone).closed = true;
  poked_ = true;
  wake_.NotifyOne();
  return Fail(std::move(told));
}

}  // namespace zenfs
