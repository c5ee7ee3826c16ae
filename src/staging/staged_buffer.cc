#include "staging/staged_buffer.h"

#include <utility>

#include "base/assert.h"
#include "base/crc32c.h"
#include "base/sync_point.h"

namespace zenfs {

StagedBuffer::StagedBuffer(StagedBuffer&& other) noexcept
    : area_(std::move(other.area_)),
      slot_(std::exchange(other.slot_, StagingArea::kNoSlot)),
      buffer_(std::move(other.buffer_)),
      file_offset_(other.file_offset_),
      record_bytes_(other.record_bytes_),
      crc_(other.crc_) {}

StagedBuffer& StagedBuffer::operator=(StagedBuffer&& other) noexcept {
  std::swap(area_, other.area_);
  std::swap(slot_, other.slot_);
  std::swap(buffer_, other.buffer_);
  std::swap(file_offset_, other.file_offset_);
  std::swap(record_bytes_, other.record_bytes_);
  std::swap(crc_, other.crc_);
  return *this;
}

StagedBuffer::~StagedBuffer() {
  if (empty()) Release();
}

void StagedBuffer::Adopt(const std::shared_ptr<StagingArea>& area, std::uint32_t slot) {
  area_ = area;
  slot_ = slot;
  buffer_ = AlignedBuffer::Borrow(area->Buffer(slot));
}

void StagedBuffer::TakeMemory(const std::shared_ptr<StagingArea>& area, std::uint64_t memory_bytes) {
  if (slot_ != StagingArea::kNoSlot) return;
  const std::uint32_t slot = area == nullptr ? StagingArea::kNoSlot : area->TakeSlot();
  if (slot != StagingArea::kNoSlot) {
    Adopt(area, slot);
  } else if (buffer_.capacity() == 0) {
    buffer_ = AlignedBuffer(memory_bytes);
  }
}

void StagedBuffer::Begin(const std::shared_ptr<StagingArea>& area, std::uint64_t memory_bytes,
                         std::uint64_t owner, std::uint64_t file_offset) {
  ZENFS_ASSERT(empty());
  TakeMemory(area, memory_bytes);
  Start(owner, file_offset);
}

bool StagedBuffer::BeginTail(const std::shared_ptr<StagingArea>& area, std::uint64_t owner,
                             std::uint64_t file_offset, ByteView record) {
  const std::uint32_t slot = area == nullptr ? StagingArea::kNoSlot : area->TakeTailSlot(owner);
  if (slot == StagingArea::kNoSlot) return false;
  Adopt(area, slot);
  record_bytes_ = record.size();
  Start(owner, file_offset);
  if (record.size() > buffer_.room()) {
    Release();
    return false;
  }
  buffer_.Append(record);
  crc_ = Crc32c(record, crc_);
  return true;
}

void StagedBuffer::Start(std::uint64_t owner, std::uint64_t file_offset) {
  buffer_.Resize(kStagingPayloadAt);
  file_offset_ = file_offset;
  if (slot_ == StagingArea::kNoSlot) return;
  StagingControl& control = area_->Control(slot_);
  control.owner = owner;
  control.file_offset = file_offset;
  control.record_bytes = record_bytes_;
  crc_ = Seed();
}

std::uint32_t StagedBuffer::Seed() const {
  return StagingSeed(area_->volume_, area_->header_.epoch, area_->Control(slot_).owner, file_offset_,
                     record_bytes_);
}

std::size_t StagedBuffer::Append(ByteView bytes, std::uint64_t seconds) {
  const std::size_t taken = buffer_.Append(bytes);
  if (slot_ == StagingArea::kNoSlot) return taken;
  crc_ = Crc32c(bytes.first(taken), crc_);
  SyncPoint::Reach("StagedBuffer::BeforePublish");
  area_->Control(slot_).appended_seconds = seconds;
  Publish();
  return taken;
}

void StagedBuffer::Publish() {
  ZENFS_ASSERT(slot_ != StagingArea::kNoSlot && buffer_.size() > kStagingPayloadAt);
  area_->Control(slot_).published.store(PublishedWord(static_cast<std::uint32_t>(Published().size()), crc_),
                                        std::memory_order_release);
  // Later stores must not move before this one. A killed process leaves its stores in program
  // order.
  std::atomic_signal_fence(std::memory_order_seq_cst);
}

void StagedBuffer::Cut(std::uint64_t length) {
  if (length >= this->length()) return;
  ZENFS_ASSERT(length != 0 || record_bytes_ != 0);
  buffer_.Resize(PayloadAt() + length);
  if (slot_ == StagingArea::kNoSlot || area_->fork_guard_.InChild()) return;
  crc_ = Crc32c(Published(), Seed());
  Publish();
}

void StagedBuffer::Clear() {
  if (slot_ != StagingArea::kNoSlot && !area_->fork_guard_.InChild()) {
    area_->Control(slot_).published.store(0, std::memory_order_release);
    // Later stores to this slot must not move before this one. A killed process leaves its stores
    // in program order.
    std::atomic_signal_fence(std::memory_order_seq_cst);
  }
  buffer_.Clear();
}

void StagedBuffer::Release() {
  if (slot_ != StagingArea::kNoSlot) {
    Clear();
    area_->ReturnSlot(slot_);
    slot_ = StagingArea::kNoSlot;
    area_.reset();
  }
  buffer_ = AlignedBuffer();
  record_bytes_ = 0;
}

void StagedBuffer::GiveUp(std::shared_ptr<const void> held) {
  ZENFS_ASSERT(slot_ != StagingArea::kNoSlot);
  area_->GiveUpSlot(slot_, std::move(held));
  slot_ = StagingArea::kNoSlot;
  area_.reset();
  buffer_ = AlignedBuffer();
}

}  // namespace zenfs
