// PlainFile: flushes, drains and moves by reclaim. Writes are in plain_file_write.cc, reads in plain_file_read.cc.
#include "file/plain_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/assert.h"
#include "base/clock.h"

namespace zenfs {

PlainFile::PlainFile(const Deps& deps, std::vector<Extent> extents, std::uint64_t size, Lifetime lifetime)
    : deps_(deps),
      geometry_(deps.device->geometry()),
      lifetime_(lifetime),
      map_(*deps.zones, geometry_, std::move(extents)),
      flushed_(deps.buffers, deps.id),
      committed_size_(size),
      size_(size),
      published_size_(size),
      view_(map_.MakeView()) {}

PlainFile::~PlainFile() = default;

bool PlainFile::Sound() const {
  const bool tail_fits = tail_.empty() || (tail_.size() <= size_ && TailOffset() <= map_.end() &&
                                           IsMultiple(TailOffset(), geometry_.block_size));
  return tail_fits && map_.end() <= size_ && (Clean() || !tail_.empty()) &&
         size_ == published_size_.load(std::memory_order_relaxed) &&
         (flushed_.empty() || flushed_.end() <= size_);
}

void PlainFile::SetLifetime(Lifetime lifetime) {
  MutexLock lock(mutex_);
  if (lifetime_.exchange(lifetime, std::memory_order_relaxed) != lifetime) cursor_ = {};
}

std::uint64_t PlainFile::size() const { return published_size_.load(std::memory_order_acquire); }

bool PlainFile::dirty() const {
  MutexLock lock(mutex_);
  return !Clean() || changed_.any();
}

// Bytes that a failed flush may have lost cannot be written again, because they are in memory no longer.
Status PlainFile::CheckFlushes() {
  if (!written_since_commit_ || !written_since_commit_->FlushFailedSince(*deps_.device)) return {};
  failed_ = Error(Code::kIo, fmt::format("bytes from {} on: {}", changed_.from, kLostToAFlush));
  return Fail(*failed_);
}

// The edit begins with the extent that the change continues, so that appends of many syncs are committed as one
// extent. An extent that ends at the change is included too: it may have been cut there and have a new checksum.
SetExtents PlainFile::Uncommitted() const {
  SetExtents edit{.id = deps_.id,
                  .from_offset = changed_.from,
                  .size = map_.end(),
                  .mtime_seconds = changed_seconds() != 0 ? changed_seconds() : WallSeconds()};
  for (const Extent& extent : map_.extents()) {
    if (extent.file_offset < changed_.from && changed_.from <= extent.end())
      edit.from_offset = extent.file_offset;
  }
  if (moved_away_) edit.from_offset = 0;  // the committed extents have other bounds
  edit.extents = ClipExtents(map_.extents(), edit.from_offset, map_.end());
  return edit;
}

FlushedTail::Content PlainFile::ToFlush() const {
  FlushedTail::Content content{.device_end = map_.end(),
                               .uncommitted = {},
                               .pins = view_.Get(),
                               .tail_offset = TailOffset(),
                               .tail = tail_.View(),
                               .appended_seconds = changed_seconds()};
  if (changed_.any()) content.uncommitted = Uncommitted();
  return content;
}

// A mount uses the flushed part of a file only if it makes the file longer than the committed one. So a change that
// does not must be committed.
Result<bool> PlainFile::TryFlush() {
  MutexLock lock(mutex_);
  ZENFS_RETURN_IF_ERROR(Healthy());
  if (Clean() && !changed_.any()) return true;
  if (size_ <= committed_size_ || flushed_.comfortable_bytes() == 0) return false;
  bool flushed = flushed_.Extend(TailOffset(), tail_.View(), changed_seconds());
  if (!flushed) {
    const std::size_t whole = tail_.size() - HeldBack(tail_.size());
    if (size_ - map_.end() > flushed_.comfortable_bytes() && whole != 0)
      ZENFS_RETURN_IF_ERROR(WriteFront(whole, 0));
    flushed = flushed_.Keep(ToFlush());
  }
  if (flushed) flushed_since_drain_ = true;
  ZENFS_ASSERT(Sound());
  return flushed;
}

// Called after a truncation. Once the shorter file is committed, the kept part must not be longer than it.
void PlainFile::CutFlushed() {
  if (flushed_.empty() || size_ >= flushed_.end()) return;
  if (size_ >= flushed_.device_end()) return flushed_.Cut(size_);
  if (size_ <= committed_size_ || !flushed_.Keep(ToFlush())) flushed_.Clear();
}

bool PlainFile::HasFlushedBytes() const {
  MutexLock lock(mutex_);
  return !flushed_.empty();
}

void PlainFile::ForgetFlushedBytes() {
  MutexLock lock(mutex_);
  flushed_.Clear();
}

Status PlainFile::WriteAll() {
  MutexLock lock(mutex_);
  ZENFS_RETURN_IF_ERROR(Healthy());
  return Clean() ? Status() : WriteFront(tail_.size(), HeldBack(tail_.size()));
}

Result<PlainFile::Drained> PlainFile::Drain() {
  MutexLock lock(mutex_);
  ZENFS_RETURN_IF_ERROR(Healthy());
  ZENFS_RETURN_IF_ERROR(CheckFlushes());
  if (!Clean()) ZENFS_RETURN_IF_ERROR(WriteFront(tail_.size(), HeldBack(tail_.size())));
  Drained drained;
  drained.size = size_;
  if (!changed_.any()) return drained;
  drained.changed = true;
  drained.data_since = written_since_commit_;
  SetExtents edit = Uncommitted();
  drained.from_offset = edit.from_offset;
  drained.mtime_seconds = edit.mtime_seconds;
  drained.extents = std::move(edit.extents);
  drained_ = view_.Get();
  changed_since_drain_ = {};
  written_since_drain_.reset();
  flushed_since_drain_ = false;
  ZENFS_ASSERT(Clean() && Sound());
  return drained;
}

void PlainFile::MarkCommitted(const Drained& drained) {
  if (!drained.changed) return;
  MutexLock lock(mutex_);
  changed_ = changed_since_drain_;
  moved_away_ = false;
  written_since_commit_ = written_since_drain_;
  drained_.reset();
  committed_size_ = drained.size;
  if (!flushed_since_drain_) flushed_.Clear();
  ZENFS_ASSERT(Sound());
}

void PlainFile::EndWriting() {
  MutexLock lock(mutex_);
  cursor_ = {};
  // A later writer that needs the last block reads it from the device.
  if (Clean()) tail_.Cut(0);
  tail_.Shrink();
}

bool PlainFile::TryReplaceCommitted(const std::vector<Extent>& extents) {
  moved_away_ = true;
  if (!mutex_.TryLock()) return false;
  ReplaceCommitted(extents);
  moved_away_ = false;
  mutex_.Unlock();
  return true;
}

void PlainFile::ReplaceCommitted(const std::vector<Extent>& extents) {
  if (changed_.any()) {
    SplicedExtents spliced = SpliceExtents(extents, map_.extents(), changed_, geometry_);
    changed_.before = spliced.before;
    map_.Replace(std::move(spliced.all));
  } else {
    map_.Replace(extents);
  }
  ZENFS_ASSERT(Sound());
  view_.Publish(map_.MakeView());
}

}  // namespace zenfs
