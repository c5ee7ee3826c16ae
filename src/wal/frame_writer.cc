#include "wal/frame_writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

#include "base/assert.h"
#include "base/bytes.h"
#include "base/clock.h"
#include "base/sync_point.h"

namespace zenfs {
namespace {

// If a write fails, the next zone is tried. After this many zones the callers get the error.
constexpr int kZonesTried = 3;
// If the device finishes a zone before a frame was written, the next zone is tried. This many in a row are
// an error.
constexpr int kZonesEnded = 32;
constexpr std::chrono::milliseconds kBusyPause{5};
constexpr std::uint64_t kBatchBytesMax = 4 << 20;
constexpr std::chrono::milliseconds kZoneWaitSlice{200};

}  // namespace

Status FrameWriter::Place(const FrameJob& job, std::vector<PlacedFrame>& placed) noexcept {
  ZENFS_ASSERT(job.stable_sequence < job.sequence && job.placed_before < job.payload_bytes());
  Queued queued{.job = &job, .payload_placed = job.placed_before, .placed = &placed};
  MutexLock lock(mutex_);
  choice_.NoteArrival(leading_ || appending_ != 0 || !queue_.empty());
  const bool by_append = choice_.appends();
  const std::optional<SteadyTime> arrived = choice_.measures() ? std::optional(SteadyNow()) : std::nullopt;
  queue_.push_back(&queued);
  SyncPoint::Reach("FrameWriter::Place:queued");
  Await(queued);
  if (arrived) choice_.NoteTime(SteadyNow() - *arrived, by_append);
  return queued.status;
}

void FrameWriter::Await(Queued& queued) {
  while (!queued.done) {
    if (!leading_ && queue_.front() == &queued && MayAppend(queued)) {
      AppendFront();
    } else if (leading_ || appending_ != 0) {
      placed_.Wait(mutex_);
    } else {
      TakeLead();
    }
  }
}

FrameHeader FrameWriter::HeaderOf(const FrameJob& job) const {
  return Queued{.job = &job}.HeaderOf(job.payload_bytes(), deps_.epoch);
}

Result<std::vector<PlacedFrame>> FrameWriter::Write(const FrameJob& job) {
  std::vector<PlacedFrame> placed;
  FrameJob rest = job;
  Status status;
  do {
    status = Place(rest, placed);
    rest.sequence = job.sequence + placed.size();
    rest.placed_before = job.placed_before;
    for (const PlacedFrame& frame : placed) rest.placed_before += frame.length;
  } while (status.ok() && rest.placed_before != job.payload_bytes());
  if (status.ok()) return placed;
  for (PlacedFrame& frame : placed) {
    const ZoneId zone = frame.pin.zone();
    frame.pin = ZonePin();  // before the background thread checks for pins
    deps_.log_zones->RemoveLive(zone, frame.live());
  }
  return Fail(status.error());
}

// --- zone appends ---

bool FrameWriter::MayAppend(const Queued& queued) const {
  if (!choice_.appends() || appending_ >= deps_.depth || queued.append_failed || queued.payload_placed != 0)
    return false;
  return RoundUp(queued.job->buffer->size(), geometry_.block_size) <=
         std::min(current_.left(), geometry_.max_append_bytes);
}

void FrameWriter::AppendFront() {
  Queued& queued = *queue_.front();
  queue_.erase(queue_.begin());
  const Reservation reserved = Reserve(RoundUp(queued.job->buffer->size(), geometry_.block_size));
  if (!queue_.empty() && appending_ < deps_.depth) placed_.NotifyAll();  // the next may append too
  mutex_.Unlock();
  const Status placed = ZoneAppend(queued, reserved);
  mutex_.Lock();
  if (!placed.ok()) {
    NoteFailed(reserved, placed.error());
    queued.append_failed = true;
    queue_.insert(queue_.begin(), &queued);
  }
  --appending_;
  if (!queue_.empty()) placed_.NotifyAll();
  if (!placed.ok()) return;
  queued.done = true;
  if (!queued.job->flush || !geometry_.volatile_cache) return;
  mutex_.Unlock();
  queued.status = FlushLogs(*deps_.device);
  mutex_.Lock();
}

FrameWriter::Reservation FrameWriter::Reserve(std::uint64_t bytes) {
  ZENFS_ASSERT(!leading_ && bytes <= current_.left());
  if (appending_++ == 0) places_.Restart(current_.at);
  current_.Advance(bytes);
  return {.zone = current_.zone, .seed = current_.seed, .bytes = bytes};
}

Status FrameWriter::ZoneAppend(Queued& queued, const Reservation& reserved) {
  SyncPoint::Reach("FrameWriter::ZoneAppend");
  AlignedBuffer& buffer = *queued.job->buffer;
  if (reserved.bytes != buffer.size()) buffer.ZeroBehind(reserved.bytes);
  SealFrame(buffer.Span(), queued.HeaderOf(queued.payload_left(), deps_.epoch), reserved.seed);
  ZonePin pin = deps_.zones->Pin(reserved.zone);  // as in Send
  ZENFS_ASSIGN_OR_RETURN(const DeviceOffset at,
                         deps_.device->Append(reserved.zone, buffer.View(0, reserved.bytes)));
  ZENFS_RETURN_IF_ERROR(TakePlace(reserved, at));
  PlacedFrame frame = queued.PartAt(at, queued.payload_left(), reserved.bytes);
  frame.pin = std::move(pin);
  NoteOnDevice(reserved.zone, reserved.bytes, frame.live());
  queued.Placed(std::move(frame));
  return {};
}

Status FrameWriter::TakePlace(const Reservation& reserved, DeviceOffset at) {
  MutexLock lock(mutex_);
  if (places_.Take(at, reserved.bytes, current_.at)) return {};
  return Fail(
      Code::kIo,
      fmt::format(
          "{}: an append of {} bytes to zone {} is reported to be at {}, which was taken or not reserved",
          deps_.device->name(), reserved.bytes, reserved.zone.value, at.value));
}

// The bytes of a failed append may be on the device, and then the place of another append is behind them. But
// if the device had no slot for the zone, nothing was written.
void FrameWriter::NoteFailed(const Reservation& reserved, const Error& error) {
  if (error.code() == Code::kBusy) {
    current_.TakeBack(reserved.bytes);
    return;
  }
  current_.room = 0;
  if (!failed_ || failed_->code() == Code::kZoneFull) failed_ = error;
}

// --- the leader's work ---

void FrameWriter::TakeLead() {
  ZENFS_ASSERT(!leading_ && appending_ == 0);
  leading_ = true;
  std::swap(jobs_, queue_);
  mutex_.Unlock();
  Lead();
  mutex_.Lock();
  leading_ = false;
  std::size_t unsettled = 0;  // they go on with the next leader, before all others
  for (Queued* each : jobs_) {
    if (each->settled()) {
      each->done = true;
    } else {
      queue_.insert(queue_.begin() + static_cast<std::ptrdiff_t>(unsettled++), each);
    }
  }
  if (jobs_.size() > 1 || !queue_.empty()) placed_.NotifyAll();
  jobs_.clear();
}

void FrameWriter::Lead() {
  SyncPoint::Reach("FrameWriter::Lead");
  const Status placed = PlaceAll();
  batch_.Clear();
  bool flush = false;
  for (Queued* each : jobs_) {
    if (!each->settled()) each->status = placed;  // if OK, it stays unsettled
    flush = flush || (each->whole() && each->job->flush);
  }
  if (!flush || !geometry_.volatile_cache) return;
  // Even if a later frame failed: the callers whose frames were placed return without an error.
  const Status flushed = FlushLogs(*deps_.device);
  if (flushed.ok()) return;
  // The frames are placed but not stable. Only callers that asked for a flush get the error.
  for (Queued* each : jobs_) {
    if (each->whole() && each->job->flush && each->status.ok()) each->status = flushed;
  }
}

Status FrameWriter::PlaceAll() {
  if (failed_) IgnoreError(LeaveZone(*std::exchange(failed_, std::nullopt)));
  int tries_left = kZonesTried;
  int ended = 0;
  std::optional<Deadline> busy_until;
  for (;;) {
    // Before NextZone: if the last frame filled the zone, nobody needs another one yet.
    if (std::ranges::all_of(jobs_, &Queued::settled)) return {};
    if (current_.left() == 0 && !TakeNext()) {
      // Nobody waits for a zone with parts that are placed: until their files point to them, their zones can't be cleaned, and a
      // small device has few others.
      for (Queued* each : jobs_) each->cut = each->parts != 0 && !each->whole();
      if (std::ranges::any_of(jobs_, [](const Queued* each) { return each->parts != 0; })) return {};
      ZENFS_RETURN_IF_ERROR(NextZone());
    }
    batch_.Clear();
    for (Queued* each : jobs_) {
      if (batch_.bytes() >= std::min(current_.left(), kBatchBytesMax)) break;
      batch_.Add(*each);
    }
    if (batch_.empty()) continue;  // all remaining jobs have an error
    const Status sent = Send();
    if (sent.ok()) {
      ended = 0;
    } else if (sent.error().code() == Code::kZoneFull) {
      if (++ended == kZonesEnded) return Fail(Code::kIo, sent.error().text());
    } else if (sent.error().code() == Code::kBusy) {  // other users of the device hold its open zones
      if (!busy_until) busy_until = Deadline::After(deps_.space_wait);
      if (busy_until->Passed()) return sent;
      SleepUntil(std::min(busy_until->when(), SteadyNow() + kBusyPause));
    } else if (--tries_left == 0) {
      // A code for the zone (read-only, offline) would be wrong for the volume.
      return Fail(sent.error().As(Code::kIo));
    }
  }
}

bool FrameWriter::TakeNext() {
  const std::optional<LogCursor> next = deps_.log_zones->TakeNext();
  if (!next) return false;
  current_ = *next;
  return true;
}

// Waits for reclaim in slices, because meanwhile the background thread may make a zone ready, or zones may
// die. The second error of an allocation is returned. The cause of the first may be gone at the second try,
// for example if a commit found its metadata zone full.
Status FrameWriter::NextZone() {
  reserve_waits_.fetch_add(1, std::memory_order_relaxed);
  const Deadline deadline = Deadline::After(deps_.space_wait);
  for (int refused = 0;;) {
    SyncPoint::Reach("FrameWriter::NextZone");
    ZENFS_RETURN_IF_ERROR(deps_.log_zones->MayGoOn());
    const Deadline slice = Deadline::After(kZoneWaitSlice);
    const Status allocated = deps_.supply->AllocateGroup(slice.when() < deadline.when() ? slice : deadline);
    if (TakeNext()) return {};
    if (allocated.ok()) continue;  // the zone was given back as headroom already
    const bool in_time = allocated.error().code() != Code::kTimedOut;
    if (!in_time && deadline.Passed()) {
      return Fail(Code::kNoSpace,
                  fmt::format("{}: no zone for the log became free within {} s; delete files to make room",
                              deps_.device->name(), deps_.space_wait.count()));
    }
    if (deps_.supply->ReleaseDead()) continue;
    if (in_time && deps_.supply->AnyInTransit() && !deadline.Passed()) {  // by another thread
      SleepUntil(std::min(deadline.when(), SteadyNow() + kBusyPause));
      continue;
    }
    if (in_time && ++refused == 2) return allocated;
  }
}

Status FrameWriter::Send() {
  // Before the write: the zone must not be released until the files point to it.
  ZonePin pin = deps_.zones->Pin(current_.zone);
  const Status written = deps_.device->Write(current_.at, batch_.pieces());
  if (!written.ok()) return LeaveZone(written.error());
  NoteOnDevice(current_.zone, batch_.bytes(), batch_.live());
  current_.Advance(batch_.bytes());
  batch_.Deliver(std::move(pin));
  return {};
}

// Frames of the failed batch may be on the device. They are duplicates of those that go to the next zone.
Status FrameWriter::LeaveZone(const Error& error) {
  Error told = error.With(fmt::format("log zone {}", current_.zone.value));
  if (error.code() == Code::kBusy)
    return Fail(std::move(told));  // nothing was written, the zone is as it was
  // An open zone would keep the slot that the next zone needs. Even kZoneFull does not mean that the zone is full: an
  // append may have found less room than was reserved, because the device executed another one twice.
  IgnoreError(deps_.device->Finish(current_.zone));
  current_.room = 0;
  deps_.log_zones->Close(current_.zone);
  return Fail(std::move(told));
}

void FrameWriter::NoteOnDevice(ZoneId zone, std::uint64_t bytes, LiveFrames live) {
  deps_.log_zones->NoteWritten(zone, bytes, live);
  payload_bytes_.fetch_add(live.payload, std::memory_order_relaxed);
  padding_bytes_.fetch_add(bytes - live.payload, std::memory_order_relaxed);
}

// --- frames of a queued job, and of a batch ---

FrameHeader FrameWriter::Queued::HeaderOf(std::uint64_t payload, std::uint64_t epoch) const {
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

PlacedFrame FrameWriter::Queued::PartAt(DeviceOffset at, std::uint64_t payload,
                                        std::uint64_t device_bytes) const {
  return {.sequence = job->sequence + parts,
          .file_offset = job->file_offset + payload_placed,
          .length = payload,
          .payload = at + kFrameHeaderBytes,
          .device_bytes = device_bytes,
          .pin = {}};
}

void FrameWriter::Batch::Add(Queued& queued) {
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

AlignedBuffer& FrameWriter::Batch::BufferOf(const Queued& queued, std::uint64_t payload,
                                            std::uint64_t device_bytes) {
  const FrameJob& job = *queued.job;
  if (queued.payload_placed == 0) return *job.buffer;
  AlignedBuffer& copy = copies_.emplace_back(device_bytes);
  copy.Resize(kFrameHeaderBytes);
  copy.Append(job.buffer->View(kFrameHeaderBytes + queued.payload_placed, payload));
  return copy;
}

void FrameWriter::Batch::AddFiller(std::uint64_t room) {
  AlignedBuffer& filler = copies_.emplace_back(room);
  std::memset(filler.data(), 0, room);
  filler.Resize(room);
  pieces_.push_back(filler.View());
  bytes_ += room;
}

LiveFrames FrameWriter::Batch::live() const {
  LiveFrames live;
  for (const Part& part : parts_) live += part.frame.live();
  return live;
}

void FrameWriter::Batch::Deliver(ZonePin pin) {
  for (Part& part : parts_) {
    part.frame.pin = &part == &parts_.back() ? std::move(pin) : pin;  // each copy takes a lock
    part.queued->Placed(std::move(part.frame));
  }
}

void FrameWriter::Batch::Clear() {
  pieces_.clear();
  parts_.clear();
  copies_.clear();
  bytes_ = 0;
}

}  // namespace zenfs
