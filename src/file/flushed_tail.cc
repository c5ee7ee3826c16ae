#include "file/flushed_tail.h"

#include <algorithm>

#include "base/assert.h"
#include "format/buffer_area_layout.h"

namespace zenfs {
namespace {

constexpr std::uint64_t kComfortableMax = 128
                                          << 10;  // above it a copy costs more than the write that it saves

}  // namespace

FlushedTail::~FlushedTail() {
  if (!buffer_.empty()) buffer_.GiveUp(std::move(pins_));
}

std::uint64_t FlushedTail::comfortable_bytes() const {
  if (area_ == nullptr || area_->retired()) return 0;
  return std::min(area_->buffer_bytes() / 2, kComfortableMax);
}

bool FlushedTail::Keep(Content content) {
  ZENFS_ASSERT(content.tail_offset <= content.device_end &&
               content.device_end <= content.tail_offset + content.tail.size());
  // Nobody would read it.
  if (content.uncommitted && area_ != nullptr && content.uncommitted->extents.size() > area_->extents_max())
    return false;
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
  revision_ = content.revision;
  return buffer_.survives_process();
}

bool FlushedTail::Extend(const Content& content) {
  if (buffer_.empty() || revision_ != content.revision) return false;
  ZENFS_ASSERT(content.tail_offset <= buffer_.end() &&
               buffer_.end() <= content.tail_offset + content.tail.size());
  const ByteView bytes = content.tail.subspan(buffer_.end() - content.tail_offset);
  if (bytes.size() > buffer_.room()) return false;
  buffer_.Append(bytes, content.appended_seconds);
  return buffer_.survives_process();
}

void FlushedTail::Clear() {
  buffer_.Release();
  pins_.reset();
}

}  // namespace zenfs
