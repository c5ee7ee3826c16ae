#include "reclaim/zone_mover.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "base/assert.h"
#include "base/crc32c.h"
#include "base/sync_point.h"
#include "file/extent_list.h"

namespace zenfs {
namespace {

constexpr std::uint64_t kPieceBytes = 1 << 20;
// An extent of at most this length is read once and kept in memory until it is moved; longer ones are read twice.
constexpr std::uint64_t kWindowBytes = 8 << 20;
// A drive takes one write after the other, so a sync waits for a copy that was sent before it: 0.1 ms with these, 0.9 ms with
// whole pieces, at 1.1 GiB a second.
constexpr std::uint64_t kWriteBytes = 128 << 10;
// Limits the size of a commit if extents are small.
constexpr std::size_t kExtentsACommit = 256;
// Limit of extents that the copy of a piece of frames may need.
constexpr std::size_t kExtentsOfFrames = 8;
constexpr std::chrono::seconds kWaitForZone{5};
constexpr std::chrono::seconds kWaitInLock{1};
// In both copies of the metadata log: an extent has up to 31 bytes, on most devices 15, and 5 for its checksum.
constexpr std::uint64_t kRestatedBytesAnExtent = 40;

bool Holds(const std::vector<Extent>& extents, const Extent& front) {
  const auto it = FindExtent(extents, front.file_offset);
  return it != extents.end() && it->file_offset == front.file_offset && it->place == front.place &&
         it->length >= front.length;
}

bool Follows(const Extent& extent, DeviceOffset place, const Geometry& geometry) {
  return extent.place + extent.length == place && geometry.ZoneOf(extent.place) == geometry.ZoneOf(place);
}

// The errors of the files in a zone. A file that is busy or damaged does not keep the others from being moved.
class FileErrors {
 public:
  // False if the error ends the move of the zone; it is then outcome().
  bool MayGoOn(FileId file, const Status& moved) {
    if (moved.ok()) return true;
    switch (moved.error().code()) {
      case Code::kBusy: busy_ = moved; return true;
      case Code::kCorruption:
        damaged_ = Fail(moved.error().With(fmt::format("file {} stays where it is", file.value)));
        return true;
      default: end_ = moved; return false;
    }
  }
  Status outcome() const { return !end_.ok() ? end_ : !damaged_.ok() ? damaged_ : busy_; }

 private:
  Status busy_, damaged_, end_;
};

// The last block of the extents gets an extent of its own if it is not full: the next move of frames copies it again, and then verifies only
// that block. `bytes` are those of the file.
void SumAndDivide(std::vector<Extent>& extents, ByteView bytes, std::uint32_t block) {
  const std::uint64_t begin = extents.front().file_offset;
  const Extent last = extents.back();
  const std::uint64_t whole = RoundDown(last.length, block);
  if (whole != 0 && whole != last.length) {
    extents.back().length = whole;
    extents.push_back({last.file_offset + whole, last.place + whole, last.length - whole});
  }
  for (Extent& extent : extents)
    extent.crc = Crc32c(bytes.subspan(extent.file_offset - begin, extent.length));
}

// If the last block of a file's extents is not full, it is copied again, which cuts the last extent. This function
// calculates the checksum of the rest of that extent and puts it in front of the copies. `again`: that of the bytes that were cut off.
void KeepChecksum(Extent last, std::uint32_t again, std::vector<Extent>& copies, CleaningRange& range) {
  if (last.end() <= range.from || !last.crc || last.file_offset >= range.from) return;
  last.crc = Crc32cFront(*last.crc, again, last.end() - range.from);
  last.length = range.from - last.file_offset;
  range.from = last.file_offset;
  copies.insert(copies.begin(), last);
}

}  // namespace

ZoneMover::ZoneMover(const Deps& deps)
    : deps_(deps),
      longest_copy_(deps.device_copy ? std::min(deps.device.geometry().max_copy_bytes, kWriteBytes) : 0),
      piece_{.capacity = kPieceBytes},
      check_{.capacity = kPieceBytes},
      window_{.capacity = kWindowBytes} {}

Status ZoneMover::CheckNotStopped() const {
  if (!stopped_.load(std::memory_order_relaxed)) return {};
  return Fail(Code::kShutdown, deps_.device.name() + ": is being unmounted");
}

Status ZoneMover::MoveExtents(ZoneId zone, const Pause& pause) {
  const ZonePin pin = deps_.zones.reclaim().PinVictim(zone);  // prevents a reset while the zone is read
  if (!pin.valid()) return {};
  FileErrors errors;
  for (const std::shared_ptr<const FileRecord>& file : deps_.files.FilesIn(zone)) {
    if (!errors.MayGoOn(file->id, MoveFile(*file, zone, pause))) break;
  }
  return errors.outcome();
}

Status ZoneMover::MoveFile(FileRecord file, ZoneId zone, const Pause& pause) {
  sums_.clear();
  for (;;) {
    Piece piece = NextPiece(file, zone);
    if (piece.from.empty()) return {};
    ZENFS_RETURN_IF_ERROR(deps_.files.CheckRoomForExtents(file.extents.size() + piece.from.size()));
    const auto begins = FindExtent(file.extents, piece.from.front().file_offset);
    if (begins->length > kPieceBytes && !sums_.contains(begins->file_offset)) {
      ZENFS_RETURN_IF_ERROR(SumPieces(*begins, pause));
    }
    ZENFS_ASSIGN_OR_RETURN(file.extents, MovePiece(file, piece, pause));
  }
}

// Returns the next piece: extents in the zone, or the front of an extent that is longer than a piece.
ZoneMover::Piece ZoneMover::NextPiece(const FileRecord& file, ZoneId zone) const {
  const Geometry& geometry = deps_.device.geometry();
  Piece piece;
  std::uint64_t bytes = 0;
  for (Extent extent : file.extents) {
    if (geometry.ZoneOf(extent.place) != zone) continue;
    if (bytes != 0 && (bytes + extent.length > kPieceBytes || piece.from.size() == kExtentsACommit)) break;
    if (extent.length > kPieceBytes) {
      extent.length = kPieceBytes;
      extent.crc.reset();
    }
    bytes += extent.length;
    piece.from.push_back(extent);
  }
  return piece;
}

Result<std::vector<Extent>> ZoneMover::MovePiece(const FileRecord& file, Piece& piece, const Pause& pause) {
  ZENFS_RETURN_IF_ERROR(CheckNotStopped());
  const auto check = [&](const FileRecord& now) -> Status {
    for (const Extent& front : piece.from) {
      if (Holds(now.extents, front)) continue;
      return Fail(Code::kBusy, fmt::format("file {}: changed while it was moved", now.id.value));
    }
    return {};
  };
  const SteadyTime begin = SteadyNow();
  ZENFS_RETURN_IF_ERROR(deps_.files.WithFile(file.id, check));
  for (Extent& front : piece.from) {
    ZENFS_ASSIGN_OR_RETURN(const bool copied, CopyInside(front, file.lifetime, piece));
    if (copied) continue;
    ZENFS_ASSIGN_OR_RETURN(const ByteView bytes, ReadFront(file, front));
    const std::size_t first = piece.to.size();
    ZENFS_RETURN_IF_ERROR(Write(deps_.sink, cursors_[static_cast<std::size_t>(file.lifetime)], file.lifetime,
                                kWaitForZone, front.file_offset, front.length, bytes, piece));
    for (Extent& to : std::span(piece.to).subspan(first)) {
      // The checksum is known unless the end of a zone divided the copy.
      to.crc = to.length == front.length
                   ? front.crc
                   : Crc32c(bytes.subspan(to.file_offset - front.file_offset, to.length));
    }
  }
  const SteadyTime copied = SteadyNow();
  if (pause) pause(copied - begin);
  SyncPoint::Reach("reclaim:copied");
  const SteadyTime commits = SteadyNow();
  std::vector<Extent> extents;
  const Status committed = deps_.files.WithFile(file.id, [&](const FileRecord& now) -> Status {
    ZENFS_RETURN_IF_ERROR(check(now));
    MovedExtents moved = ReplaceExtents(now, piece.from, piece.to, deps_.device.geometry());
    ZENFS_RETURN_IF_ERROR(deps_.files.CommitMoved({std::move(moved.edit)}));
    extents = std::move(moved.all);
    if (deps_.files.NoteMoved(now, extents)) return {};
    return Fail(Code::kBusy, fmt::format("file {}: was written to while it was moved", now.id.value));
  });
  if (!committed.ok()) return Fail(committed.error());
  // The commit of a file with very many extents may take longer than the copy.
  if (const auto longer = (SteadyNow() - commits) - (copied - begin); pause && longer.count() > 0)
    pause(longer);
  return extents;
}

Status ZoneMover::SumPieces(const Extent& extent, const Pause& pause) {
  const bool fits = extent.length <= kWindowBytes;
  Buffer& buffer = fits ? window_ : piece_;
  std::uint32_t whole = 0;
  for (std::uint64_t at = 0; at < extent.length; at += kPieceBytes) {
    ZENFS_RETURN_IF_ERROR(CheckNotStopped());
    const SteadyTime begin = SteadyNow();
    const std::uint64_t length = std::min(kPieceBytes, extent.length - at);
    const std::uint64_t in_buffer = fits ? at : 0;
    ZENFS_ASSIGN_OR_RETURN(const ByteView bytes, Read(buffer, in_buffer, extent.place + at, length));
    const std::uint32_t crc = Crc32c(bytes.first(length));
    whole = Crc32cWhole(whole, crc, length);
    sums_[extent.file_offset + at] = {length, crc};
    if (pause) pause(SteadyNow() - begin);
  }
  window_begin_ = fits ? std::optional(extent.place) : std::nullopt;
  window_bytes_ = extent.length;
  return whole == extent.crc.value_or(whole) ? Status() : NotMoved(extent);
}

// Returns the verified bytes of `front` in whole blocks, with the padding of the last block, and sets the checksum of
// `front`.
Result<ByteView> ZoneMover::ReadFront(const FileRecord& file, Extent& front) {
  const KnownCrc expected = SumOf(front);
  if (FindSum(front) != nullptr && window_begin_ && front.place.value >= window_begin_->value &&
      front.place.value + front.length <= window_begin_->value + window_bytes_) {
    front.crc = expected;
    return window_.memory.View(front.place - *window_begin_,
                               RoundUp(front.length, deps_.device.geometry().block_size));
  }
  ZENFS_ASSIGN_OR_RETURN(const ByteView bytes, Read(piece_, 0, front.place, front.length));
  front.crc = Crc32c(bytes.first(front.length));
  if (expected && *expected != *front.crc)
    return Fail(NotMoved(*FindExtent(file.extents, front.file_offset)).error());
  return bytes;
}

const ZoneMover::Sum* ZoneMover::FindSum(const Extent& front) const {
  const auto sum = sums_.find(front.file_offset);
  return sum != sums_.end() && sum->second.length == front.length ? &sum->second : nullptr;
}

KnownCrc ZoneMover::SumOf(const Extent& front) const {
  const Sum* const sum = FindSum(front);
  return sum != nullptr ? KnownCrc(sum->crc) : front.crc;
}

// Copies `front` inside the device and compares the checksum of the copy. Returns false if the host must copy: the checksum is
// not known, the device does not copy, or the copy is not what it should be, and then reading tells whether the source is
// damaged or the device can't be trusted with this.
Result<bool> ZoneMover::CopyInside(Extent& front, Lifetime lifetime, Copies& copies) {
  const KnownCrc expected = SumOf(front);
  if (longest_copy_ == 0 || !expected) return false;
  const std::size_t first = copies.to.size();
  const std::uint64_t bytes = RoundUp(front.length, deps_.device.geometry().block_size);
  const Status placed = Place(front.file_offset, front.length, copies, [&](std::uint64_t done) {
    return deps_.sink.Copy(cursors_[static_cast<std::size_t>(lifetime)], lifetime, front.place + done,
                           std::min(longest_copy_, bytes - done), Deadline::After(kWaitForZone));
  });
  if (!placed.ok() && placed.error().code() == Code::kNotSupported) return LeaveToHost(first, copies);
  if (!placed.ok()) return Fail(placed.error());
  std::uint32_t sum = 0;
  for (Extent& to : std::span(copies.to).subspan(first)) {
    ZENFS_ASSIGN_OR_RETURN(const ByteView copied, Read(check_, 0, to.place, to.length));
    to.crc = Crc32c(copied.first(to.length));
    sum = Crc32cWhole(sum, *to.crc, to.length);
  }
  if (sum != *expected) return LeaveToHost(first, copies);
  front.crc = expected;
  return true;
}

// What was copied of the front is garbage. The host copies from now on.
bool ZoneMover::LeaveToHost(std::size_t first, Copies& copies) {
  longest_copy_ = 0;
  copies.to.resize(first);
  return false;
}

Status ZoneMover::MoveFrames(std::span<const ZoneId> group, const Pause& pause) {
  FileErrors errors;
  // `move` moves at least one frame. False if the move of the zones must end.
  const auto move_all = [&](const FramedFile& file, const std::function<Status()>& move) {
    Status moved;
    while (moved.ok() && file.RangeToClean(group).to != 0) {
      const SteadyTime begin = SteadyNow();
      moved = CheckNotStopped();
      if (moved.ok()) moved = move();
      if (pause && moved.ok()) pause(SteadyNow() - begin);
    }
    return errors.MayGoOn(file.id(), moved);
  };
  for (const std::shared_ptr<FramedFile>& file : deps_.logs.All()) {
    const auto move = [&](const FileRecord& record) { return MoveFramesOf(*file, &record, group); };
    if (!move_all(*file, [&] { return deps_.files.WithFile(file->id(), move); })) return errors.outcome();
  }
  // After the others: a file that is deleted meanwhile is in both lists, rather than in neither.
  for (const std::shared_ptr<FramedFile>& file : deps_.files.DeletedLogs()) {
    const auto move = [&] { return MoveFramesOf(*file, nullptr, group); };
    if (!move_all(*file, [&] { return deps_.files.WithDeletedLog(file->id(), move); })) break;
  }
  return errors.outcome();
}

Status ZoneMover::MoveFramesOf(FramedFile& file, const FileRecord* record, std::span<const ZoneId> group) {
  CleaningRange range = file.RangeToClean(group, kPieceBytes);
  if (range.to == 0) return {};
  if (record != nullptr) ZENFS_RETURN_IF_ERROR(deps_.files.CheckRoomForExtents(kExtentsOfFrames));
  const std::uint64_t bytes = range.to - range.from;
  const Extent* const last = record == nullptr || record->extents.empty() ? nullptr : &record->extents.back();
  std::uint32_t again = 0;
  ZENFS_ASSIGN_OR_RETURN(Copies copies, CopyFrames(file, range, last, &again));
  if (last != nullptr) KeepChecksum(*last, again, copies.to, range);
  ZENFS_ASSIGN_OR_RETURN(FramedFile::Rewrite rewrite, file.BeginCleaning(range, copies.to));
  const Status done =
      record != nullptr ? deps_.files.CommitMoved(rewrite.edits()) : deps_.files.SettleDeleted(copies.to);
  rewrite.End(done);
  if (done.ok()) deps_.cleaned.fetch_add(bytes, std::memory_order_relaxed);
  return done;
}

Result<ZoneMover::Copies> ZoneMover::CopyFrames(const FramedFile& file, const CleaningRange& range,
                                                const Extent* last, std::uint32_t* again) {
  const std::uint32_t block = deps_.device.geometry().block_size;
  const std::uint64_t length = range.to - range.from;
  AlignedBuffer buffer(RoundUp(length, block));
  buffer.Resize(length);
  const Result<std::uint64_t> in_extents = ReadFrames(file, range, last, buffer.Span());
  if (!in_extents &&
      range.unstable_since.FlushFailedSince(deps_.device)) {  // no damage: the frame is written again
    return Fail(Code::kBusy, fmt::format("file {}: {}", file.id().value, kLostToAFlush));
  }
  if (!in_extents) return Fail(in_extents.error());
  *again = Crc32c(buffer.View(0, *in_extents));
  buffer.PadTo(block);
  Copies copies;
  SinkCursor cursor;
  ZENFS_RETURN_IF_ERROR(Write(deps_.log_sink, cursor, Lifetime::kNotSet, kWaitInLock, range.from, length,
                              buffer.View(), copies));
  SumAndDivide(copies.to, buffer.View(), block);
  return copies;
}

// Reads the bytes of a range: those in the last extent `last`, if it is not null and they begin in it, and those in frames. All
// are verified. Returns the number of bytes in `last`.
Result<std::uint64_t> ZoneMover::ReadFrames(const FramedFile& file, const CleaningRange& range,
                                            const Extent* last, ByteSpan into) {
  const std::uint64_t again = last != nullptr && last->end() > range.from ? last->end() - range.from : 0;
  if (again != 0) {
    ZENFS_RETURN_IF_ERROR(ReadVerified(deps_.device, *last, range.from, into.first(again)));
  }
  ZENFS_ASSIGN_OR_RETURN(const std::size_t n,
                         file.Read(range.from + again, into.subspan(again), FramedFile::Frames::kVerified));
  if (again + n != into.size()) return Fail(Code::kBusy, "a log was truncated while it was moved");
  return again;
}

Status ZoneMover::Place(std::uint64_t file_offset, std::uint64_t length, Copies& copies, const Send& send) {
  const std::size_t first = copies.to.size();
  for (std::uint64_t done = 0; done < length;) {
    ZENFS_ASSIGN_OR_RETURN(ExtentSink::Placed placed, send(done));
    const std::uint64_t bytes = std::min(placed.length, length - done);
    if (copies.to.size() != first && Follows(copies.to.back(), placed.place, deps_.device.geometry())) {
      copies.to.back().length += bytes;
    } else {
      copies.to.push_back({file_offset + done, placed.place, bytes});
    }
    copies.pins.push_back(std::move(placed.pin));
    done += placed.length;
  }
  return {};
}

Status ZoneMover::Write(ExtentSink& sink, SinkCursor& cursor, Lifetime lifetime, std::chrono::seconds wait,
                        std::uint64_t file_offset, std::uint64_t length, ByteView bytes, Copies& copies) {
  const std::size_t first = copies.to.size();
  ZENFS_RETURN_IF_ERROR(Place(file_offset, length, copies, [&](std::uint64_t done) {
    const ByteView part = bytes.subspan(done, std::min<std::uint64_t>(kWriteBytes, bytes.size() - done));
    return sink.Write(cursor, lifetime, {&part, 1}, Deadline::After(wait));
  }));
  for (const Extent& to : std::span(copies.to).subspan(first)) {
    const std::uint64_t whole = RoundUp(to.length, deps_.device.geometry().block_size);
    ZENFS_RETURN_IF_ERROR(Verify(to.place, bytes.subspan(to.file_offset - file_offset, whole)));
  }
  return {};
}

Status ZoneMover::Verify(DeviceOffset place, ByteView written) {
  while (!written.empty()) {  // a frame may be longer than a piece
    const ByteView part = written.first(std::min<std::uint64_t>(kPieceBytes, written.size()));
    ZENFS_ASSIGN_OR_RETURN(const ByteView copy, Read(check_, 0, place, part.size()));
    if (std::memcmp(copy.data(), part.data(), part.size()) != 0) {
      const Geometry& geometry = deps_.device.geometry();
      const ZoneId zone = geometry.ZoneOf(place);
      return Fail(
          Code::kCorruption,
          fmt::format("{}: zone {} at byte {}: {} bytes that were moved there read back differently; the "
                      "original stays in use",
                      deps_.device.name(), zone.value, place - geometry.ZoneStart(zone), part.size()));
    }
    place = place + part.size();
    written = written.subspan(part.size());
  }
  return {};
}

// Reads whole blocks to `buffer` from byte `at` on.
Result<ByteView> ZoneMover::Read(Buffer& buffer, std::uint64_t at, DeviceOffset place, std::uint64_t length) {
  const std::uint64_t bytes = RoundUp(length, deps_.device.geometry().block_size);
  if (buffer.memory.capacity() < buffer.capacity) buffer.memory = AlignedBuffer(buffer.capacity);
  ZENFS_RETURN_IF_ERROR(deps_.device.Read(place, buffer.memory.Whole().subspan(at, bytes)));
  return buffer.memory.View(at, bytes);
}

std::uint64_t RestatedBytes(const FileRecord& file, ZoneId zone, const Geometry& geometry) {
  std::uint64_t restated = 0;  // extents
  std::uint64_t bytes = 0;     // of the present piece
  std::size_t extents = 0;
  for (std::size_t i = 0; i < file.extents.size(); ++i) {
    const Extent& extent = file.extents[i];
    if (geometry.ZoneOf(extent.place) != zone) continue;
    const bool begins = extents == 0 || bytes + extent.length > kPieceBytes || extents == kExtentsACommit;
    if (begins) bytes = extents = 0;
    const std::uint64_t pieces = std::max<std::uint64_t>((extent.length + kPieceBytes - 1) / kPieceBytes, 1);
    restated += (begins ? pieces : 0) * (file.extents.size() - i);
    bytes += extent.length;
    ++extents;
  }
  return restated * kRestatedBytesAnExtent;
}

std::uint64_t RestatedBytes(const FramedFile& file, std::span<const ZoneId> group) {
  return file.RestatedBytes(group, kPieceBytes);
}

MovedExtents ReplaceExtents(const FileRecord& file, const std::vector<Extent>& from,
                            const std::vector<Extent>& to, const Geometry& geometry) {
  MovedExtents moved;
  auto copy = to.begin();
  auto original = from.begin();
  for (const Extent& extent : file.extents) {
    if (original == from.end() || extent.file_offset != original->file_offset) {
      AppendExtent(moved.all, extent, geometry);
      continue;
    }
    while (copy != to.end() && copy->file_offset < original->end())
      AppendExtent(moved.all, *copy++, geometry);
    if (const std::uint64_t left = extent.length - original->length; left != 0) {
      Extent rest{original->end(), extent.place + original->length, left};
      if (extent.crc && original->crc) rest.crc = Crc32cBack(*extent.crc, *original->crc, left);
      AppendExtent(moved.all, rest, geometry);
    }
    ++original;
  }
  ZENFS_ASSERT(original == from.end() && copy == to.end() && ExtentsEnd(moved.all) == file.ExtentsEnd());
  // The first copy may have been joined with the extent in front of it, so the edit begins with that extent.
  std::uint64_t first = from.empty() ? 0 : from.front().file_offset;
  for (const Extent& extent : moved.all) {
    if (extent.file_offset < first && first < extent.end()) first = extent.file_offset;
  }
  moved.edit = SetExtents{.id = file.id,
                          .from_offset = first,
                          .extents = ClipExtents(moved.all, first, file.ExtentsEnd()),
                          .size = file.size,
                          .mtime_seconds = file.mtime_seconds};
  return moved;
}

}  // namespace zenfs
