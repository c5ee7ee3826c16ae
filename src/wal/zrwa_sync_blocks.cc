#include "wal/zrwa_sync_blocks.h"

#include "base/assert.h"
#include "base/clock.h"
#include "base/sync_point.h"

namespace zenfs {

std::optional<SyncArea::Pair> SyncArea::Take() {
  if (off()) return std::nullopt;
  MutexLock lock(mutex_);
  if (state_ == State::kNone) {
    state_ = State::kOpening;
    lock.Unlock();
    const Result<LogCursor> opened = OpenZone();
    lock.Lock();
    if (!opened) {
      off_.store(true, std::memory_order_relaxed);
      return std::nullopt;
    }
    cursor_ = *opened;
    state_ = State::kOpen;
    pairs_ = static_cast<std::uint32_t>(BytesIn(cursor_) / PairBytes());
  }
  if (!freed_.empty()) {
    const std::uint32_t number = freed_.back();
    freed_.pop_back();
    return Pair(this, number);
  }
  if (taken_ == pairs_) return std::nullopt;  // also while another thread opens the zone
  return Pair(this, taken_++);
}

// Waits for nothing: without a zone, syncs go to the log as on other devices.
Result<LogCursor> SyncArea::OpenZone() {
  std::optional<LogCursor> cursor = deps_.log_zones->TakeForSyncs();
  if (!cursor) {
    ZENFS_RETURN_IF_ERROR(deps_.supply->AllocateGroup(Deadline::After(std::chrono::seconds(0))));
    cursor = deps_.log_zones->TakeForSyncs();
    if (!cursor) return Fail(Code::kNoSpace, "the log's writer took the zone");
  }
  Status opened = deps_.allocations->MarkSync(cursor->zone, BytesIn(*cursor));
  if (opened.ok()) opened = deps_.device->OpenRandom(cursor->zone);
  if (opened.ok()) return *cursor;
  deps_.log_zones->Close(cursor->zone);
  return Fail(opened.error());
}

// The reset comes first: a zone that is no log zone any more must not have an area.
void SyncArea::Release() {
  {
    MutexLock lock(mutex_);
    if (state_ != State::kOpen) return;
  }
  if (!deps_.device->Reset(cursor_.zone).ok()) return;
  IgnoreError(deps_.allocations->Release(std::span(&cursor_.zone, 1)));
}

void SyncArea::Free(std::uint32_t number) {
  MutexLock lock(mutex_);
  freed_.push_back(number);
}

Status SyncArea::Pair::Write(bool second, ByteView block) const {
  const std::uint64_t at = (2 * std::uint64_t{number_} + (second ? 1 : 0)) * block.size();
  area_->blocks_written_.fetch_add(1, std::memory_order_relaxed);
  return area_->deps_.device->Write(area_->cursor_.at + at, block);
}

void SyncBlocks::Take() {
  ZENFS_ASSERT(!taken());
  pair_ = area_->Take();
  if (pair_) image_ = AlignedBuffer(area_->block_size());
}

AlignedBuffer& SyncBlocks::Image(std::uint64_t length) {
  ZENFS_ASSERT(taken() && length <= room());
  image_.Resize(kFrameHeaderBytes + length);
  return image_;
}

Status SyncBlocks::Write(const FrameHeader& header) {
  const std::uint32_t block = area_->block_size();
  image_.ZeroBehind(block);
  SealFrame(image_.Span(), header, pair_->seed());
  SyncPoint::Reach("SyncBlocks::Write");
  const bool second = !confirmed_second_;
  written_second_ = second;
  return pair_->Write(second, image_.View(0, block));
}

}  // namespace zenfs
