#include "wal/framed_file.h"

#include <algorithm>
#include <utility>

#include "base/sync_point.h"

namespace zenfs {

FramedFile::FramedFile(const Env& env, FileId id) : env_(env), id_(id) {}

FramedFile::FramedFile(const Env& env, const FileRecord& record, ReplayedLog replayed)
    : env_(env),
      id_(record.id),
      index_(std::move(replayed.index)),
      windows_(record.windows),
      extents_end_(record.ExtentsEnd()),
      open_first_sequence_(record.next_sequence),
      next_sequence_(record.next_sequence),
      stable_sequence_(record.next_sequence - 1),
      stable_end_(index_.end()) {
  for (const auto& [zone, bytes] : replayed.zones) {
    zones_[zone] = {.pin = env_.zones->Pin(zone), .frame_bytes = bytes};
    if (env_.log != nullptr) env_.log->AddLive(zone, bytes);
  }
  for (const Extent& extent : record.extents) PinZoneOf(extent.place);
}

FramedFile::~FramedFile() {
  if (env_.log == nullptr) return;
  for (auto& [id, zone] : zones_) {
    zone.pin = ZonePin();  // before the log looks whether the zone can go
    if (zone.frame_bytes != 0) env_.log->RemoveLive(id, zone.frame_bytes);
  }
}

void FramedFile::PinZoneOf(DeviceOffset place) {
  const ZoneId zone = env_.device->geometry().ZoneOf(place);
  FileZone& entry = zones_[zone];
  if (!entry.pin.valid()) entry.pin = env_.zones->Pin(zone);
}

void FramedFile::PrepareBuffer(AlignedBuffer& buffer) const {
  if (buffer.capacity() == 0) buffer = AlignedBuffer(env_.buffer_bytes);
  if (buffer.empty()) buffer.Resize(kFrameHeaderBytes);
}

std::uint64_t FramedFile::SizeLocked() const {
  if (active_.size() > kFrameHeaderBytes) return active_offset_ + active_.size() - kFrameHeaderBytes;
  if (flight_.size() > kFrameHeaderBytes) return flight_offset_ + flight_.size() - kFrameHeaderBytes;
  return index_.end();
}

std::uint64_t FramedFile::size() const {
  MutexLock lock(mutex_);
  return SizeLocked();
}

Status FramedFile::Append(ByteView bytes) {
  MutexLock lock(mutex_);
  while (rewriting_) turn_.Wait(mutex_);
  while (!bytes.empty()) {
    if (!error_) return error_;
    PrepareBuffer(active_);
    if (active_.room() == 0) {
      if (busy_) {
        turn_.Wait(mutex_);
      } else {
        ZENFS_RETURN_IF_ERROR(SendBuffer(false));
      }
      continue;
    }
    if (active_.size() == kFrameHeaderBytes) active_offset_ = SizeLocked();
    bytes = bytes.subspan(active_.Append(bytes));
  }
  return error_;
}

Status FramedFile::WriteOut() { return WriteOutTo(size(), false); }

Status FramedFile::Sync() { return WriteOutTo(size(), true); }

Status FramedFile::WriteOutTo(std::uint64_t target, bool sync) {
  SyncPoint::Reach("FramedFile::WriteOutTo");
  MutexLock lock(mutex_);
  for (;;) {
    if (!error_) return error_;
    target = std::min(target, SizeLocked());  // the file may have been truncated while this waited
    if ((sync ? stable_end_ : index_.end()) >= target) return {};
    if (busy_) {
      turn_.Wait(mutex_);
    } else {
      ZENFS_RETURN_IF_ERROR(SendBuffer(sync));
    }
  }
}

// Takes the turn, sends what is in the active buffer (if anything) as a frame, publishes it, gives the turn
// on.
Status FramedFile::SendBuffer(bool sync) {
  busy_ = true;
  std::swap(active_, flight_);
  flight_offset_ = active_offset_;
  const bool has_frame = flight_.size() > kFrameHeaderBytes;
  const FrameJob job{.kind = FrameKind::kLogData,
                     .owner = id_.value,
                     .sequence = next_sequence_,
                     .file_offset = flight_offset_,
                     .stable_sequence = stable_sequence_,
                     .header_bytes = kFrameHeaderBytes,
                     .buffer = &flight_,
                     .flush = sync};
  const bool volatile_cache = env_.device->geometry().volatile_cache;
  mutex_.Unlock();  // the caller holds it again when this returns
  Result<std::vector<PlacedFrame>> placed = std::vector<PlacedFrame>();
  Status flushed;
  if (has_frame) {
    placed = env_.log->Write(job);
  } else if (sync && volatile_cache) {
    flushed = env_.device->Flush();
  }
  mutex_.Lock();
  if (!placed) {
    error_ = Fail(placed.error());
  } else if (!flushed) {
    error_ = flushed;
  } else {
    Publish(*placed);
    if (sync || !volatile_cache) {
      stable_sequence_ = next_sequence_ - 1;
      stable_end_ = index_.end();
    }
    flight_.Clear();
  }
  busy_ = false;
  turn_.NotifyAll();
  return error_;
}

void FramedFile::Publish(std::vector<PlacedFrame>& placed) {
  for (PlacedFrame& frame : placed) {
    index_.Append({.file_offset = frame.file_offset,
                   .length = frame.length,
                   .place = frame.payload,
                   .sequence = frame.sequence,
                   .frame_bytes = frame.device_bytes});
    FileZone& zone = zones_[frame.pin.zone()];
    zone.frame_bytes += frame.device_bytes;
    if (!zone.pin.valid()) zone.pin = std::move(frame.pin);
    next_sequence_ = frame.sequence + 1;
  }
}

std::vector<Piece> FramedFile::Pieces() const {
  MutexLock lock(mutex_);
  return index_.pieces();
}

}  // namespace zenfs
