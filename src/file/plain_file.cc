#include "file/plain_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <memory_resource>
#include <utility>

#include "base/aligned_buffer.h"
#include "base/assert.h"
#include "base/checksum_handoff.h"
#include "base/clock.h"
#include "file/extent_checksum.h"
#include "file/extent_list.h"

namespace zenfs {
namespace {

// The state to restore, with checksums, if an append fails when it is partly written.
struct Rollback {
  std::uint64_t size = 0;
  std::uint64_t tail_offset = 0;
  std::uint32_t tail_crc = 0;
  std::uint64_t before_offset = 0;  // file offset of the extent in front of the tail, if tail_offset is not 0
  KnownCrc before = std::nullopt;   // checksum of that extent up to the tail
};

Rollback RollbackTo(const PlainContent& content) {
  Rollback rollback{
      .size = content.size(), .tail_offset = content.tail_offset(), .tail_crc = content.tail().crc()};
  if (rollback.tail_offset == 0) return rollback;
  const auto extent = FindExtent(content.extents().all(), rollback.tail_offset - 1);
  rollback.before_offset = extent->file_offset;
  rollback.before = extent->end() == rollback.tail_offset
                        ? extent->crc
                        : content.CrcWhenCut(rollback.tail_offset, std::nullopt);
  return rollback;
}

// Returns the checksum of the extent that the rollback cuts. Placed bytes begin with the old tail. They form their
// own extent or are joined with the extent before.
KnownCrc CrcAfter(const Rollback& rollback, const std::vector<Extent>& extents) {
  const auto extent = FindExtent(extents, rollback.size);
  if (extent == extents.end()) return std::nullopt;
  if (extent->file_offset == rollback.tail_offset) return rollback.tail_crc;
  if (extent->file_offset != rollback.before_offset || !rollback.before) return std::nullopt;
  return Crc32cWhole(*rollback.before, rollback.tail_crc, rollback.size - rollback.tail_offset);
}

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

Error OfFile(const Error& error, FileId id) { return error.With(fmt::format("file {}", id.value)); }

// A read of which a part comes from the device. It does not keep its view, and so pins no zone: a caller may let it stand for
// minutes, and the collector needs the zones.
class StartedRead final : public PendingRead {
 public:
  // `total` bytes can be read; the first `from_device` of them come from the device. `file` outlives it.
  StartedRead(const PlainFile& file, FileId id, ReadPool& reads, const std::shared_ptr<const FileView>& view,
              std::uint64_t offset, ByteSpan into, std::size_t total, std::size_t from_device)
      : file_(file),
        id_(id),
        view_(view),
        total_(total),
        into_(into),
        request_{.offset = offset, .into = into.first(from_device), .status = {}},
        batch_(reads.Lend()) {
    batch_->Start(view->extents, std::span(&request_, 1));
  }

  Result<std::size_t> Finish() override {
    batch_->Finish();
    // A view that is still there was there all the time, so no zone was reset under the read.
    if (view_.expired()) return file_.Read(request_.offset, into_, ReadSource::kDevice);
    if (!request_.status.ok()) return Fail(OfFile(request_.status.error(), id_));
    return total_;
  }

 private:
  const PlainFile& file_;
  const FileId id_;
  const std::weak_ptr<const FileView> view_;
  const std::size_t total_;
  const ByteSpan into_;
  ReadRequest request_;
  ReadPool::Lease batch_;
};

// The host's cache reads ahead; the bytes are copied at the end.
class CachedAheadRead final : public PendingRead {
 public:
  // `file` outlives it.
  CachedAheadRead(const PlainFile& file, std::uint64_t offset, ByteSpan into)
      : file_(file), offset_(offset), into_(into) {}

  Result<std::size_t> Finish() override { return file_.Read(offset_, into_, ReadSource::kCache); }

 private:
  const PlainFile& file_;
  const std::uint64_t offset_;
  const ByteSpan into_;
};

}  // namespace

PlainFile::PlainFile(const Deps& deps, std::vector<Extent> extents, std::uint64_t size, Lifetime lifetime)
    : deps_(deps),
      geometry_(deps_.device->geometry()),
      lifetime_(lifetime),
      content_(*deps_.zones, geometry_, std::move(extents), size, published_),
      flushed_(deps_.buffers, deps_.id) {
  ZENFS_ASSERT(deps_.buffer_bytes >= geometry_.block_size);  // else AppendBuffered could not make room
}

void PlainFile::SetLifetime(Lifetime lifetime) {
  MutexLock lock(mutex_);
  if (lifetime_.exchange(lifetime, std::memory_order_relaxed) != lifetime) cursor_ = {};
}

Status PlainFile::Changed(Status status, std::uint64_t bytes) {
  if (status.ok() && bytes != 0) changed_seconds_.store(WallSeconds(), std::memory_order_relaxed);
  return status;
}

// --- appends ---

Status PlainFile::Append(ByteView bytes, KnownCrc crc) {
  MutexLock lock(mutex_);
  ZENFS_RETURN_IF_ERROR(health_);
  Status appended = Changed(AppendLocked(bytes, crc), bytes.size());
  ZENFS_ASSERT(Sound());
  return appended;
}

Status PlainFile::PositionedAppend(ByteView bytes, std::uint64_t offset, KnownCrc crc) {
  MutexLock lock(mutex_);
  ZENFS_RETURN_IF_ERROR(health_);
  const bool at_end = offset == content_.size();
  Status written = at_end ? AppendLocked(bytes, crc) : OverwriteTail(offset, bytes, crc);
  ZENFS_ASSERT(Sound());
  return Changed(std::move(written), bytes.size());
}

Status PlainFile::AppendLocked(ByteView bytes, KnownCrc crc) {
  if (!bytes.empty() && content_.written()) {
    if (IsMultiple(content_.size(), geometry_.block_size)) {
      content_.DropTail();  // whole blocks on the device are not written again
    } else if (content_.tail().empty()) {
      ZENFS_RETURN_IF_ERROR(LoadTail());
    }
  }
  ZENFS_ASSIGN_OR_RETURN(const Incoming incoming, Inspect(bytes, crc));
  return AppendInspected(incoming);
}

Status PlainFile::OverwriteTail(std::uint64_t offset, ByteView bytes, KnownCrc crc) {
  if (offset < content_.size() && content_.tail().empty()) ZENFS_RETURN_IF_ERROR(LoadTail());
  if (offset > content_.size() || offset < content_.tail_offset()) {
    return Fail(Code::kInvalidArgument,
                fmt::format("positioned append at offset {} of a file that can be written only from {} to {}",
                            offset, content_.tail_offset(), content_.size()));
  }
  const ByteView front = bytes.first(std::min<std::uint64_t>(bytes.size(), content_.size() - offset));
  const ByteView rest = bytes.subspan(front.size());
  const std::uint32_t front_crc = Crc32c(front);
  // From here on `crc` is the expected CRC of the rest. For an empty rest it is 0 if the front is correct.
  if (crc) crc = Crc32cBack(*crc, front_crc, rest.size());
  ZENFS_ASSIGN_OR_RETURN(const Incoming incoming, Inspect(rest, crc));
  if (front.empty()) return {};
  content_.Overwrite(offset, front, front_crc);
  return AppendInspected(incoming);
}

Status PlainFile::LoadTail() {
  const std::size_t length = content_.LastBlock(content_.size());
  if (length == 0) return {};
  AlignedBuffer block(length);
  block.Resize(length);
  const Extent& last = content_.extents().all().back();
  const Status read = ReadVerified(*deps_.device, last, content_.size() - length, block.Span());
  if (!read.ok()) return Fail(read.error().With("the last block can't be written again with more bytes"));
  content_.LoadTail(block.View());
  return {};
}

Result<PlainFile::Incoming> PlainFile::Inspect(ByteView bytes, KnownCrc crc) const {
  const std::uint32_t block = geometry_.block_size;
  const bool aligned = IsMultiple(reinterpret_cast<std::uintptr_t>(bytes.data()),
                                  std::min<std::size_t>(block, AlignedBuffer::kAlignment));
  Incoming incoming{.bytes = bytes, .crc = std::nullopt};
  incoming.gather =
      aligned && IsMultiple(content_.tail().size(), block) && bytes.size() >= deps_.buffer_bytes / 4;
  if (incoming.gather) incoming.held_back = content_.LastBlock(bytes.size());
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
  const bool places = incoming.gather || incoming.bytes.size() > deps_.buffer_bytes - content_.tail().size();
  const Rollback rollback = places ? RollbackTo(content_) : Rollback{.size = content_.size()};
  Status appended = incoming.gather ? AppendGathered(incoming) : AppendBuffered(incoming.bytes, incoming.crc);
  if (!appended.ok()) Cut(rollback.size, CrcAfter(rollback, content_.extents().all()));
  return appended;
}

Status PlainFile::AppendGathered(const Incoming& incoming) {
  const ByteView now = incoming.bytes.first(incoming.bytes.size() - incoming.held_back);
  if (!now.empty()) ZENFS_RETURN_IF_ERROR(WriteGathered(now, *incoming.crc));
  content_.Append(incoming.bytes.last(incoming.held_back), incoming.held_back_crc);
  return {};
}

Status PlainFile::AppendBuffered(ByteView bytes, KnownCrc crc) {
  const std::size_t all = bytes.size();
  const TailBuffer& tail = content_.tail();
  while (!bytes.empty()) {
    if (tail.size() >= deps_.buffer_bytes) {
      ZENFS_RETURN_IF_ERROR(WriteTail(RoundDown(tail.size(), geometry_.block_size), 0));
    }
    const std::size_t n = std::min<std::size_t>(bytes.size(), deps_.buffer_bytes - tail.size());
    content_.Append(bytes.first(n), n == all ? crc : std::nullopt);
    bytes = bytes.subspan(n);
  }
  return {};
}

// --- device writes ---

Status PlainFile::WriteBack() {
  MutexLock lock(mutex_);
  ZENFS_RETURN_IF_ERROR(health_);
  return content_.written() ? Status{} : WriteWholeBlocks();
}

Status PlainFile::WriteTail(std::size_t bytes, std::size_t kept) {
  const std::uint32_t crc = content_.tail().CrcOfFront(bytes);
  const ByteView blocks = content_.PaddedTail().first(RoundUp(bytes, geometry_.block_size));
  ZENFS_ASSIGN_OR_RETURN(std::vector<FileExtents::Placed> placed,
                         Place(std::span<const ByteView>(&blocks, 1), bytes, crc));
  content_.TakeWritten(std::move(placed), bytes, kept);
  ZENFS_ASSERT(Sound());
  return {};
}

Status PlainFile::WriteWholeBlocks() {
  const std::size_t all = content_.tail().size();
  const std::size_t bytes = all - content_.LastBlock(all);
  return bytes == 0 ? Status{} : WriteTail(bytes, 0);
}

Status PlainFile::WriteWholeTail() {
  if (content_.written()) return {};
  const std::size_t bytes = content_.tail().size();
  return WriteTail(bytes, content_.LastBlock(bytes));
}

Status PlainFile::WriteGathered(ByteView bytes, std::uint32_t crc) {
  const TailBuffer& tail = content_.tail();
  const std::array<ByteView, 2> pieces{tail.View(), bytes};
  ZENFS_ASSIGN_OR_RETURN(
      std::vector<FileExtents::Placed> placed,
      Place(pieces, tail.size() + bytes.size(), Crc32cWhole(tail.crc(), crc, bytes.size())));
  content_.TakeGathered(std::move(placed), bytes.size());
  return {};
}

Result<std::vector<FileExtents::Placed>> PlainFile::Place(std::span<const ByteView> pieces,
                                                          std::uint64_t content, std::uint32_t crc) {
  const std::uint64_t offset = content_.tail_offset();
  const Deadline deadline = Deadline::After(deps_.space_wait);
  std::vector<ByteView> rest(pieces.begin(), pieces.end());
  std::vector<FileExtents::Placed> all;
  const FlushMark mark = FlushMark::Now(*deps_.device);
  for (std::uint64_t done = 0; done < content;) {
    auto parts = deps_.sink->WriteSpread(cursor_, lifetime_.load(std::memory_order_relaxed), rest, deadline);
    if (!parts) {
      if (!ForWantOfAZone(parts.error())) health_ = Fail(parts.error());
      return Fail(std::move(parts).error());
    }
    content_.extents().NoteWrite(mark);
    for (ExtentSink::Placed& placed : *parts) {
      ZENFS_ASSERT(done < content && placed.length != 0 && IsMultiple(placed.length, geometry_.block_size));
      ZENFS_ASSERT(geometry_.ZoneOf(placed.place) == geometry_.ZoneOf(placed.place + (placed.length - 1)));
      const std::uint64_t length = std::min(placed.length, content - done);
      const std::uint64_t behind = content - done - length;
      // The checksum is known unless the write was divided.
      const std::uint32_t own = behind == 0 ? crc : CrcOfFirst(rest, length);
      if (behind != 0) crc = Crc32cBack(crc, own, behind);
      all.emplace_back(Extent{offset + done, placed.place, length, own}, std::move(placed.pin));
      done += placed.length;
      DropFront(rest, placed.length);
    }
  }
  if (deps_.padding != nullptr)
    deps_.padding->fetch_add(RoundUp(content, geometry_.block_size) - content, std::memory_order_relaxed);
  return all;
}

void PlainFile::EndWriting() {
  MutexLock lock(mutex_);
  cursor_ = {};
  // A later writer that needs the last block reads it from the device.
  if (content_.written()) content_.DropTail();
  content_.ShrinkTail();
}

// --- truncation ---

Result<bool> PlainFile::Truncate(std::uint64_t size) {
  std::optional<Extent> front;
  for (;;) {
    std::shared_ptr<const FileView> view;  // pins the zone
    {
      MutexLock lock(mutex_);
      ZENFS_RETURN_IF_ERROR(CheckTruncate(size));
      if (!DividesAnExtent(size) || (front && IsFrontOfDivided(*front, size))) {
        const std::uint64_t gone = content_.size() - size;
        Cut(size, front ? front->crc : std::nullopt);
        IgnoreError(Changed({}, gone));
        return !MountFindsMore();
      }
      view = published_.view.Get();
    }
    // Without the lock. If reclaim moves the file meanwhile, this is done again with the new place.
    ZENFS_ASSIGN_OR_RETURN(front, FrontOfDivided(*deps_.device, view->extents, size));
  }
}

Status PlainFile::CheckTruncate(std::uint64_t size) const {
  ZENFS_RETURN_IF_ERROR(health_);
  if (size <= content_.size()) return {};
  return Fail(Code::kNotSupported,
              fmt::format("truncate to {} of a file of {} bytes", size, content_.size()));
}

bool PlainFile::DividesAnExtent(std::uint64_t size) const {
  const std::vector<Extent>& extents = content_.extents().all();
  const auto divided = FindExtent(extents, size);
  return size < content_.tail_offset() && divided != extents.end() && divided->file_offset < size;
}

bool PlainFile::IsFrontOfDivided(const Extent& front, std::uint64_t size) const {
  const auto divided = FindExtent(content_.extents().all(), size);
  return divided->file_offset == front.file_offset && divided->place == front.place;
}

void PlainFile::Cut(std::uint64_t size, KnownCrc front) {
  content_.Cut(size, front);
  CutFlushed();
  ZENFS_ASSERT(Sound());
}

// --- flushes ---

Result<bool> PlainFile::TryFlush() {
  MutexLock lock(mutex_);
  ZENFS_RETURN_IF_ERROR(health_);
  if (content_.written() && !content_.extents().changed()) return true;
  const std::uint64_t comfortable = flushed_.comfortable_bytes();
  if (content_.size() <= content_.extents().committed_size() || comfortable == 0) return false;
  bool flushed = flushed_.Extend(ToFlush(false));
  if (!flushed) {
    if (content_.size() - content_.extents().end() > comfortable) ZENFS_RETURN_IF_ERROR(WriteWholeBlocks());
    flushed = flushed_.Keep(ToFlush(true));
  }
  if (flushed) flushed_since_drain_ = true;
  ZENFS_ASSERT(Sound());
  return flushed;
}

FlushedTail::Content PlainFile::ToFlush(bool with_edit) const {
  FlushedTail::Content flush{.device_end = content_.extents().end(),
                             .uncommitted = {},
                             .pins = nullptr,
                             .tail_offset = content_.tail_offset(),
                             .tail = content_.tail().View(),
                             .appended_seconds = changed_seconds_.load(std::memory_order_relaxed),
                             .revision = content_.revision()};
  if (!with_edit) return flush;
  flush.pins = published_.view.Get();
  if (content_.extents().changed()) flush.uncommitted = EditToCommit();
  return flush;
}

void PlainFile::CutFlushed() {
  const std::uint64_t size = content_.size();
  if (flushed_.empty() || size >= flushed_.end()) return;
  if (content_.written() && !content_.extents().changed()) return flushed_.Clear();
  if (size <= content_.extents().committed_size()) return;
  if (size >= flushed_.device_end()) return flushed_.Cut(size);
  // Without a buffer for it the old part stays, and must be committed.
  static_cast<void>(flushed_.Keep(ToFlush(true)));
}

bool PlainFile::MountFindsMore() const {
  const std::uint64_t size = content_.size();
  return size < content_.extents().committed_size() || (!flushed_.empty() && size < flushed_.end());
}

bool PlainFile::KeptForNextMount() const {
  MutexLock lock(mutex_);
  return flushed_.Keeps(content_.size(), content_.revision());
}

bool PlainFile::HasFlushedBytes() const {
  MutexLock lock(mutex_);
  return !flushed_.empty();
}

void PlainFile::ForgetFlushedBytes() {
  MutexLock lock(mutex_);
  flushed_.Clear();
}

// --- commit ---

Status PlainFile::WriteAll() {
  MutexLock lock(mutex_);
  ZENFS_RETURN_IF_ERROR(health_);
  return WriteWholeTail();
}

Result<PlainFile::Drained> PlainFile::Drain() {
  MutexLock lock(mutex_);
  ZENFS_RETURN_IF_ERROR(health_);
  ZENFS_RETURN_IF_ERROR(CheckFlushes());
  ZENFS_RETURN_IF_ERROR(WriteWholeTail());
  FileExtents& extents = content_.extents();
  Drained drained;
  drained.size = content_.size();
  if (!extents.changed()) return drained;
  drained.changed = true;
  drained.data_since = extents.written_since();
  SetExtents edit = EditToCommit();
  drained.from_offset = edit.from_offset;
  drained.mtime_seconds = edit.mtime_seconds;
  drained.extents = std::move(edit.extents);
  extents.BeginCommit();
  flushed_since_drain_ = false;
  ZENFS_ASSERT(content_.written() && Sound());
  return drained;
}

Status PlainFile::CheckFlushes() {
  const FileExtents& extents = content_.extents();
  const std::optional<FlushMark>& written = extents.written_since();
  if (!written || !written->FlushFailedSince(*deps_.device)) return {};
  health_ = Fail(Code::kIo, fmt::format("bytes from {} on: {}", extents.changed_from(), kLostToAFlush));
  return health_;
}

SetExtents PlainFile::EditToCommit() const {
  const std::uint64_t seconds = changed_seconds_.load(std::memory_order_relaxed);
  return content_.extents().EditToCommit(deps_.id, seconds != 0 ? seconds : WallSeconds(), moved_away_);
}

void PlainFile::MarkCommitted(const Drained& drained) {
  if (!drained.changed) return;
  MutexLock lock(mutex_);
  content_.extents().EndCommit(drained.size);
  moved_away_ = false;
  if (!flushed_since_drain_) flushed_.Clear();
  ZENFS_ASSERT(Sound());
}

bool PlainFile::dirty() const {
  MutexLock lock(mutex_);
  return !content_.written() || content_.extents().changed();
}

bool PlainFile::TryReplaceCommitted(const std::vector<Extent>& extents) {
  moved_away_ = true;
  if (!mutex_.TryLock()) return false;
  content_.extents().TakeMoved(extents);
  ZENFS_ASSERT(Sound());
  moved_away_ = false;
  mutex_.Unlock();
  return true;
}

// --- reads ---

bool PlainFile::LiesIn(ZoneId zone) const {
  const std::shared_ptr<const FileView> view = published_.view.Get();
  return std::ranges::any_of(view->extents,
                             [&](const Extent& extent) { return geometry_.ZoneOf(extent.place) == zone; });
}

Result<std::size_t> PlainFile::Read(std::uint64_t offset, ByteSpan into, ReadSource source) const {
  const DeviceRead read = PrepareRead(offset, into);
  const Status status =
      ReadExtents(*deps_.device, read.view->extents, offset, into.first(read.from_device), source);
  if (!status.ok()) return Fail(OfFile(status.error(), deps_.id));
  return read.total;
}

PlainFile::DeviceRead PlainFile::PrepareRead(std::uint64_t offset, ByteSpan into) const {
  DeviceRead read{published_.view.Get(), 0, 0};
  const std::uint64_t on_device = read.view->end();
  if (offset < on_device && into.size() <= on_device - offset) {
    read.total = read.from_device = into.size();
    return read;
  }
  if (published_.size.load(std::memory_order_acquire) <= on_device) {  // nothing is buffered
    read.total = read.from_device = offset < on_device ? on_device - offset : 0;
    return read;
  }
  MutexLock lock(mutex_);
  if (offset >= content_.size()) return read;
  read.view = published_.view.Get();
  read.total = std::min<std::uint64_t>(into.size(), content_.size() - offset);
  const std::uint64_t mapped = read.view->end();
  read.from_device = offset < mapped ? std::min<std::uint64_t>(read.total, mapped - offset) : 0;
  if (read.from_device < read.total) {
    const ByteView buffered =
        content_.tail().View().subspan(offset + read.from_device - content_.tail_offset());
    std::memcpy(into.data() + read.from_device, buffered.data(), read.total - read.from_device);
  }
  return read;
}

void PlainFile::ReadMany(std::span<ReadRequest> requests, ReadSource source) const {
  std::array<std::byte, 4096> memory;  // enough for what RocksDB reads at once
  std::pmr::monotonic_buffer_resource stack(memory.data(), memory.size());
  std::pmr::vector<ReadRequest> device_part(&stack);
  device_part.reserve(requests.size());
  // All requests use one view.
  std::shared_ptr<const FileView> view;
  bool one_view = true;
  for (ReadRequest& request : requests) {
    DeviceRead read = PrepareRead(request.offset, request.into);
    request.into = request.into.first(read.total);
    device_part.push_back({request.offset, request.into.first(read.from_device), {}});
    if (view != nullptr && view.get() != read.view.get()) one_view = false;
    view = std::move(read.view);
  }
  if (!one_view) {
    // The file changed between two requests, which is rare: read each one alone.
    for (ReadRequest& request : requests) {
      auto got = Read(request.offset, request.into, source);
      request.status = got ? Status{} : Fail(got.error());
      if (got) request.into = request.into.first(*got);
    }
    return;
  }
  if (view == nullptr) return;
  deps_.reads->Lend()->Read(view->extents, device_part, source);
  for (std::size_t i = 0; i < requests.size(); ++i) {
    const Status& status = device_part[i].status;
    requests[i].status = status.ok() ? Status() : Fail(OfFile(status.error(), deps_.id));
  }
}

std::unique_ptr<PendingRead> PlainFile::StartRead(std::uint64_t offset, ByteSpan into,
                                                  ReadSource source) const {
  const DeviceRead read = PrepareRead(offset, into);
  if (read.from_device == 0) return std::make_unique<FinishedRead>(read.total);
  ZonedDevice& device = *deps_.device;
  if (source == ReadSource::kCache && device.host_cache() != nullptr) {
    AdviseExtents(device, read.view->extents, offset, read.from_device, CacheAdvice::kWillNeed);
    return std::make_unique<CachedAheadRead>(*this, offset, into);
  }
  ReadPool& reads = *deps_.reads;
  if (!reads.MayStart()) return std::make_unique<FinishedRead>(Read(offset, into, source));
  return std::make_unique<StartedRead>(*this, deps_.id, reads, read.view, offset, into, read.total,
                                       read.from_device);
}

void PlainFile::Advise(std::uint64_t offset, std::uint64_t length, CacheAdvice advice) const {
  const std::shared_ptr<const FileView> view = published_.view.Get();
  AdviseExtents(*deps_.device, view->extents, offset, length, advice);
}

}  // namespace zenfs
