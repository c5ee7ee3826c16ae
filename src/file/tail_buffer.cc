#include "file/tail_buffer.h"

#include <algorithm>
#include <cstring>

namespace zenfs {

void TailBuffer::Overwrite(std::size_t at, ByteView bytes) {
  if (!bytes.empty()) std::memcpy(memory_.data() + at, bytes.data(), bytes.size());
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
