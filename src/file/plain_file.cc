// PlainFile: the calls of writers. Reads are in plain_file_read.cc.
#include "file/plain_file.h"

#include <fmt/format.h>

#include <utility>

#include "base/assert.h"
#include "base/clock.h"
#include "file/extent_checksum.h"
#include "file/plain_file_append.h"
#include "file/plain_file_flush.h"
#include "file/plain_file_write.h"

namespace zenfs {
namespace {

Status CheckTruncate(const PlainFileParts& file, std::uint64_t size) REQUIRES(file.mutex) {
  ZENFS_RETURN_IF_ERROR(file.health);
  if (size <= file.content.size()) return {};
  return Fail(Code::kNotSupported,
              fmt::format("truncate to {} of a file of {} bytes", size, file.content.size()));
}

// True if a cut at `size` divides an extent that the tail buffer does not have. Only the tail buffer gives the checksum of the
// rest without a read.
bool DividesAnExtent(const PlainFileParts& file, std::uint64_t size) REQUIRES(file.mutex) {
  const std::vector<Extent>& extents = file.content.extents().all();
  const auto divided = FindExtent(extents, size);
  return size < file.content.tail_offset() && divided != extents.end() && divided->file_offset < size;
}

// True if `front` is the front of the extent at `size`. That extent may have become longer since.
bool IsFrontOfDivided(const PlainFileParts& file, const Extent& front, std::uint64_t size)
    REQUIRES(file.mutex) {
  const auto divided = FindExtent(file.content.extents().all(), size);
  return divided->file_offset == front.file_offset && divided->place == front.place;
}

// Bytes that a failed flush may have lost cannot be written again, because they are in memory no longer.
Status CheckFlushes(PlainFileParts& file) REQUIRES(file.mutex) {
  const FileExtents& extents = file.content.extents();
  const std::optional<FlushMark>& written = extents.written_since();
  if (!written || !written->FlushFailedSince(*file.deps.device)) return {};
  file.health = Fail(Code::kIo, fmt::format("bytes from {} on: {}", extents.changed_from(), kLostToAFlush));
  return file.health;
}

}  // namespace

PlainFile::PlainFile(const Deps& deps, std::vector<Extent> extents, std::uint64_t size, Lifetime lifetime)
    : file_(deps, ExtentMap(*deps.zones, deps.device->geometry(), std::move(extents)), size, lifetime) {}

void PlainFile::SetLifetime(Lifetime lifetime) {
  MutexLock lock(file_.mutex);
  if (file_.lifetime.exchange(lifetime, std::memory_order_relaxed) != lifetime) file_.cursor = {};
}

Status PlainFile::Changed(Status status, std::uint64_t bytes) {
  if (status.ok() && bytes != 0) file_.changed_seconds.store(WallSeconds(), std::memory_order_relaxed);
  return status;
}

Status PlainFile::Append(ByteView bytes, KnownCrc crc) {
  MutexLock lock(file_.mutex);
  ZENFS_RETURN_IF_ERROR(file_.health);
  Status appended = Changed(AppendTo(file_, bytes, crc), bytes.size());
  ZENFS_ASSERT(file_.Sound());
  return appended;
}

Status PlainFile::PositionedAppend(ByteView bytes, std::uint64_t offset, KnownCrc crc) {
  MutexLock lock(file_.mutex);
  ZENFS_RETURN_IF_ERROR(file_.health);
  const bool at_end = offset == file_.content.size();
  Status written = at_end ? AppendTo(file_, bytes, crc) : OverwriteTail(file_, offset, bytes, crc);
  ZENFS_ASSERT(file_.Sound());
  return Changed(std::move(written), bytes.size());
}

Result<bool> PlainFile::Truncate(std::uint64_t size) {
  std::optional<Extent> front;
  for (;;) {
    std::shared_ptr<const FileView> view;  // pins the zone
    {
      MutexLock lock(file_.mutex);
      ZENFS_RETURN_IF_ERROR(CheckTruncate(file_, size));
      if (!DividesAnExtent(file_, size) || (front && IsFrontOfDivided(file_, *front, size))) {
        const std::uint64_t gone = file_.content.size() - size;
        CutFile(file_, size, front ? front->crc : std::nullopt);
        IgnoreError(Changed({}, gone));
        return !MountFindsMore(file_);
      }
      view = file_.published.view.Get();
    }
    // Without the lock. If reclaim moves the file meanwhile, this is done again with the new place.
    ZENFS_ASSIGN_OR_RETURN(front, FrontOfDivided(*file_.deps.device, view->extents, size));
  }
}

Status PlainFile::WriteBack() {
  MutexLock lock(file_.mutex);
  ZENFS_RETURN_IF_ERROR(file_.health);
  return file_.content.written() ? Status{} : WriteWholeBlocks(file_);
}

void PlainFile::EndWriting() {
  MutexLock lock(file_.mutex);
  file_.cursor = {};
  // A later writer that needs the last block reads it from the device.
  if (file_.content.written()) file_.content.DropTail();
  file_.content.ShrinkTail();
}

Result<bool> PlainFile::TryFlush() {
  MutexLock lock(file_.mutex);
  ZENFS_RETURN_IF_ERROR(file_.health);
  return FlushTail(file_);
}

bool PlainFile::KeptForNextMount() const {
  MutexLock lock(file_.mutex);
  return file_.flushed.Keeps(file_.content.size(), file_.content.revision());
}

bool PlainFile::HasFlushedBytes() const {
  MutexLock lock(file_.mutex);
  return !file_.flushed.empty();
}

void PlainFile::ForgetFlushedBytes() {
  MutexLock lock(file_.mutex);
  file_.flushed.Clear();
}

Status PlainFile::WriteAll() {
  MutexLock lock(file_.mutex);
  ZENFS_RETURN_IF_ERROR(file_.health);
  return WriteWholeTail(file_);
}

Result<PlainFile::Drained> PlainFile::Drain() {
  MutexLock lock(file_.mutex);
  ZENFS_RETURN_IF_ERROR(file_.health);
  ZENFS_RETURN_IF_ERROR(CheckFlushes(file_));
  ZENFS_RETURN_IF_ERROR(WriteWholeTail(file_));
  FileExtents& extents = file_.content.extents();
  Drained drained;
  drained.size = file_.content.size();
  if (!extents.changed()) return drained;
  drained.changed = true;
  drained.data_since = extents.written_since();
  SetExtents edit = file_.EditToCommit();
  drained.from_offset = edit.from_offset;
  drained.mtime_seconds = edit.mtime_seconds;
  drained.extents = std::move(edit.extents);
  extents.BeginCommit();
  file_.flushed_since_drain = false;
  ZENFS_ASSERT(file_.content.written() && file_.Sound());
  return drained;
}

void PlainFile::MarkCommitted(const Drained& drained) {
  if (!drained.changed) return;
  MutexLock lock(file_.mutex);
  file_.content.extents().EndCommit(drained.size);
  file_.moved_away = false;
  if (!file_.flushed_since_drain) file_.flushed.Clear();
  ZENFS_ASSERT(file_.Sound());
}

bool PlainFile::dirty() const {
  MutexLock lock(file_.mutex);
  return !file_.content.written() || file_.content.extents().changed();
}

bool PlainFile::TryReplaceCommitted(const std::vector<Extent>& extents) {
  file_.moved_away = true;
  if (!file_.mutex.TryLock()) return false;
  file_.content.extents().TakeMoved(extents);
  ZENFS_ASSERT(file_.Sound());
  file_.moved_away = false;
  file_.mutex.Unlock();
  return true;
}

}  // namespace zenfs
