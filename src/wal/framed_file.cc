#include "wal/framed_file.h"

#include <algorithm>
#include <utility>

#include "base/checksum_handoff.h"
#include "base/sync_point.h"

namespace zenfs {
namespace {

FileZones MakeZones(const FramedFile::Deps& deps) {
  return {deps.device->geometry(), *deps.zones, deps.log == nullptr ? nullptr : &deps.log->zones()};
}

}  // namespace

static_assert(kStagingPayloadAt == kFrameHeaderBytes,
              "a frame is sealed in front of the bytes, where they are");

FramedFile::FramedFile(const Deps& deps, FileId id)
    : deps_(deps),
      id_(id),
      zones_(MakeZones(deps)),
      mtime_seconds_(WallSeconds()),
      sent_seconds_(mtime_seconds_) {}

FramedFile::FramedFile(const Deps& deps, const FileRecord& record, ReplayedLog replayed)
    : deps_(deps),
      id_(record.id),
      index_(std::move(replayed.index)),
      zones_(MakeZones(deps)),
      windows_(record.windows),
      extents_end_(record.ExtentsEnd()),
      open_first_sequence_(record.next_sequence),
      next_sequence_(record.next_sequence),
      stable_sequence_(record.next_sequence - 1),
      stable_end_(index_.end()),
      mtime_seconds_(replayed.mtime_seconds),
      sent_seconds_(replayed.mtime_seconds) {
  zones_.Adopt(replayed.zones, index_.pieces());
  for (const Extent& extent : record.extents) zones_.Pin(extent.place);
}

FramedFile::~FramedFile() {
  MutexLock lock(mutex_);
  // Without an error these are bytes that nobody can ask for again. With one they may be the only copy.
  if (!state_.sound()) return;
  active_.Clear();
  flight_.Clear();
}

void FramedFile::BeginBuffer() {
  // What outlives the process must not stand behind a gap: the next mount could not tell it from damage.
  const bool behind_a_gap = !flight_.empty() && !flight_.survives_process();
  if (behind_a_gap) active_.Release();
  active_.Begin(behind_a_gap ? nullptr : deps_.staging, deps_.buffer_bytes, id_.value, SizeLocked());
  active_since_ = SteadyNow();
  drain_asked_ = false;
  if (deps_.drain != nullptr) deps_.drain->NoteBuffered();
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
  while (state_.appends().ok() && state_.truncating()) {
    SyncPoint::Reach("FramedFile::AwaitTruncation");  // with the lock held: a handler only counts
    turn_.Wait(mutex_);
  }
  if (state_.appends().ok()) state_.CloseAppends(AppendAll(bytes));
  return state_.appends();
}

Status FramedFile::AppendAll(ByteView bytes) {
  const std::uint64_t failed_sends = state_.failed_sends();
  if (!bytes.empty()) mtime_seconds_ = WallSeconds();
  while (!bytes.empty()) {
    if (state_.SendFailedSince(failed_sends)) return state_.sent();
    if (!state_.sound() && state_.free()) {  // an error of before this call
      ZENFS_RETURN_IF_ERROR(SendBuffer(false));
      continue;
    }
    if (active_.empty()) BeginBuffer();
    if (active_.room() == 0) {
      if (state_.free()) {
        ZENFS_RETURN_IF_ERROR(SendBuffer(false));
      } else {
        turn_.Wait(mutex_);
      }
      continue;
    }
    bytes = bytes.subspan(active_.Append(bytes, mtime_seconds_));
    if (!drain_asked_ && deps_.drain != nullptr && active_.length() >= active_.capacity() / 2) {
      drain_asked_ = true;
      deps_.drain->FlushEarly(id_);
    }
  }
  return {};
}

Status FramedFile::Flush() {
  {
    MutexLock lock(mutex_);
    const bool survives = state_.sound() && (active_.empty() || active_.survives_process()) &&
                          (flight_.empty() || flight_.survives_process());
    if (survives) return {};
  }
  return WriteBack();
}

bool FramedFile::WriteBackOlderThan(SteadyTime before) {
  {
    MutexLock lock(mutex_);
    if (active_.empty() || !state_.sound())
      return false;  // after an error: when somebody asks, not again and again
    if (active_since_ > before) return true;
  }
  IgnoreError(WriteBack());  // whoever writes or syncs next makes up for it, or is told
  return false;
}

void FramedFile::EndWriting() {
  MutexLock lock(mutex_);
  if (!state_.free() || !active_.empty())
    return;  // a new writer is at it already, or an error keeps the bytes
  active_.Release();
  if (flight_.empty()) flight_.Release();
}

Status FramedFile::WriteBack() { return WriteBackTo(size(), false); }

Status FramedFile::Sync() { return WriteBackTo(size(), true); }

Status FramedFile::WriteBackTo(std::uint64_t target, bool sync) {
  SyncPoint::Reach("FramedFile::WriteBackTo");
  MutexLock lock(mutex_);
  const std::uint64_t failed_sends = state_.failed_sends();
  for (;;) {
    if (state_.SendFailedSince(failed_sends)) return state_.sent();
    target = std::min(target, SizeLocked());  // the file may have been truncated while this waited
    if (state_.sound() && (sync ? stable_end_ : index_.end()) >= target) return {};
    if (state_.free()) {
      ZENFS_RETURN_IF_ERROR(SendBuffer(sync));
    } else {
      turn_.Wait(mutex_);
    }
  }
}

std::vector<Piece> FramedFile::Pieces() const {
  MutexLock lock(mutex_);
  return index_.pieces();
}

}  // namespace zenfs
