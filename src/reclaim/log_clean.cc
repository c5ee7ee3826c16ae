#include "reclaim/log_clean.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <functional>

#include "base/aligned_buffer.h"
#include "base/crc32c.h"
#include "file/extent_checksum.h"

namespace zenfs {
namespace {

constexpr std::uint64_t kCopyBytes = 1 << 20;
// Limit of extents that one piece may need.
constexpr std::size_t kExtentsACopy = 8;

// The extents of copied file bytes, and the pins on their zones until the commit.
struct Copy {
  std::vector<Extent> extents;
  std::vector<ZonePin> pins;
  std::uint32_t again = 0;  // CRC of the bytes of the copy that were in extents before
};

// Compares what was written at `place` with what is there.
Status Compare(ZonedDevice& device, DeviceOffset place, ByteView written, AlignedBuffer& check) {
  check.Resize(written.size());
  ZENFS_RETURN_IF_ERROR(device.Read(place, check.Span()));
  if (std::memcmp(check.data(), written.data(), written.size()) == 0) return {};
  const Geometry& geometry = device.geometry();
  const ZoneId zone = geometry.ZoneOf(place);
  return Fail(Code::kCorruption,
              fmt::format("{}: zone {} at byte {}: {} bytes of a log that were copied there read back "
                          "differently; its frames stay in use",
                          device.name(), zone.value, place - geometry.ZoneStart(zone), written.size()));
}

// Adds the extent of `bytes` at `place`. The last block gets an extent of its own if it is not full: the next cleaning copies
// it again, and then verifies only that block.
void AddExtent(std::uint64_t file_offset, DeviceOffset place, ByteView bytes, std::uint32_t block,
               Copy& copy) {
  const std::uint64_t whole = RoundDown(bytes.size(), block);
  for (const ByteView part : {bytes.first(whole), bytes.subspan(whole)}) {
    if (part.empty()) continue;
    copy.extents.push_back({file_offset, place, part.size(), Crc32c(part)});
    file_offset += part.size();
    place = place + part.size();
  }
}

// Writes `bytes`, which are padded to whole blocks, and reads them back. The last extent ends at `file_end`, without the
// padding.
Status WriteCopy(const LogCleanDeps& deps, ByteView bytes, std::uint64_t file_offset, std::uint64_t file_end,
                 Copy& copy) {
  SinkCursor cursor;
  AlignedBuffer check(std::min<std::uint64_t>(kCopyBytes, bytes.size()));
  while (!bytes.empty()) {
    const ByteView piece = bytes.first(std::min<std::uint64_t>(kCopyBytes, bytes.size()));
    ZENFS_ASSIGN_OR_RETURN(
        ExtentSink::Placed placed,
        deps.sink.Write(cursor, Lifetime::kNotSet, {&piece, 1}, Deadline::After(std::chrono::seconds(1))));
    ZENFS_RETURN_IF_ERROR(Compare(deps.device, placed.place, piece.first(placed.length), check));
    const std::uint64_t length = std::min(placed.length, file_end - file_offset);
    AddExtent(file_offset, placed.place, bytes.first(length), deps.device.geometry().block_size, copy);
    copy.pins.push_back(std::move(placed.pin));
    file_offset += length;
    bytes = bytes.subspan(placed.length);
  }
  return {};
}

// Reads the bytes of a range: those in the last extent `last`, if it is not null and they begin in it, and those in frames. All
// are verified. Returns the number of bytes in `last`.
Result<std::uint64_t> ReadRange(const LogCleanDeps& deps, const FramedFile& file, const CleaningRange& range,
                                const Extent* last, ByteSpan into) {
  const std::uint64_t again = last != nullptr && last->end() > range.from ? last->end() - range.from : 0;
  if (again != 0) {
    ZENFS_RETURN_IF_ERROR(ReadVerified(deps.device, *last, range.from, into.first(again)));
  }
  ZENFS_ASSIGN_OR_RETURN(const std::size_t n,
                         file.Read(range.from + again, into.subspan(again), FramedFile::Frames::kVerified));
  if (again + n != into.size()) return Fail(Code::kBusy, "a log was truncated while it was cleaned");
  return again;
}

// Copies a range. `last`: the last extent of the file, with its checksum; null if nobody knows it any more.
Result<Copy> CopyRange(const LogCleanDeps& deps, const FramedFile& file, const CleaningRange& range,
                       const Extent* last) {
  const std::uint32_t block = deps.device.geometry().block_size;
  AlignedBuffer buffer(RoundUp(range.to - range.from, block));
  buffer.Resize(range.to - range.from);
  const Result<std::uint64_t> again = ReadRange(deps, file, range, last, buffer.Span());
  if (!again &&
      range.unstable_since.FlushFailedSince(deps.device)) {  // no damage: the frame is written again
    return Fail(Code::kBusy, fmt::format("file {}: {}", file.id().value, kLostToAFlush));
  }
  if (!again) return Fail(again.error());
  Copy copy{.extents = {}, .pins = {}, .again = Crc32c(buffer.View(0, *again))};
  buffer.PadTo(block);
  ZENFS_RETURN_IF_ERROR(WriteCopy(deps, buffer.View(), range.from, range.to, copy));
  return copy;
}

// If the last block of a file's extents is not full, it is copied again, which cuts the last extent. This function
// calculates the checksum of the rest of that extent and puts it in front of the copy.
void KeepChecksum(const FileRecord& record, Copy& copy, CleaningRange& range) {
  if (record.extents.empty() || record.ExtentsEnd() <= range.from) return;
  Extent last = record.extents.back();
  if (!last.crc || last.file_offset >= range.from) return;
  last.crc = Crc32cFront(*last.crc, copy.again, last.end() - range.from);
  last.length = range.from - last.file_offset;
  range.from = last.file_offset;
  copy.extents.insert(copy.extents.begin(), last);
}

Status CleanFile(const LogCleanDeps& deps, FramedFile& file, const FileRecord& record,
                 std::span<const ZoneId> zones, std::uint64_t* bytes_moved) {
  CleaningRange range = file.RangeToClean(zones, kCopyBytes);
  if (range.to == 0) return {};
  ZENFS_RETURN_IF_ERROR(deps.files.CheckRoomForExtents(kExtentsACopy));
  const std::uint64_t bytes = range.to - range.from;
  ZENFS_ASSIGN_OR_RETURN(
      Copy copy, CopyRange(deps, file, range, record.extents.empty() ? nullptr : &record.extents.back()));
  KeepChecksum(record, copy, range);
  ZENFS_ASSIGN_OR_RETURN(FramedFile::Rewrite rewrite, file.BeginCleaning(range, copy.extents));
  const Status committed = deps.files.CommitMoved(rewrite.edits());
  rewrite.End(committed);
  if (committed.ok()) *bytes_moved += bytes;
  return committed;
}

Status CleanDeleted(const LogCleanDeps& deps, FramedFile& file, std::span<const ZoneId> zones,
                    std::uint64_t* bytes_moved) {
  const CleaningRange range = file.RangeToClean(zones, kCopyBytes);
  if (range.to == 0) return {};
  ZENFS_ASSIGN_OR_RETURN(const Copy copy, CopyRange(deps, file, range, nullptr));
  ZENFS_ASSIGN_OR_RETURN(FramedFile::Rewrite rewrite, file.BeginCleaning(range, copy.extents));
  const Status settled = deps.deleted.Settle(copy.extents);
  rewrite.End(settled);
  if (settled.ok()) *bytes_moved += range.to - range.from;
  return settled;
}

// Each call of `clean` moves at least one frame.
Status CleanAll(const LogCleanDeps& deps, const FramedFile& file, std::span<const ZoneId> zones,
                const std::function<Status()>& clean) {
  while (file.RangeToClean(zones).to != 0) {
    const SteadyTime begin = SteadyNow();
    ZENFS_RETURN_IF_ERROR(clean());
    if (deps.pause) deps.pause(SteadyNow() - begin);
  }
  return {};
}

}  // namespace

Status CleanLogGroup(const LogCleanDeps& deps, std::span<const ZoneId> zones, std::uint64_t* bytes_moved) {
  Status busy, damaged;
  // True after an error that ends the cleaning. After kBusy and kCorruption, the other files can still be cleaned.
  const auto failed = [&](FileId id, const Status& cleaned) {
    if (cleaned.ok()) return false;
    switch (cleaned.error().code()) {
      case Code::kBusy: busy = cleaned; return false;
      case Code::kCorruption:
        damaged =
            Fail(cleaned.error().With(fmt::format("file {} keeps its frames where they are", id.value)));
        return false;
      default: return true;
    }
  };
  for (const std::shared_ptr<FramedFile>& file : deps.logs.All()) {
    const Status cleaned = CleanAll(deps, *file, zones, [&] {
      return deps.files.WithFile(file->id(), [&](const FileRecord& record) {
        return CleanFile(deps, *file, record, zones, bytes_moved);
      });
    });
    if (failed(file->id(), cleaned)) return cleaned;
  }
  // After the others: a file that is deleted meanwhile is in both lists, rather than in neither.
  for (const std::shared_ptr<FramedFile>& file : deps.deleted.All()) {
    const Status cleaned = CleanAll(deps, *file, zones, [&] {
      return deps.deleted.WithFile(file->id(), [&] { return CleanDeleted(deps, *file, zones, bytes_moved); });
    });
    if (failed(file->id(), cleaned)) return cleaned;
  }
  return damaged.ok() ? busy : damaged;
}

std::uint64_t RestatedBytes(const FramedFile& file, std::span<const ZoneId> zones) {
  return file.RestatedBytes(zones, kCopyBytes);
}

}  // namespace zenfs
