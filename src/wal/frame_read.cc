#include "wal/frame_read.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <optional>

#include "base/assert.h"

namespace zenfs {
namespace {

// Of one command of ReadPieces: its bytes, and bytes between two pieces that it reads and drops.
constexpr std::uint64_t kSpanBytesMax = 1 << 20;
constexpr std::uint64_t kGapBytesMax = 16 << 10;
// Of one command of ReadFrames.
constexpr std::uint64_t kAdjacentBytesMax = 1 << 20;

DeviceOffset StartOf(const Piece& piece) {
  return DeviceOffset(piece.place.value - piece.skipped - kFrameHeaderBytes);
}

// The number of `parts`, from the first on, that can be read with one command.
std::size_t AdjacentFrames(const Geometry& geometry, std::span<const FrameRead> parts) {
  const DeviceOffset begin = StartOf(parts.front().piece);
  std::size_t count = 1;
  for (; count < parts.size(); ++count) {
    const Piece& before = parts[count - 1].piece;
    const Piece& next = parts[count].piece;
    if (StartOf(next) != StartOf(before) + before.frame_bytes ||
        geometry.ZoneOf(next.place) != geometry.ZoneOf(before.place) ||
        StartOf(next) - begin + next.frame_bytes > kAdjacentBytesMax) {
      break;
    }
  }
  return count;
}

// Verifies the frame at the front of `bytes` and copies its part.
Status TakeFrame(const ZonedDevice& device, FileId owner, const FrameRead& part, ByteView bytes) {
  const Piece& piece = part.piece;
  const Geometry& geometry = device.geometry();
  const ParsedFrame frame = ParseFrame(bytes, part.seed, geometry.block_size, piece.frame_bytes);
  const FrameHeader& header = frame.header;
  if (frame.valid() && header.kind == FrameKind::kLogData && header.owner == owner.value &&
      header.sequence == piece.sequence && header.file_offset + piece.skipped == piece.file_offset &&
      header.file_offset + header.payload_bytes >= piece.end()) {
    std::memcpy(part.into.data(), frame.payload.data() + (part.from - header.file_offset), part.into.size());
    return {};
  }
  const ZoneId zone = geometry.ZoneOf(piece.place);
  return Fail(
      Code::kCorruption,
      fmt::format("{}: log zone {} at byte {}: frame {} of file {}, bytes {} to {}, is missing or does "
                  "not have the checksum with which it was written",
                  device.name(), zone.value, StartOf(piece) - geometry.ZoneStart(zone), piece.sequence,
                  owner.value, piece.file_offset, piece.end()));
}

// Reads the frame in which `piece` lies. Returns its header if it is intact and has the owner and the sequence of the piece;
// then header and payload are left in `buffer`.
Result<std::optional<FrameHeader>> ReadFrameOf(ZonedDevice& device, const FrameSeed& seed, FileId owner,
                                               const Piece& piece, DeviceOffset frame_start,
                                               AlignedBuffer& buffer) {
  buffer.Resize(piece.frame_bytes);
  ZENFS_RETURN_IF_ERROR(device.Read(frame_start, buffer.Span()));
  const ParsedFrame frame = ParseFrame(buffer.View(), seed, device.geometry().block_size, piece.frame_bytes);
  const FrameHeader& header = frame.header;
  if (!frame.valid() || header.kind != FrameKind::kLogData || header.owner != owner.value ||
      header.sequence != piece.sequence) {
    return std::nullopt;
  }
  buffer.Resize(header.header_bytes + header.payload_bytes);
  return header;
}

}  // namespace

void FrameIndex::CutAt(std::uint64_t offset) {
  while (!pieces_.empty() && pieces_.back().file_offset >= offset) pieces_.pop_back();
  if (!pieces_.empty() && pieces_.back().end() > offset) {
    pieces_.back().length = offset - pieces_.back().file_offset;
  }
}

void FrameIndex::ReplaceBelow(std::uint64_t offset, std::vector<Piece> pieces) {
  const auto keep = std::ranges::find_if(pieces_, [&](const Piece& p) { return p.end() > offset; });
  pieces.insert(pieces.end(), keep, pieces_.end());
  pieces_ = std::move(pieces);
}

Status ReadPieces(ZonedDevice& device, FileId id, std::span<const PieceRead> parts) {
  const Geometry& geometry = device.geometry();
  AlignedBuffer span;
  std::uint64_t span_bytes_max = kSpanBytesMax;
  for (std::size_t first = 0; first < parts.size();) {
    const std::uint64_t begin = RoundDown(parts[first].place.value, geometry.block_size);
    const ZoneId zone = geometry.ZoneOf(parts[first].place);
    std::uint64_t end = begin;
    std::size_t last = first;
    for (; last < parts.size(); ++last) {
      const PieceRead& part = parts[last];
      const std::uint64_t part_end = RoundUp(part.place.value + part.into.size(), geometry.block_size);
      if (last > first && (part.place.value < end - std::min<std::uint64_t>(end, geometry.block_size) ||
                           part.place.value > end + kGapBytesMax || part_end - begin > span_bytes_max ||
                           geometry.ZoneOf(part.place) != zone)) {
        break;
      }
      end = std::max(end, part_end);
    }
    if (span.capacity() < end - begin) span = AlignedBuffer(end - begin);
    span.Resize(end - begin);
    if (const Status read = device.Read(DeviceOffset(begin), span.Span()); !read.ok()) {
      // A block between two frames may belong to another file and be lost to a power loss: read without the
      // gaps.
      if (last - first == 1) {
        return Fail(
            read.error().With(fmt::format("file {}: reading {} bytes from zone {} at device offset {}",
                                          id.value, end - begin, zone.value, begin)));
      }
      span_bytes_max = 0;
      continue;
    }
    for (; first < last; ++first) {
      const PieceRead& part = parts[first];
      std::memcpy(part.into.data(), span.data() + (part.place.value - begin), part.into.size());
    }
  }
  return {};
}

Status ReadFrames(ZonedDevice& device, FileId owner, std::span<const FrameRead> parts) {
  AlignedBuffer span;
  while (!parts.empty()) {
    std::size_t count = AdjacentFrames(device.geometry(), parts);
    const DeviceOffset begin = StartOf(parts.front().piece);
    const Piece& last = parts[count - 1].piece;
    const std::uint64_t bytes = StartOf(last) - begin + last.frame_bytes;
    if (span.capacity() < bytes) span = AlignedBuffer(bytes);
    span.Resize(bytes);
    Status read = device.Read(begin, span.Span());
    if (!read.ok() && count > 1) {  // the error then names the frame
      count = 1;
      span.Resize(parts.front().piece.frame_bytes);
      read = device.Read(begin, span.Span());
    }
    if (!read.ok()) {
      const Piece& piece = parts.front().piece;
      return Fail(read.error().With(fmt::format("file {}: reading frame {}, bytes {} to {}", owner.value,
                                                piece.sequence, piece.file_offset, piece.end())));
    }
    for (const FrameRead& part : parts.first(count)) {
      const std::uint64_t at = StartOf(part.piece) - begin;
      ZENFS_RETURN_IF_ERROR(TakeFrame(device, owner, part, span.View(at, part.piece.frame_bytes)));
    }
    parts = parts.subspan(count);
  }
  return {};
}

Status ReadFrame(ZonedDevice& device, const FrameSeed& seed, FileId owner, const Piece& piece,
                 AlignedBuffer& buffer) {
  ZENFS_ASSERT(piece.sequence != 0 && !piece.in_sync_block && piece.skipped == 0);
  ZENFS_ASSIGN_OR_RETURN(const std::optional<FrameHeader> header,
                         ReadFrameOf(device, seed, owner, piece, StartOf(piece), buffer));
  if (!header || header->file_offset != piece.file_offset || header->payload_bytes != piece.length) {
    return Fail(Code::kCorruption,
                fmt::format("frame {} of file {} is missing or damaged in log zone {}", piece.sequence,
                            owner.value, device.geometry().ZoneOf(piece.place).value));
  }
  return {};
}

Result<FrameHeader> ReadSyncBlock(ZonedDevice& device, const FrameSeed& seed, FileId owner,
                                  const Piece& piece, AlignedBuffer& buffer) {
  const DeviceOffset at(RoundDown(piece.place.value, device.geometry().block_size));
  ZENFS_ASSIGN_OR_RETURN(const std::optional<FrameHeader> header,
                         ReadFrameOf(device, seed, owner, piece, at, buffer));
  if (header && header->file_offset <= piece.file_offset &&
      header->file_offset + header->payload_bytes >= piece.end() &&
      header->stable_sequence < header->sequence)
    return *header;
  return Fail(Code::kBusy, fmt::format("frame {} of file {} is no longer in its sync block at byte {}",
                                       piece.sequence, owner.value, at.value));
}

}  // namespace zenfs
