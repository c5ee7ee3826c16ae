#include "file/plain_file_append.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/aligned_buffer.h"
#include "base/assert.h"
#include "base/checksum_handoff.h"
#include "file/extent_checksum.h"
#include "file/extent_list.h"
#include "file/plain_file_flush.h"
#include "file/plain_file_write.h"

namespace zenfs {
namespace {

// Bytes to append, after Inspect.
struct Incoming {
  ByteView bytes;
  bool gather = false;        // write without a copy
  std::size_t held_back = 0;  // length of the last block, which goes to the buffer if `gather`
  KnownCrc crc;               // of `bytes` without the last `held_back`; unknown if the buffer calculates it
  std::uint32_t held_back_crc = 0;
};

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

// Reads the last block of the file into the empty buffer. It is written again with the bytes behind it, so the whole extent
// that it belongs to is verified first.
Status LoadTail(PlainFileParts& file) REQUIRES(file.mutex) {
  const std::size_t length = file.content.LastBlock(file.content.size());
  if (length == 0) return {};
  AlignedBuffer block(length);
  block.Resize(length);
  const Extent& last = file.content.extents().all().back();
  const Status read = ReadVerified(*file.deps.device, last, file.content.size() - length, block.Span());
  if (!read.ok()) return Fail(read.error().With("the last block can't be written again with more bytes"));
  file.content.LoadTail(block.View());
  return {};
}

// Decides how the bytes are appended, calculates the checksums for that, and verifies `crc`.
Result<Incoming> Inspect(const PlainFileParts& file, ByteView bytes, KnownCrc crc) REQUIRES(file.mutex) {
  const std::uint32_t block = file.geometry.block_size;
  const bool aligned = IsMultiple(reinterpret_cast<std::uintptr_t>(bytes.data()),
                                  std::min<std::size_t>(block, AlignedBuffer::kAlignment));
  Incoming incoming{.bytes = bytes, .crc = std::nullopt};
  incoming.gather =
      aligned && IsMultiple(file.content.tail().size(), block) && bytes.size() >= file.deps.buffer_bytes / 4;
  if (incoming.gather) incoming.held_back = file.content.LastBlock(bytes.size());
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

Status AppendGathered(PlainFileParts& file, const Incoming& incoming) REQUIRES(file.mutex) {
  const ByteView now = incoming.bytes.first(incoming.bytes.size() - incoming.held_back);
  if (!now.empty()) ZENFS_RETURN_IF_ERROR(WriteGathered(file, now, *incoming.crc));
  file.content.Append(incoming.bytes.last(incoming.held_back), incoming.held_back_crc);
  return {};
}

// `crc` is the CRC of all `bytes`.
Status AppendBuffered(PlainFileParts& file, ByteView bytes, KnownCrc crc) REQUIRES(file.mutex) {
  const std::size_t all = bytes.size();
  const TailBuffer& tail = file.content.tail();
  while (!bytes.empty()) {
    if (tail.size() >= file.deps.buffer_bytes) {
      ZENFS_RETURN_IF_ERROR(WriteTail(file, RoundDown(tail.size(), file.geometry.block_size), 0));
    }
    const std::size_t n = std::min<std::size_t>(bytes.size(), file.deps.buffer_bytes - tail.size());
    file.content.Append(bytes.first(n), n == all ? crc : std::nullopt);
    bytes = bytes.subspan(n);
  }
  return {};
}

Status AppendInspected(PlainFileParts& file, const Incoming& incoming) REQUIRES(file.mutex) {
  if (incoming.bytes.empty()) return {};
  const bool places =
      incoming.gather || incoming.bytes.size() > file.deps.buffer_bytes - file.content.tail().size();
  const Rollback rollback = places ? RollbackTo(file.content) : Rollback{.size = file.content.size()};
  Status appended =
      incoming.gather ? AppendGathered(file, incoming) : AppendBuffered(file, incoming.bytes, incoming.crc);
  if (!appended.ok()) CutFile(file, rollback.size, CrcAfter(rollback, file.content.extents().all()));
  return appended;
}

}  // namespace

Status AppendTo(PlainFileParts& file, ByteView bytes, KnownCrc crc) {
  if (!bytes.empty() && file.content.written()) {
    if (IsMultiple(file.content.size(), file.geometry.block_size)) {
      file.content.DropTail();  // whole blocks on the device are not written again
    } else if (file.content.tail().empty()) {
      ZENFS_RETURN_IF_ERROR(LoadTail(file));
    }
  }
  ZENFS_ASSIGN_OR_RETURN(const Incoming incoming, Inspect(file, bytes, crc));
  return AppendInspected(file, incoming);
}

Status OverwriteTail(PlainFileParts& file, std::uint64_t offset, ByteView bytes, KnownCrc crc) {
  if (offset < file.content.size() && file.content.tail().empty()) ZENFS_RETURN_IF_ERROR(LoadTail(file));
  if (offset > file.content.size() || offset < file.content.tail_offset()) {
    return Fail(Code::kInvalidArgument,
                fmt::format("positioned append at offset {} of a file that can be written only from {} to {}",
                            offset, file.content.tail_offset(), file.content.size()));
  }
  const ByteView front = bytes.first(std::min<std::uint64_t>(bytes.size(), file.content.size() - offset));
  const ByteView rest = bytes.subspan(front.size());
  const std::uint32_t front_crc = Crc32c(front);
  // From here on `crc` is the expected CRC of the rest. For an empty rest it is 0 if the front is correct.
  if (crc) crc = Crc32cBack(*crc, front_crc, rest.size());
  ZENFS_ASSIGN_OR_RETURN(const Incoming incoming, Inspect(file, rest, crc));
  if (front.empty()) return {};
  file.content.Overwrite(offset, front, front_crc);
  return AppendInspected(file, incoming);
}

void CutFile(PlainFileParts& file, std::uint64_t size, KnownCrc front) {
  file.content.Cut(size, front);
  CutFlushed(file);
  ZENFS_ASSERT(file.Sound());
}

}  // namespace zenfs
