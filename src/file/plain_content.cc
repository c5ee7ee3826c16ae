#include "file/plain_content.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/assert.h"
#include "file/extent_list.h"

namespace zenfs {

// --- TailBuffer ---

std::uint32_t TailBuffer::CrcOfFront(std::size_t count) const {
  const ByteView behind = View().subspan(count);
  return behind.empty() ? crc_ : Crc32cFront(crc_, Crc32c(behind), behind.size());
}

void TailBuffer::Overwrite(std::size_t at, ByteView bytes, std::uint32_t crc) {
  if (bytes.empty()) return;
  const ByteView behind = View().subspan(at + bytes.size());
  crc_ = Crc32c(behind, Crc32cWhole(CrcOfFront(at), crc, bytes.size()));
  std::memcpy(memory_.data() + at, bytes.data(), bytes.size());
}

void TailBuffer::Cut(std::size_t size) {
  crc_ = size == 0 ? 0 : CrcOfFront(size);
  memory_.Resize(size);
}

void TailBuffer::DropFront(std::size_t count) {
  memory_.DropFront(count);
  crc_ = Crc32c(memory_.View());
}

ByteView TailBuffer::Padded(std::size_t unit) {
  const std::size_t content = size();
  Reserve(RoundUp(content, unit));
  memory_.PadTo(unit);
  const ByteView padded = memory_.View();
  memory_.Resize(content);
  return padded;
}

void TailBuffer::Shrink() {
  if (memory_.capacity() <= RoundUp(size(), AlignedBuffer::kAlignment)) return;
  AlignedBuffer smaller;
  if (!empty()) smaller = AlignedBuffer(size());
  smaller.Append(memory_.View());
  memory_ = std::move(smaller);
}

void TailBuffer::Reserve(std::size_t capacity) {
  if (capacity <= memory_.capacity()) return;
  AlignedBuffer larger(std::max(capacity, 2 * memory_.capacity()));
  larger.Append(memory_.View());
  memory_ = std::move(larger);
}

// --- PlainContent ---

bool PlainContent::Sound() const {
  const bool tail_fits = tail_.empty() || (tail_.size() <= size_ && tail_offset() <= extents_.end() &&
                                           IsMultiple(tail_offset(), block_));
  return tail_fits && extents_.end() <= size_ && (written() || !tail_.empty()) &&
         size_ == published_.size.load(std::memory_order_relaxed);
}

KnownCrc PlainContent::CrcWhenCut(std::uint64_t end, KnownCrc front) const {
  const auto extent = FindExtent(extents_.all(), end);
  if (extent == extents_.all().end() || extent->file_offset >= end || !extent->crc) return std::nullopt;
  if (end < tail_offset()) return front;
  const ByteView gone = tail_.View().subspan(end - tail_offset(), extent->end() - end);
  return Crc32cFront(*extent->crc, Crc32c(gone), gone.size());
}

void PlainContent::SetSize(std::uint64_t size) {
  size_ = size;
  published_.size.store(size, std::memory_order_release);
}

void PlainContent::Append(ByteView bytes, KnownCrc crc) {
  if (crc) {
    tail_.Append(bytes, *crc);
  } else {
    tail_.Append(bytes);
  }
  SetSize(size_ + bytes.size());
}

void PlainContent::Overwrite(std::uint64_t offset, ByteView bytes, std::uint32_t crc) {
  ZENFS_ASSERT(tail_offset() <= offset && offset + bytes.size() <= size_);
  CutExtents(tail_offset());
  tail_.Overwrite(offset - tail_offset(), bytes, crc);
  ++changes_;
}

void PlainContent::DropTail() {
  ZENFS_ASSERT(written());
  tail_.Cut(0);
}

void PlainContent::TakeWritten(std::vector<FileExtents::Placed> placed, std::size_t bytes, std::size_t kept) {
  ZENFS_ASSERT(kept <= bytes && bytes <= tail_.size());
  CutExtents(tail_offset());
  extents_.Append(std::move(placed));
  tail_.DropFront(bytes - kept);
}

void PlainContent::TakeGathered(std::vector<FileExtents::Placed> placed, std::uint64_t appended) {
  CutExtents(tail_offset());
  extents_.Append(std::move(placed));
  SetSize(size_ + appended);
  DropTail();
}

void PlainContent::Cut(std::uint64_t size, KnownCrc front) {
  ZENFS_ASSERT(size <= size_);
  const std::uint64_t tail_begin = tail_offset();
  CutExtents(size, front);  // before the cut of the tail buffer: it may use the removed bytes there
  tail_.Cut(size > tail_begin ? std::min<std::uint64_t>(size - tail_begin, tail_.size()) : 0);
  if (size != size_) ++changes_;
  SetSize(size);
}

}  // namespace zenfs
