#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "base/assert.h"
#include "base/checksum_handoff.h"
#include "base/clock.h"
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

// Returns the CRC of the first `bytes` bytes of `pieces`.
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
  Status appended = Changed(AppendLocked(bytes, crc), bytes.size());
  ZENFS_ASSERT(Sound());
  return appended;
}

// Sets the time of the last change if the call succeeded and changed `bytes` > 0 bytes. Returns `status`.
Status PlainFile::Changed(Status status, std::uint64_t bytes) {
  if (status.ok() && bytes != 0) changed_seconds_.store(WallSeconds(), std::memory_order_relaxed);
  return status;
}

Status PlainFile::PositionedAppend(ByteView bytes, std::uint64_t offset, KnownCrc crc) {
  MutexLock lock(mutex_);
  ZENFS_RETURN_IF_ERROR(Healthy());
  if (offset == size_) return Changed(AppendLocked(bytes, crc), bytes.size());
  if (offset < size_ && tail_.empty()) ZENFS_RETURN_IF_ERROR(LoadTail());
  if (offset > size_ || offset < TailOffset()) {
    return Fail(Code::kInvalidArgument,
                fmt::format("positioned append at offset {} of a file that can be written only from {} to {}",
                            offset, TailOffset(), size_));
  }
  const ByteView front = bytes.first(std::min<std::uint64_t>(bytes.size(), size_ - offset));
  const ByteView rest = bytes.subspan(front.size());
  const std::uint32_t front_crc = Crc32c(front);
  // From here on `crc` is the expected CRC of the rest. For an empty rest it is 0 if the front is correct.
  if (crc) crc = Crc32cBack(*crc, front_crc, rest.size());
  ZENFS_ASSIGN_OR_RETURN(const Incoming incoming, Inspect(rest, crc));
  if (front.empty()) return {};
  CutDevice(TailOffset());
  tail_.Overwrite(offset - TailOffset(), front, front_crc);
  flushed_.NoteChange();
  Status appended = Changed(AppendInspected(incoming), bytes.size());
  ZENFS_ASSERT(Sound());
  return appended;
}

Status PlainFile::AppendLocked(ByteView bytes, KnownCrc crc) {
  if (!bytes.empty() && Clean()) {
    if (IsMultiple(size_, geometry_.block_size)) {
      tail_.Cut(0);  // whole blocks on the device are not written again
    } else if (tail_.empty()) {
      ZENFS_RETURN_IF_ERROR(LoadTail());
    }
  }
  ZENFS_ASSIGN_OR_RETURN(const Incoming incoming, Inspect(bytes, crc));
  return AppendInspected(incoming);
}

// Decides how the bytes are appended, calculates the checksums for that, and verifies `crc`.
Result<PlainFile::Incoming> PlainFile::Inspect(ByteView bytes, KnownCrc crc) const {
  const std::uint32_t block = geometry_.block_size;
  const bool aligned = IsMultiple(reinterpret_cast<std::uintptr_t>(bytes.data()),
                                  std::min<std::size_t>(block, AlignedBuffer::kAlignment));
  Incoming incoming{.bytes = bytes, .crc = std::nullopt};
  incoming.gather = aligned && IsMultiple(tail_.size(), block) && bytes.size() >= deps_.buffer_bytes / 4;
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
  const bool places = incoming.gather || incoming.bytes.size() > deps_.buffer_bytes - tail_.size();
  const Rollback rollback = places ? RollbackToHere() : Rollback{.size = size_};
  Status appended = incoming.gather ? AppendGathered(incoming) : AppendBuffered(incoming.bytes, incoming.crc);
  if (!appended.ok()) TruncateLocked(rollback.size, CrcAfter(rollback));
  return appended;
}

PlainFile::Rollback PlainFile::RollbackToHere() const {
  Rollback rollback{.size = size_, .tail_offset = TailOffset(), .tail_crc = tail_.crc()};
  if (rollback.tail_offset == 0) return rollback;
  const auto extent = FindExtent(map_.extents(), rollback.tail_offset - 1);
  rollback.before_offset = extent->file_offset;
  rollback.before =
      extent->end() == rollback.tail_offset ? extent->crc : CrcWhenCut(rollback.tail_offset, std::nullopt);
  return rollback;
}

// Returns the checksum of the extent that the rollback cuts. Placed bytes begin with the old tail. They form their
// own extent or are joined with the extent before.
KnownCrc PlainFile::CrcAfter(const Rollback& rollback) const {
  const auto extent = FindExtent(map_.extents(), rollback.size);
  if (extent == map_.extents().end()) return std::nullopt;
  if (extent->file_offset == rollback.tail_offset) return rollback.tail_crc;
  if (extent->file_offset != rollback.before_offset || !rollback.before) return std::nullopt;
  return Crc32cWhole(*rollback.before, rollback.tail_crc, rollback.size - rollback.tail_offset);
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

// `crc` is the CRC of all `bytes`.
Status PlainFile::AppendBuffered(ByteView bytes, KnownCrc crc) {
  const std::size_t all = bytes.size();
  while (!bytes.empty()) {
    if (tail_.size() >= deps_.buffer_bytes) {
      ZENFS_RETURN_IF_ERROR(WriteFront(RoundDown(tail_.size(), geometry_.block_size), 0));
    }
    const std::size_t n = std::min<std::size_t>(bytes.size(), deps_.buffer_bytes - tail_.size());
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

Status PlainFile::WriteBack() {
  MutexLock lock(mutex_);
  ZENFS_RETURN_IF_ERROR(Healthy());
  if (Clean()) return {};
  const std::size_t bytes = tail_.size() - HeldBack(tail_.size());
  return bytes == 0 ? Status{} : WriteFront(bytes, 0);
}

// Writes the first `bytes` of the tail: whole blocks, or the whole tail with padding. The last `kept` of them also stay
// in the buffer.
Status PlainFile::WriteFront(std::size_t bytes, std::size_t kept) {
  const std::uint64_t length = RoundUp(bytes, geometry_.block_size);
  const std::uint32_t crc = tail_.CrcOfFront(bytes);
  const ByteView content = tail_.Padded(geometry_.block_size).first(length);
  ZENFS_RETURN_IF_ERROR(Place(TailOffset(), std::span<const ByteView>(&content, 1), bytes, crc));
  tail_.DropFront(bytes - kept);
  ZENFS_ASSERT(Sound());
  return {};
}

// Writes `pieces` and maps them at file offset `offset`, in place of the old extents from there on. The first `content`
// bytes of `pieces` belong to the file and have the CRC `crc`; the rest is padding. An error leaves the map unchanged.
Status PlainFile::Place(std::uint64_t offset, std::span<const ByteView> pieces, std::uint64_t content,
                        std::uint32_t crc) {
  const Deadline deadline = Deadline::After(deps_.space_wait);
  std::vector<ByteView> rest(pieces.begin(), pieces.end());
  std::vector<std::pair<Extent, ZonePin>> all;
  const FlushMark mark = FlushMark::Now(*deps_.device);
  for (std::uint64_t done = 0; done < content;) {
    auto placed = deps_.sink->Write(cursor_, lifetime(), rest, deadline);
    if (!placed) {
      if (!ForWantOfAZone(placed.error())) failed_ = placed.error();
      return Fail(std::move(placed).error());
    }
    ZENFS_ASSERT(placed->length != 0 && IsMultiple(placed->length, geometry_.block_size));
    ZENFS_ASSERT(geometry_.ZoneOf(placed->place) == geometry_.ZoneOf(placed->place + (placed->length - 1)));
    const std::uint64_t length = std::min(placed->length, content - done);
    const std::uint64_t behind = content - done - length;
    // The checksum is known unless the end of a zone divided the write.
    const std::uint32_t own = behind == 0 ? crc : CrcOfFirst(rest, length);
    if (behind != 0) crc = Crc32cBack(crc, own, behind);
    all.emplace_back(Extent{offset + done, placed->place, length, own}, std::move(placed->pin));
    NoteWrite(mark);
    done += placed->length;
    DropFront(rest, placed->length);
  }
  CutDevice(offset);
  NoteChange();
  for (auto& [extent, pin] : all) map_.Append(extent, std::move(pin));
  view_.Publish(map_.MakeView());
  if (deps_.padding != nullptr)
    deps_.padding->fetch_add(RoundUp(content, geometry_.block_size) - content, std::memory_order_relaxed);
  return {};
}

void PlainFile::NoteWrite(FlushMark mark) {
  if (!written_since_commit_) written_since_commit_ = mark;
  if (!written_since_drain_) written_since_drain_ = mark;
}

Status PlainFile::Truncate(std::uint64_t size) {
  ZENFS_ASSIGN_OR_RETURN(const std::optional<Extent> front, FrontOfCut(size));
  MutexLock lock(mutex_);
  ZENFS_RETURN_IF_ERROR(CheckTruncate(size));
  const auto divided = FindExtent(map_.extents(), size);
  const bool same = front && divided != map_.extents().end() && divided->file_offset == front->file_offset &&
                    divided->place == front->place;
  const std::uint64_t gone = size_ - size;
  TruncateLocked(size, same ? front->crc : std::nullopt);
  return Changed({}, gone);
}

Status PlainFile::CheckTruncate(std::uint64_t size) const {
  ZENFS_RETURN_IF_ERROR(Healthy());
  if (size <= size_) return {};
  return Fail(Code::kNotSupported, fmt::format("truncate to {} of a file of {} bytes", size, size_));
}

// Returns the rest of the extent that a cut at `size` divides. Reads the device for its checksum without the lock.
Result<std::optional<Extent>> PlainFile::FrontOfCut(std::uint64_t size) {
  std::shared_ptr<const FileView> view;  // pins the zone
  {
    MutexLock lock(mutex_);
    ZENFS_RETURN_IF_ERROR(CheckTruncate(size));
    if (size >= TailOffset()) return std::nullopt;  // the removed bytes are in the tail
    view = view_.Get();
  }
  return FrontOfDivided(*deps_.device, view->extents, size);
}

// `front`: the checksum of the rest of the extent that the cut divides; needed for a cut in front of the tail.
void PlainFile::TruncateLocked(std::uint64_t size, KnownCrc front) {
  const std::uint64_t tail_offset = TailOffset();
  CutDevice(size, front);  // before tail_.Cut: it may use the removed bytes in the tail
  tail_.Cut(size > tail_offset ? std::min<std::uint64_t>(size - tail_offset, tail_.size()) : 0);
  SetSize(size);
  CutFlushed();
  ZENFS_ASSERT(Sound());
}

void PlainFile::SetSize(std::uint64_t size) {
  size_ = size;
  published_size_.store(size, std::memory_order_release);
}

// Removes the extents from `end` on. `front` as for CrcWhenCut.
void PlainFile::CutDevice(std::uint64_t end, KnownCrc front) {
  if (map_.end() <= end) return;
  map_.Cut(end, CrcWhenCut(end, front));
  NoteChange();
  view_.Publish(map_.MakeView());
}

// Returns the checksum of the rest of the extent that a cut at `end` divides, without reads. Returns `front` if the
// tail does not contain the removed bytes.
KnownCrc PlainFile::CrcWhenCut(std::uint64_t end, KnownCrc front) const {
  const auto extent = FindExtent(map_.extents(), end);
  if (extent == map_.extents().end() || extent->file_offset >= end || !extent->crc) return std::nullopt;
  if (end < TailOffset()) return front;
  const ByteView gone = tail_.View().subspan(end - TailOffset(), extent->end() - end);
  return Crc32cFront(*extent->crc, Crc32c(gone), gone.size());
}

// Records a change of the file from the end of the map on.
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

// Reads the last block of the file into the empty buffer.
Status PlainFile::LoadTail() {
  const std::size_t length = HeldBack(size_);
  if (length == 0) return {};
  AlignedBuffer block(length);
  block.Resize(length);
  ZENFS_RETURN_IF_ERROR(ReadExtents(*deps_.device, map_.extents(), size_ - length, block.Span()));
  tail_.Append(block.View());
  return {};
}

}  // namespace zenfs
