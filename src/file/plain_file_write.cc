#include "file/plain_file_write.h"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "base/assert.h"

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

// Writes `pieces` and returns their extents, from the offset of the tail buffer on. The first `content` bytes of `pieces`
// belong to the file and have the CRC `crc`; the rest is padding.
Result<std::vector<FileExtents::Placed>> Place(PlainFileParts& file, std::span<const ByteView> pieces,
                                               std::uint64_t content, std::uint32_t crc)
    REQUIRES(file.mutex) {
  const Geometry& geometry = file.geometry;
  const std::uint64_t offset = file.content.tail_offset();
  const Deadline deadline = Deadline::After(file.deps.space_wait);
  std::vector<ByteView> rest(pieces.begin(), pieces.end());
  std::vector<FileExtents::Placed> all;
  const FlushMark mark = FlushMark::Now(*file.deps.device);
  for (std::uint64_t done = 0; done < content;) {
    auto parts = file.deps.sink->WriteSpread(file.cursor, file.lifetime.load(std::memory_order_relaxed), rest,
                                             deadline);
    if (!parts) {
      if (!ForWantOfAZone(parts.error())) file.health = Fail(parts.error());
      return Fail(std::move(parts).error());
    }
    file.content.extents().NoteWrite(mark);
    for (ExtentSink::Placed& placed : *parts) {
      ZENFS_ASSERT(done < content && placed.length != 0 && IsMultiple(placed.length, geometry.block_size));
      ZENFS_ASSERT(geometry.ZoneOf(placed.place) == geometry.ZoneOf(placed.place + (placed.length - 1)));
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
  if (file.deps.padding != nullptr)
    file.deps.padding->fetch_add(RoundUp(content, geometry.block_size) - content, std::memory_order_relaxed);
  return all;
}

}  // namespace

Status WriteTail(PlainFileParts& file, std::size_t bytes, std::size_t kept) {
  const std::uint32_t crc = file.content.tail().CrcOfFront(bytes);
  const ByteView blocks = file.content.PaddedTail().first(RoundUp(bytes, file.geometry.block_size));
  ZENFS_ASSIGN_OR_RETURN(std::vector<FileExtents::Placed> placed,
                         Place(file, std::span<const ByteView>(&blocks, 1), bytes, crc));
  file.content.TakeWritten(std::move(placed), bytes, kept);
  ZENFS_ASSERT(file.Sound());
  return {};
}

Status WriteWholeBlocks(PlainFileParts& file) {
  const std::size_t all = file.content.tail().size();
  const std::size_t bytes = all - file.content.LastBlock(all);
  return bytes == 0 ? Status{} : WriteTail(file, bytes, 0);
}

Status WriteWholeTail(PlainFileParts& file) {
  if (file.content.written()) return {};
  const std::size_t bytes = file.content.tail().size();
  return WriteTail(file, bytes, file.content.LastBlock(bytes));
}

Status WriteGathered(PlainFileParts& file, ByteView bytes, std::uint32_t crc) {
  const TailBuffer& tail = file.content.tail();
  const std::array<ByteView, 2> pieces{tail.View(), bytes};
  ZENFS_ASSIGN_OR_RETURN(
      std::vector<FileExtents::Placed> placed,
      Place(file, pieces, tail.size() + bytes.size(), Crc32cWhole(tail.crc(), crc, bytes.size())));
  file.content.TakeGathered(std::move(placed), bytes.size());
  return {};
}

}  // namespace zenfs
