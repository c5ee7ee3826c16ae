#include "wal/framed_file.h"

#include <algorithm>
#include <utility>

#include "base/checksum_handoff.h"
#include "base/sync_point.h"

namespace zenfs {

static_assert(kStagingPayloadAt == kFrameHeaderBytes,
              "a frame is sealed in front of the bytes, where they are");

FramedFile::FramedFile(const Env& env, FileId id)
    : env_(env), id_(id), mtime_seconds_(WallSeconds()), sent_seconds_(mtime_seconds_) {}

FramedFile::FramedFile(const Env& env, const FileRecord& record, ReplayedLog replayed)
    : env_(env),
      id_(record.id),
      index_(std::move(replayed.index)),
      windows_(record.windows),
      extents_end_(record.ExtentsEnd()),
      open_first_sequence_(record.next_sequence),
      next_sequence_(record.next_sequence),
      stable_sequence_(record.next_sequence - 1),
      stable_end_(index_.end()),
      mtime_seconds_(replayed.mtime_seconds),
      sent_seconds_(replayed.mtime_seconds) {
  for (const auto& [zone, bytes] : replayed.zones) {
    zones_[zone] = {.pin = env_.zones->Pin(zone), .frames = {.device_bytes = bytes}};
  }
  for (const Piece& piece : index_.pieces()) {
    if (piece.damaged || piece.sequence == 0) continue;
    zones_[env_.device->geometry().ZoneOf(piece.place)].frames.payload += piece.length;
  }
  for (const auto& [id, zone] : zones_) {
    if (env_.log != nullptr) env_.log->zones().AddLive(id, zone.frames);
  }
  for (const Extent& extent : record.extents) PinZoneOf(extent.place);
}

FramedFile::~FramedFile() {
  {
    MutexLock lock(mutex_);
    // Without an error these are bytes that nobody can ask for again. With one they may be the only copy.
    if (send_status_.ok()) {
      active_.Clear();
      flight_.Clear();
    }
  }
  if (env_.log == nullptr) return;
  for (auto& [id, zone] : zones_) {
    zone.pin = ZonePin();  // before the log looks whether the zone can go
    if (zone.frames.device_bytes != 0) env_.log->zones().RemoveLive(id, zone.frames);
  }
}

void FramedFile::PinZoneOf(DeviceOffset place) {
  const ZoneId zone = env_.device->geometry().ZoneOf(place);
  FileZone& entry = zones_[zone];
  if (!entry.pin.valid()) entry.pin = env_.zones->Pin(zone);
}

void FramedFile::BeginBuffer() {
  // What outlives the process must not stand behind a gap: the next mount could not tell it from damage.
  const bool behind_a_gap = !flight_.empty() && !flight_.survives_process();
  if (behind_a_gap) active_.Release();
  active_.Begin(behind_a_gap ? nullptr : env_.staging, env_.buffer_bytes, id_.value, SizeLocked());
  active_since_ = SteadyNow();
  hurried_ = false;
  if (env_.drain != nullptr) env_.drain->NoteBuffered();
}

std::uint64_t FramedFile::SizeLocked() const {
  if (!active_.empty()) return active_.end();
  if (!flight_.empty()) return flight_.end();
  return index_.end();
}

std::uint64_t FramedFile::size() const {
  MutexLock lock(mutex_);
  return SizeLocked();
}

std::uint64_t FramedFile::mtime_seconds() const {
  MutexLock lock(mutex_);
  return mtime_seconds_;
}

Status FramedFile::Append(ByteView bytes, KnownCrc crc) {
  if (crc) ZENFS_RETURN_IF_ERROR(CheckHandoff(bytes.size(), Crc32c(bytes), crc));
  MutexLock lock(mutex_);
  while (append_status_.ok() && rewriting_) {
    SyncPoint::Reach("FramedFile::AwaitTruncation");  // with the lock held: a handler only counts
    turn_.Wait(mutex_);
  }
  if (append_status_.ok()) append_status_.Update(AppendAll(bytes));
  return append_status_;
}

Status FramedFile::AppendAll(ByteView bytes) {
  const std::uint64_t failures = failures_;
  if (!bytes.empty()) mtime_seconds_ = WallSeconds();
  while (!bytes.empty()) {
    if (!send_status_.ok() && failures_ != failures) return send_status_;
    if (!send_status_.ok() && !busy_) {  // of before this call
      ZENFS_RETURN_IF_ERROR(SendBuffer(false));
      continue;
    }
    if (active_.empty()) BeginBuffer();
    if (active_.room() == 0) {
      if (busy_) {
        turn_.Wait(mutex_);
      } else {
        ZENFS_RETURN_IF_ERROR(SendBuffer(false));
      }
      continue;
    }
    bytes = bytes.subspan(active_.Append(bytes, mtime_seconds_));
    if (!hurried_ && env_.drain != nullptr && active_.length() >= active_.capacity() / 2) {
      hurried_ = true;
      env_.drain->Hurry(id_);
    }
  }
  return {};
}

Status FramedFile::Flush() {
  {
    MutexLock lock(mutex_);
    const bool survives = send_status_.ok() && (active_.empty() || active_.survives_process()) &&
                          (flight_.empty() || flight_.survives_process());
    if (survives) return {};
  }
  return WriteOut();
}

bool FramedFile::WriteOutOlderThan(SteadyTime before) {
  {
    MutexLock lock(mutex_);
    if (active_.empty() || !send_status_.ok())
      return false;  // after an error: when somebody asks, not again and again
    if (active_since_ > before) return true;
  }
  IgnoreError(WriteOut());  // whoever writes or syncs next makes up for it, or is told
  return false;
}

void FramedFile::EndWriting() {
  MutexLock lock(mutex_);
  if (busy_ || !active_.empty()) return;  // a new writer is at it already, or an error keeps the bytes
  active_.Release();
  if (flight_.empty()) flight_.Release();
}

Status FramedFile::WriteOut() { return WriteOutTo(size(), false); }

Status FramedFile::Sync() { return WriteOutTo(size(), true); }

Status FramedFile::WriteOutTo(std::uint64_t target, bool sync) {
  SyncPoint::Reach("FramedFile::WriteOutTo");
  MutexLock lock(mutex_);
  const std::uint64_t failures = failures_;
  for (;;) {
    // An error of before this call is no answer: that frame is tried again. One of a try that this call waited for is.
    if (!send_status_.ok() && failures_ != failures) return send_status_;
    target = std::min(target, SizeLocked());  // the file may have been truncated while this waited
    if (send_status_.ok() && (sync ? stable_end_ : index_.end()) >= target) return {};
    if (busy_) {
      turn_.Wait(mutex_);
    } else {
      ZENFS_RETURN_IF_ERROR(SendBuffer(sync));
    }
  }
}

std::vector<Piece> FramedFile::Pieces() const {
  MutexLock lock(mutex_);
  return index_.pieces();
}

}  // namespace zenfs
