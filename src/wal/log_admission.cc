// Where the log carries plain data, all frames share one zone at a time, and whoever writes next may take the room that
// copies of live data need. So frames that are not copies are admitted before they are queued: a frame that waited for
// room in the queue would keep the copies behind it from making that room.
#include "wal/log_admission.h"

#include "base/bytes.h"

namespace zenfs {

void LogSpace::Admission::Release() {
  if (log_ == nullptr) return;
  MutexLock lock(log_->mutex_);
  log_->admitted_ -= bytes_;
  log_ = nullptr;
}

std::uint64_t LogSpace::RoomInReady() const {
  std::uint64_t room = room_.load(std::memory_order_relaxed);
  for (const ZoneId id : ready_) room += zones_.at(id).capacity - zones_.at(id).written;
  return room;
}

std::uint64_t LogSpace::RoomForCopies() const {
  const std::uint64_t pool = env_.zones->RoomForCopies();
  MutexLock lock(mutex_);
  const std::uint64_t room = pool + RoomInReady();
  return room - std::min(room, admitted_);
}

bool LogSpace::HasRoomFor(const FrameJob& job, std::uint64_t bytes) {
  // Data leaves the log its reserve, and what is left of its current zone.
  if (job.kind == FrameKind::kPlainData && env_.zones->Space().free == 0) return false;
  return env_.zones->RoomForCopies() + RoomInReady() >= env_.headroom + admitted_ + bytes;
}

Result<LogSpace::Admission> LogSpace::Admit(const FrameJob& job) {
  if (!env_.carries_data || job.copy) return Admission();
  // A frame that is split gets a second header.
  const std::uint64_t bytes = RoundUp(job.buffer->size(), block_) + job.header_bytes + block_;
  const Deadline deadline = Deadline::After(env_.space_wait);
  for (;;) {
    {
      MutexLock lock(mutex_);
      const bool data = job.kind == FrameKind::kPlainData;
      if ((!started_ && !data) || stopping_ || HasRoomFor(job, bytes)) {
        admitted_ += bytes;
        return Admission(*this, bytes);
      }
    }
    ZENFS_RETURN_IF_ERROR(env_.zones->AwaitReclaim(deadline));
  }
}

}  // namespace zenfs
