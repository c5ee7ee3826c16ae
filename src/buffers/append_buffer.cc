#include "buffers/append_buffer.h"

#include <utility>

#include "base/assert.h"
#include "base/crc32c.h"
#include "base/sync_point.h"

namespace zenfs {
namespace {

// Record and payload, which the next mount reads.
ByteView Published(const AlignedBuffer& whole) {
  return whole.View(kBufferAreaPayloadAt, whole.size() - kBufferAreaPayloadAt);
}

}  // namespace

AppendBuffer::AppendBuffer(AppendBuffer&& other) noexcept
    : area_(std::move(other.area_)),
      slot_(std::exchange(other.slot_, BufferArea::kNoSlot)),
      buffer_(std::move(other.buffer_)),
      file_offset_(other.file_offset_),
      record_bytes_(other.record_bytes_),
      crc_(other.crc_) {}

AppendBuffer& AppendBuffer::operator=(AppendBuffer&& other) noexcept {
  std::swap(area_, other.area_);
  std::swap(slot_, other.slot_);
  std::swap(buffer_, other.buffer_);
  std::swap(file_offset_, other.file_offset_);
  std::swap(record_bytes_, other.record_bytes_);
  std::swap(crc_, other.crc_);
  return *this;
}

AppendBuffer::~AppendBuffer() {
  if (empty()) Release();
}

void AppendBuffer::Adopt(const std::shared_ptr<BufferArea>& area, std::uint32_t slot) {
  area_ = area;
  slot_ = slot;
  buffer_ = AlignedBuffer::Borrow(area->Buffer(slot));
}

void AppendBuffer::Begin(const std::shared_ptr<BufferArea>& area, std::uint64_t memory_bytes,
                         std::uint64_t owner, std::uint64_t file_offset) {
  ZENFS_ASSERT(empty());
  if (slot_ == BufferArea::kNoSlot) {
    const std::uint32_t slot = area == nullptr ? BufferArea::kNoSlot : area->TakeSlot();
    if (slot != BufferArea::kNoSlot) {
      Adopt(area, slot);
    } else if (buffer_.capacity() == 0) {
      buffer_ = AlignedBuffer(memory_bytes);
    }
  }
  Start(owner, file_offset);
}

bool AppendBuffer::BeginTail(const std::shared_ptr<BufferArea>& area, std::uint64_t owner,
                             std::uint64_t file_offset, ByteView record) {
  const std::uint32_t slot = area == nullptr ? BufferArea::kNoSlot : area->TakeTailSlot(owner);
  if (slot == BufferArea::kNoSlot) return false;
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

void AppendBuffer::Start(std::uint64_t owner, std::uint64_t file_offset) {
  buffer_.Resize(kBufferAreaPayloadAt);
  file_offset_ = file_offset;
  if (slot_ == BufferArea::kNoSlot) return;
  BufferAreaControl& control = area_->Control(slot_);
  control.owner = owner;
  control.file_offset = file_offset;
  control.record_bytes = record_bytes_;
  crc_ = Seed();
}

std::uint32_t AppendBuffer::Seed() const {
  return BufferAreaSeed(area_->volume_, area_->header_.epoch, area_->Control(slot_).owner, file_offset_,
                        record_bytes_);
}

std::size_t AppendBuffer::Append(ByteView bytes, std::uint64_t seconds) {
  const std::size_t taken = buffer_.Append(bytes);
  if (slot_ == BufferArea::kNoSlot) return taken;
  crc_ = Crc32c(bytes.first(taken), crc_);
  SyncPoint::Reach("AppendBuffer::Append:copied");
  area_->Control(slot_).appended_seconds = seconds;
  Publish();
  return taken;
}

void AppendBuffer::Publish() {
  ZENFS_ASSERT(slot_ != BufferArea::kNoSlot && buffer_.size() > kBufferAreaPayloadAt);
  area_->Control(slot_).published.store(
      PublishedWord(static_cast<std::uint32_t>(Published(buffer_).size()), crc_), std::memory_order_release);
  // Later stores must not move before this one. A killed process leaves its stores in program
  // order.
  std::atomic_signal_fence(std::memory_order_seq_cst);
}

void AppendBuffer::Cut(std::uint64_t length) {
  if (length >= this->length()) return;
  ZENFS_ASSERT(length != 0 || record_bytes_ != 0);
  buffer_.Resize(PayloadAt() + length);
  if (slot_ == BufferArea::kNoSlot || area_->fork_guard_.InChild()) return;
  crc_ = Crc32c(Published(buffer_), Seed());
  Publish();
}

void AppendBuffer::Clear() {
  if (slot_ != BufferArea::kNoSlot && !area_->fork_guard_.InChild()) {
    area_->Control(slot_).published.store(0, std::memory_order_release);
    // Later stores to this slot must not move before this one. A killed process leaves its stores
    // in program order.
    std::atomic_signal_fence(std::memory_order_seq_cst);
  }
  buffer_.Clear();
}

void AppendBuffer::Release() {
  if (slot_ != BufferArea::kNoSlot) {
    Clear();
    area_->ReturnSlot(slot_);
    slot_ = BufferArea::kNoSlot;
    area_.reset();
  }
  buffer_ = AlignedBuffer();
  record_bytes_ = 0;
}

void AppendBuffer::GiveUp(std::shared_ptr<const void> held) {
  ZENFS_ASSERT(slot_ != BufferArea::kNoSlot);
  area_->GiveUpSlot(slot_, std::move(held));
  slot_ = BufferArea::kNoSlot;
  area_.reset();
  buffer_ = AlignedBuffer();
}

}  // namespace zenfs
