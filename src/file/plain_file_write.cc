#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "base/checksum_handoff.h"
#include "file/extent_checksum.h"
#include "file/extent_list.h"
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

// Of the first `bytes` of `pieces`.
std::uint32_t CrcOfFirst(std::span<const ByteView> pieces, std::uint64_t bytes) {
  std::uint32_t crc = 0;
  for (const ByteView piece : pieces) {
    const ByteView front = piece.first(std::min<std::uint64_t>(piece.size(), bytes));
    crc = Crc32c(front, crc);
    bytes -= front.size();
  }
  return crc;
}

}  // namespace

Status PlainFile::Healthy() const {
  if (failed_) return Fail(*failed_);
  return {};
}

Status PlainFile::Append(ByteView bytes, KnownCrc crc) {
  MutexLock lock(mutex_);
  ZENFS_RETURN_IF_ERROR(Healthy());
  return AppendLocked(bytes, crc);
}

Status PlainFile::PositionedAppend(ByteView bytes, std::uint64_t offset, KnownCrc crc) {
  MutexLock lock(mutex_);
  ZENFS_RETURN_IF_ERROR(Healthy());
  if (offset == size_) return AppendLocked(bytes, crc);
  if (offset < size_ && tail_.empty()) ZENFS_RETURN_IF_ERROR(LoadTail());
  if (offset > size_ || offset < TailOffset()) {
    return Fail(Code::kInvalidArgument,
                fmt::format("positioned append at offset {} of a file that can be written from {} to {}",
                            offset, TailOffset(), size_));
  }
  const ByteView front = bytes.first(std::min<std::uint64_t>(bytes.size(), size_ - offset));
  const ByteView rest = bytes.subspan(front.size());
  const std::uint32_t front_crc = Crc32c(front);
  // What the rest has to have, if the front is as it was meant to be; of an empty rest that is 0.
  if (crc) crc = Crc32cBack(*crc, front_crc, rest.size());
  ZENFS_ASSIGN_OR_RETURN(const Incoming incoming, Inspect(rest, crc));
  if (front.empty()) return {};
  CutDevice(TailOffset());
  tail_.Overwrite(offset - TailOffset(), front, front_crc);
  flushed_.NoteChange();
  return AppendInspected(incoming);
}

Status PlainFile::AppendLocked(ByteView bytes, KnownCrc crc) {
  if (!bytes.empty() && Clean()) {
    if (IsMultiple(size_, geometry_.block_size)) {
      tail_.Cut(0);  // whole blocks that are on the device need not go there again
    } else if (tail_.empty()) {
      ZENFS_RETURN_IF_ERROR(LoadTail());
    }
  }
  ZENFS_ASSIGN_OR_RETURN(const Incoming incoming, Inspect(bytes, crc));
  return AppendInspected(incoming);
}

// Decides how the bytes go on from the tail as it is, sums them as that needs it, and holds the sum against `crc`.
Result<PlainFile::Incoming> PlainFile::Inspect(ByteView bytes, KnownCrc crc) const {
  const std::uint32_t block = geometry_.block_size;
  const bool aligned = IsMultiple(reinterpret_cast<std::uintptr_t>(bytes.data()),
                                  std::min<std::size_t>(block, AlignedBuffer::kAlignment));
  Incoming incoming{.bytes = bytes, .crc = std::nullopt};
  incoming.gather = aligned && IsMultiple(tail_.size(), block) && bytes.size() >= env_.buffer_bytes / 4;
  if (incoming.gather) incoming.held_back = HeldBack(bytes.size());
  if (incoming.gather || crc) {
    incoming.crc = Crc32c(bytes.first(bytes.size() - incoming.held_back));
    incoming.held_back_crc = Crc32c(bytes.last(incoming.held_back));
  }
  if (crc) {
    const std::uint32_t whole = Crc32cWhole(*incoming.crc, incoming.held_back_crc, incoming.held_back);
    ZENFS_RETURN_IF_ERROR(CheckHandoff(bytes.size(), whole, crc));
  }
  return incoming;
}

Status PlainFile::AppendInspected(const Incoming& incoming) {
  if (incoming.bytes.empty()) return {};
  const std::uint64_t old_size = size_;
  Status appended = incoming.gather ? AppendGathered(incoming) : AppendBuffered(incoming.bytes, incoming.crc);
  if (!appended) TruncateLocked(old_size);
  return appended;
}

Status PlainFile::AppendGathered(const Incoming& incoming) {
  const ByteView now = incoming.bytes.first(incoming.bytes.size() - incoming.held_back);
  if (!now.empty()) {
    const std::array<ByteView, 2> pieces{tail_.View(), now};
    ZENFS_RETURN_IF_ERROR(Place(TailOffset(), pieces, tail_.size() + now.size(),
                                Crc32cWhole(tail_.crc(), *incoming.crc, now.size())));
    SetSize(size_ + now.size());
    tail_.Cut(0);
  }
  tail_.Append(incoming.bytes.last(incoming.held_back), incoming.held_back_crc);
  SetSize(size_ + incoming.held_back);
  return {};
}

// `crc`: of all of `bytes`.
Status PlainFile::AppendBuffered(ByteView bytes, KnownCrc crc) {
  const std::size_t all = bytes.size();
  while (!bytes.empty()) {
    if (tail_.size() >= env_.buffer_bytes) {
      ZENFS_RETURN_IF_ERROR(WriteFront(RoundDown(tail_.size(), geometry_.block_size), 0));
    }
    const std::size_t n = std::min<std::size_t>(bytes.size(), env_.buffer_bytes - tail_.size());
    if (crc && n == all) {
      tail_.Append(bytes, *crc);
    } else {
      tail_.Append(bytes.first(n));
    }
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
  const std::uint32_t crc = tail_.CrcOfFront(bytes);
  const ByteView content = tail_.Padded(geometry_.block_size).first(length);
  ZENFS_RETURN_IF_ERROR(Place(TailOffset(), std::span<const ByteView>(&content, 1), bytes, crc));
  tail_.DropFront(bytes - kept);
  return {};
}

// Writes `pieces`, of which the first `content` bytes are the file's from `offset` on and have the CRC `crc`, and maps
// them there in place of what the map holds from `offset`. An error leaves the map as it was.
Status PlainFile::Place(std::uint64_t offset, std::span<const ByteView> pieces, std::uint64_t content,
                        std::uint32_t crc) {
  const Deadline deadline = Deadline::After(env_.space_wait);
  std::vector<ByteView> rest(pieces.begin(), pieces.end());
  std::vector<std::pair<Extent, ZonePin>> all;
  const std::uint64_t failed_flushes = env_.device->errors().failed_flushes;
  for (std::uint64_t done = 0; done < content;) {
    auto placed = env_.sink->Write(cursor_, lifetime(), rest, deadline);
    if (!placed) {
      if (!ForWantOfAZone(placed.error())) failed_ = placed.error();
      return Fail(std::move(placed).error());
    }
    const std::uint64_t length = std::min(placed->length, content - done);
    const std::uint64_t behind = content - done - length;
    // Summed again only where a zone ends in the middle.
    const std::uint32_t own = behind == 0 ? crc : CrcOfFirst(rest, length);
    if (behind != 0) crc = Crc32cBack(crc, own, behind);
    all.emplace_back(Extent{offset + done, placed->place, length, own}, std::move(placed->pin));
    NoteWrite(failed_flushes);
    done += placed->length;
    DropFront(rest, placed->length);
  }
  CutDevice(offset);
  NoteChange();
  for (auto& [extent, pin] : all) map_.Append(extent, std::move(pin));
  view_.Publish(map_.MakeView());
  if (env_.padding != nullptr)
    env_.padding->fetch_add(RoundUp(content, geometry_.block_size) - content, std::memory_order_relaxed);
  return {};
}

void PlainFile::NoteWrite(std::uint64_t failed_flushes) {
  if (!wrote_since_commit_) flushes_since_commit_ = failed_flushes;
  if (!wrote_since_drain_) flushes_since_drain_ = failed_flushes;
  wrote_since_commit_ = wrote_since_drain_ = true;
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
  CutDevice(size);  // first: what is cut off may be summed in the tail
  tail_.Cut(size > tail_offset ? std::min<std::uint64_t>(size - tail_offset, tail_.size()) : 0);
  SetSize(size);
  CutFlushed();
}

void PlainFile::SetSize(std::uint64_t size) {
  size_ = size;
  published_size_.store(size, std::memory_order_release);
}

// What is mapped from `end` on is not the file's any more.
void PlainFile::CutDevice(std::uint64_t end) {
  if (map_.end() <= end) return;
  map_.Cut(end, CrcWhenCut(end));
  NoteChange();
  view_.Publish(map_.MakeView());
}

// Of what remains of the extent that holds `end`. Only for truncations and appends that failed half way something is
// read: whatever else cuts an extent has the bytes behind `end` in the tail.
KnownCrc PlainFile::CrcWhenCut(std::uint64_t end) const {
  const auto extent = FindExtent(map_.extents(), end);
  if (extent == map_.extents().end() || extent->file_offset >= end || !extent->crc) return std::nullopt;
  if (end < TailOffset()) return CrcOfFront(*env_.device, *extent, end - extent->file_offset);
  const ByteView gone = tail_.View().subspan(end - TailOffset(), extent->end() - end);
  return Crc32cFront(*extent->crc, Crc32c(gone), gone.size());
}

// The map ends where what follows differs from what is committed.
void PlainFile::NoteChange() {
  flushed_.NoteChange();
  const auto note = [&](ExtentChange& change) {
    mutex_.AssertHeld();
    if (map_.end() >= change.from) return;
    change.from = map_.end();
    change.before = map_.extents().empty() ? std::nullopt : std::optional(map_.extents().back());
  };
  note(changed_);
  note(changed_since_drain_);
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
