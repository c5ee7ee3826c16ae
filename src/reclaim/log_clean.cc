#include "reclaim/log_clean.h"

#include <algorithm>
#include <functional>

#include "base/aligned_buffer.h"
#include "base/crc32c.h"

namespace zenfs {
namespace {

constexpr std::uint64_t kCopyBytes = 1 << 20;
// Limit of extents that one piece may need.
constexpr std::size_t kExtentsACopy = 4;

// The extents of copied file bytes, and the pins on their zones until the commit.
struct Copy {
  std::vector<Extent> extents;
  std::vector<ZonePin> pins;
  std::uint32_t again = 0;  // CRC of the bytes of the copy that were in extents before
};

// Writes `bytes`, which are padded to whole blocks. The last extent ends at `file_end`, without the padding.
Status WritePiece(const LogCleanDeps& deps, SinkCursor& cursor, ByteView bytes, std::uint64_t file_offset,
                  std::uint64_t file_end, Copy& copy) {
  while (!bytes.empty()) {
    ZENFS_ASSIGN_OR_RETURN(
        ExtentSink::Placed placed,
        deps.sink.Write(cursor, Lifetime::kNotSet, {&bytes, 1}, Deadline::After(std::chrono::seconds(1))));
    const std::uint64_t length = std::min(placed.length, file_end - file_offset);
    copy.extents.push_back({.file_offset = file_offset,
                            .place = placed.place,
                            .length = length,
                            .crc = Crc32c(bytes.first(length))});
    copy.pins.push_back(std::move(placed.pin));
    file_offset += length;
    bytes = bytes.subspan(placed.length);
  }
  return {};
}

// Copies a range. Its bytes below `extents_end` are in extents already.
Result<Copy> CopyRange(const LogCleanDeps& deps, const FramedFile& file, const CleaningRange& range,
                       std::uint64_t extents_end) {
  Copy copy;
  SinkCursor cursor;
  AlignedBuffer buffer(std::min(kCopyBytes, RoundUp(range.to - range.from, deps.block_size)));
  for (std::uint64_t at = range.from; at < range.to;) {
    buffer.Resize(std::min(kCopyBytes, range.to - at));
    ZENFS_ASSIGN_OR_RETURN(const std::size_t n, file.Read(at, buffer.Span()));
    if (n != buffer.size()) return Fail(Code::kBusy, "a log was truncated while it was cleaned");
    if (at < extents_end) {
      copy.again = Crc32c(buffer.View(0, std::min<std::uint64_t>(n, extents_end - at)), copy.again);
    }
    buffer.PadTo(deps.block_size);
    ZENFS_RETURN_IF_ERROR(WritePiece(deps, cursor, buffer.View(), at, at + n, copy));
    at += n;
  }
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

Status CleanFile(const LogCleanDeps& deps, FramedFile& file, const FileRecord& record, ZoneId zone,
                 std::uint64_t* bytes_moved) {
  CleaningRange range = file.RangeToClean(zone, kCopyBytes);
  if (range.to == 0) return {};
  ZENFS_RETURN_IF_ERROR(deps.files.CheckRoomForExtents(kExtentsACopy));
  const std::uint64_t bytes = range.to - range.from;
  ZENFS_ASSIGN_OR_RETURN(Copy copy, CopyRange(deps, file, range, record.ExtentsEnd()));
  KeepChecksum(record, copy, range);
  ZENFS_ASSIGN_OR_RETURN(FramedFile::Rewrite rewrite, file.BeginCleaning(range, copy.extents));
  const Status committed = deps.files.CommitMoved(rewrite.edits());
  rewrite.End(committed);
  if (committed.ok()) *bytes_moved += bytes;
  return committed;
}

Status CleanDeleted(const LogCleanDeps& deps, FramedFile& file, ZoneId zone, std::uint64_t* bytes_moved) {
  const CleaningRange range = file.RangeToClean(zone, kCopyBytes);
  if (range.to == 0) return {};
  ZENFS_ASSIGN_OR_RETURN(const Copy copy, CopyRange(deps, file, range, 0));
  ZENFS_ASSIGN_OR_RETURN(FramedFile::Rewrite rewrite, file.BeginCleaning(range, copy.extents));
  const Status settled = deps.deleted.Settle(copy.extents);
  rewrite.End(settled);
  if (settled.ok()) *bytes_moved += range.to - range.from;
  return settled;
}

// Each call of `clean` moves at least one frame.
Status CleanAll(const LogCleanDeps& deps, const FramedFile& file, ZoneId zone,
                const std::function<Status()>& clean) {
  while (file.RangeToClean(zone).to != 0) {
    const SteadyTime begin = SteadyNow();
    ZENFS_RETURN_IF_ERROR(clean());
    if (deps.pause) deps.pause(SteadyNow() - begin);
  }
  return {};
}

}  // namespace

Status CleanLogZone(const LogCleanDeps& deps, ZoneId zone, std::uint64_t* bytes_moved) {
  Status busy;
  // True after an error that ends the cleaning. After kBusy, the other files can still be cleaned.
  const auto failed = [&busy](const Status& cleaned) {
    if (cleaned.ok() || cleaned.error().code() != Code::kBusy) return !cleaned.ok();
    busy = cleaned;
    return false;
  };
  for (const std::shared_ptr<FramedFile>& file : deps.logs.All()) {
    const Status cleaned = CleanAll(deps, *file, zone, [&] {
      return deps.files.WithFile(file->id(), [&](const FileRecord& record) {
        return CleanFile(deps, *file, record, zone, bytes_moved);
      });
    });
    if (failed(cleaned)) return cleaned;
  }
  // After the others: a file that is deleted meanwhile is in both lists, rather than in neither.
  for (const std::shared_ptr<FramedFile>& file : deps.deleted.All()) {
    const Status cleaned = CleanAll(deps, *file, zone, [&] {
      return deps.deleted.WithFile(file->id(), [&] { return CleanDeleted(deps, *file, zone, bytes_moved); });
    });
    if (failed(cleaned)) return cleaned;
  }
  return busy;
}

}  // namespace zenfs
