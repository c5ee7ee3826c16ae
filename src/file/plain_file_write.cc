#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "file/plain_file.h"

namespace zenfs {
namespace {

bool ForWantOfAZone(const Error& error) {
  return error.code() == Code::kNoSpace || error.code() == Code::kTimedOut;
}

void DropFront(std::vector<ByteView>& pieces, std::uint64_t bytes) {
  std::size_t whole = 0;
  for (; whole < pieces.size() && pieces[whole].size() <= bytes; ++whole) bytes -= pieces[whole].size();
  pieces.erase(pieces.begin(), pieces.begin() + static_cast<std::ptrdiff_t>(whole));
  if (bytes != 0) pieces.front() = pieces.front().subspan(bytes);
}

}  // namespace

Status PlainFile::Healthy() const {
  if (failed_) return Fail(*failed_);
  return {};
}

Status PlainFile::Append(ByteView bytes) {
  MutexLock lock(mutex_);
  ZENFS_RETURN_IF_ERROR(Healthy());
  return AppendLocked(bytes);
}

Status PlainFile::PositionedAppend(ByteView bytes, std::uint64_t offset) {
  MutexLock lock(mutex_);
  ZENFS_RETURN_IF_ERROR(Healthy());
  if (offset == size_) return AppendLocked(bytes);
  if (offset < size_ && tail_.empty()) ZENFS_RETURN_IF_ERROR(LoadTail());
  if (offset > size_ || offset < TailOffset()) {
    return Fail(Code::kInvalidArgument,
                fmt::format("positioned append at offset {} of a file that can be written from {} to {}",
                            offset, TailOffset(), size_));
  }
  const std::size_t overwritten = std::min<std::uint64_t>(bytes.size(), size_ - offset);
  if (overwritten == 0) return {};
  CutDevice(TailOffset());
  tail_.Overwrite(offset - TailOffset(), bytes.first(overwritten));
  return AppendLocked(bytes.subspan(overwritten));
}

Status PlainFile::AppendLocked(ByteView bytes) {
  if (bytes.empty()) return {};
  const std::uint32_t block = geometry_.block_size;
  if (Clean()) {
    if (IsMultiple(size_, block)) {
      tail_.Cut(0);  // whole blocks that are on the device need not go there again
    } else if (tail_.empty()) {
      ZENFS_RETURN_IF_ERROR(LoadTail());
    }
  }
  const std::uint64_t old_size = size_;
  const bool aligned = IsMultiple(reinterpret_cast<std::uintptr_t>(bytes.data()),
                                  std::min<std::size_t>(block, AlignedBuffer::kAlignment));
  const bool gather = aligned && IsMultiple(tail_.size(), block) && bytes.size() >= env_.buffer_bytes / 4;
  Status appended = gather ? AppendGathered(bytes) : AppendBuffered(bytes);
  if (!appended) TruncateLocked(old_size);
  return appended;
}

Status PlainFile::AppendGathered(ByteView bytes) {
  const std::size_t held_back = HeldBack(bytes.size());
  const ByteView now = bytes.first(bytes.size() - held_back);
  if (!now.empty()) {
    const std::uint64_t offset = TailOffset();
    const std::size_t buffered = tail_.size();
    const std::array<ByteView, 2> pieces{tail_.View(), now};
    ZENFS_RETURN_IF_ERROR(Place(offset, pieces, buffered + now.size()));
    SetSize(size_ + now.size());
    tail_.Cut(0);
  }
  tail_.Append(bytes.last(held_back));
  SetSize(size_ + held_back);
  return {};
}

Status PlainFile::AppendBuffered(ByteView bytes) {
  while (!bytes.empty()) {
    if (tail_.size() >= env_.buffer_bytes) {
      ZENFS_RETURN_IF_ERROR(WriteFront(RoundDown(tail_.size(), geometry_.block_size), 0));
    }
    const std::size_t n = std::min<std::size_t>(bytes.size(), env_.buffer_bytes - tail_.size());
    tail_.Append(bytes.first(n));
    SetSize(size_ + n);
    bytes = bytes.subspan(n);
  }
  return {};
}

Status PlainFile::WriteOut() {
  MutexLock lock(mutex_);
  ZENFS_RETURN_IF_ERROR(Healthy());
  if (Clean()) return {};
  const std::size_t bytes = tail_.size() - HeldBack(tail_.size());
  return bytes == 0 ? Status{} : WriteFront(bytes, 0);
}

// Writes the first `bytes` of the tail: whole blocks, or all of it with padding. The last `kept` of them stay
// in the buffer too.
Status PlainFile::WriteFront(std::size_t bytes, std::size_t kept) {
  const std::uint64_t length = RoundUp(bytes, geometry_.block_size);
  const ByteView content = tail_.Padded(geometry_.block_size).first(length);
  ZENFS_RETURN_IF_ERROR(Place(TailOffset(), std::span<const ByteView>(&content, 1), bytes));
  tail_.DropFront(bytes - kept);
  return {};
}

// Writes `pieces`, of which the first `content` bytes are the file's from `offset` on, and maps them there in
// place of what the map holds from `offset`. An error leaves the map as it was, or ending at `offset`.
Status PlainFile::Place(std::uint64_t offset, std::span<const ByteView> pieces, std::uint64_t content) {
  const Deadline deadline = Deadline::After(env_.space_wait);
  std::vector<ByteView> rest(pieces.begin(), pieces.end());
  for (std::uint64_t done = 0; done < content;) {
    auto placed = env_.sink->Write(cursor_, lifetime(), rest, deadline);
    if (!placed) {
      if (!ForWantOfAZone(placed.error())) failed_ = placed.error();
      if (done != 0) CutDevice(offset);
      return Fail(std::move(placed).error());
    }
    if (done == 0) CutDevice(offset);
    map_.Append({offset + done, placed->place, std::min(placed->length, content - done)},
                std::move(placed->pin));
    wrote_since_commit_ = wrote_since_drain_ = true;
    NoteChange(offset);
    done += placed->length;
    DropFront(rest, placed->length);
  }
  view_.Publish(map_.MakeView());
  if (env_.padding != nullptr)
    env_.padding->fetch_add(RoundUp(content, geometry_.block_size) - content, std::memory_order_relaxed);
  return {};
}

Status PlainFile::Truncate(std::uint64_t size) {
  MutexLock lock(mutex_);
  ZENFS_RETURN_IF_ERROR(Healthy());
  if (size > size_) {
    return Fail(Code::kNotSupported, fmt::format("truncate to {} of a file of {} bytes", size, size_));
  }
  TruncateLocked(size);
  return {};
}

void PlainFile::TruncateLocked(std::uint64_t size) {
  const std::uint64_t tail_offset = TailOffset();
  tail_.Cut(size > tail_offset ? std::min<std::uint64_t>(size - tail_offset, tail_.size()) : 0);
  SetSize(size);
  CutDevice(size);
}

void PlainFile::SetSize(std::uint64_t size) {
  size_ = size;
  published_size_.store(size, std::memory_order_release);
}

// What is mapped from `end` on is not the file's any more.
void PlainFile::CutDevice(std::uint64_t end) {
  if (map_.end() <= end) return;
  map_.Cut(end);
  NoteChange(RoundDown(end, geometry_.block_size));
  view_.Publish(map_.MakeView());
}

void PlainFile::NoteChange(std::uint64_t offset) {
  changed_from_ = std::min(changed_from_, offset);
  changed_since_drain_ = std::min(changed_since_drain_, offset);
}

// Reads the last block back into the empty buffer.
Status PlainFile::LoadTail() {
  const std::size_t length = HeldBack(size_);
  if (length == 0) return {};
  AlignedBuffer block(length);
  block.Resize(length);
  ZENFS_RETURN_IF_ERROR(ReadExtents(*env_.device, map_.extents(), size_ - length, block.Span()));
  tail_.Append(block.View());
  return {};
}

}  // namespace zenfs
