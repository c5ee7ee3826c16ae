#include "file/flushed_tail.h"

#include "base/assert.h"
#include "format/tail_record.h"

namespace zenfs {

FlushedTail::~FlushedTail() {
  if (!buffer_.empty()) buffer_.GiveUp(std::move(pins_));
}

std::uint64_t FlushedTail::comfortable_bytes() const {
  return area_ == nullptr || area_->retired() ? 0 : area_->buffer_bytes() / 2;
}

bool FlushedTail::Keep(Content content) {
  ZENFS_ASSERT(content.tail_offset <= content.device_end &&
               content.device_end <= content.tail_offset + content.tail.size());
  const ByteView bytes = content.tail.subspan(content.device_end - content.tail_offset);
  const std::string record =
      EncodeTailRecord({.order = ++order_, .uncommitted = std::move(content.uncommitted)});
  AppendBuffer next;
  if (!next.BeginTail(area_, owner_.value, content.device_end, AsBytes(record))) return false;
  if (bytes.size() > next.room()) {
    next.Release();
    return false;
  }
  next.Append(bytes, content.appended_seconds);
  std::swap(buffer_, next);
  next.Release();
  pins_ = std::move(content.pins);
  changed_ = false;
  return buffer_.survives_process();
}

bool FlushedTail::Extend(std::uint64_t tail_offset, ByteView tail, std::uint64_t appended_seconds) {
  if (buffer_.empty() || changed_) return false;
  ZENFS_ASSERT(tail_offset <= buffer_.end() && buffer_.end() <= tail_offset + tail.size());
  const ByteView bytes = tail.subspan(buffer_.end() - tail_offset);
  if (bytes.size() > buffer_.room()) return false;
  buffer_.Append(bytes, appended_seconds);
  return buffer_.survives_process();
}

void FlushedTail::Clear() {
  buffer_.Release();
  pins_.reset();
}

}  // namespace zenfs
