#include "file/tail_buffer.h"

#include <algorithm>
#include <cstring>

namespace zenfs {

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

}  // namespace zenfs
