#include "reclaim/log_fold.h"

#include <algorithm>

#include "base/aligned_buffer.h"

namespace zenfs {
namespace {

constexpr std::uint64_t kCopyBytes = 1 << 20;

// Extents that hold file bytes [from, to), and the pins that keep them until they are committed.
struct Copy {
  std::vector<Extent> extents;
  std::vector<ZonePin> pins;
};

// Writes all of `buffer` (padded to blocks); the last extent is `padding` bytes shorter than what was
// written.
Status WritePiece(const LogFoldEnv& env, SinkCursor& cursor, ByteView bytes, std::uint64_t file_offset,
                  std::uint64_t file_end, Copy& copy) {
  while (!bytes.empty()) {
    ZENFS_ASSIGN_OR_RETURN(
        ExtentSink::Placed placed,
        env.sink->Write(cursor, Lifetime::kNotSet, {&bytes, 1}, Deadline::After(std::chrono::seconds(1))));
    const std::uint64_t length = std::min(placed.length, file_end - file_offset);
    copy.extents.push_back({.file_offset = file_offset, .place = placed.place, .length = length});
    copy.pins.push_back(std::move(placed.pin));
    file_offset += length;
    bytes = bytes.subspan(placed.length);
  }
  return {};
}

Result<Copy> CopyRange(const LogFoldEnv& env, const FramedFile& file, const FramedFile::FoldRange& range) {
  Copy copy;
  SinkCursor cursor;
  AlignedBuffer buffer(kCopyBytes);
  for (std::uint64_t at = range.from; at < range.to;) {
    buffer.Resize(std::min(kCopyBytes, range.to - at));
    ZENFS_ASSIGN_OR_RETURN(const std::size_t n, file.Read(at, buffer.Span()));
    if (n != buffer.size()) return Fail(Code::kBusy, "a log was truncated while it was folded");
    buffer.PadTo(env.block_size);
    ZENFS_RETURN_IF_ERROR(WritePiece(env, cursor, buffer.View(), at, at + n, copy));
    at += n;
  }
  return copy;
}

Status FoldFile(const LogFoldEnv& env, FramedFile& file, ZoneId zone, std::uint64_t* bytes_moved) {
  const FramedFile::FoldRange range = file.RangeToFold(zone);
  if (range.to == 0) return {};
  ZENFS_ASSIGN_OR_RETURN(Copy copy, CopyRange(env, file, range));
  ZENFS_ASSIGN_OR_RETURN(FramedFile::Rewrite rewrite, file.BeginFold(range, copy.extents));
  const Status committed = env.commit(rewrite.edits);
  file.EndFold(rewrite, committed.has_value());
  if (committed) *bytes_moved += range.to - range.from;
  return committed;
}

}  // namespace

Status FoldLogZone(const LogFoldEnv& env, ZoneId zone, std::uint64_t* bytes_moved) {
  Status busy;
  for (const std::shared_ptr<FramedFile>& file : env.logs->All()) {
    if (file->RangeToFold(zone).to == 0) continue;
    const Status folded = env.with_file(file->id(), [&] { return FoldFile(env, *file, zone, bytes_moved); });
    if (folded) continue;
    if (folded.error().code() != Code::kBusy) return folded;
    busy = folded;  // gone or truncated meanwhile: no reason not to empty the zone of the others
  }
  return busy;
}

}  // namespace zenfs
