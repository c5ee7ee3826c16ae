#include "volume/reader/deleted_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "base/aligned_buffer.h"
#include "wal/frame_read.h"

namespace zenfs {
namespace {

constexpr std::uint64_t kProofReadBytes = 256 << 10;

std::unexpected<Error> Unproven(std::uint64_t offset) {
  return Fail(Code::kNotFound, fmt::format("byte {} can't be read any more", offset));
}

// Reads the whole extent and copies its bytes from file offset `from` on.
Status ReadProven(ZonedDevice& device, const Extent& extent, std::uint64_t from, ByteSpan into) {
  if (!extent.crc || extent.length > kProvenExtentMax) return Unproven(from);
  AlignedBuffer buffer(std::min(kProofReadBytes, RoundUp(extent.length, device.geometry().block_size)));
  std::uint32_t crc = 0;
  for (std::uint64_t at = extent.file_offset; at < extent.end(); at += buffer.size()) {
    buffer.Resize(std::min(kProofReadBytes, extent.end() - at));
    if (!ReadExtents(device, std::span(&extent, 1), at, buffer.Span()).ok()) return Unproven(from);
    crc = Crc32c(buffer.View(), crc);
    const std::uint64_t begin = std::max(at, from);
    const std::uint64_t end = std::min(at + buffer.size(), from + into.size());
    if (begin < end) std::memcpy(into.data() + (begin - from), buffer.data() + (begin - at), end - begin);
  }
  return crc == *extent.crc ? Status() : Unproven(from);
}

Status ReadExtentBytes(ZonedDevice& device, std::span<const Extent> extents, std::uint64_t offset,
                       ByteSpan into) {
  for (const Extent& extent : extents) {
    if (extent.end() <= offset) continue;
    if (into.empty()) break;
    if (extent.file_offset > offset) return Unproven(offset);
    const std::uint64_t n = std::min<std::uint64_t>(into.size(), extent.end() - offset);
    ZENFS_RETURN_IF_ERROR(ReadProven(device, extent, offset, into.first(n)));
    offset += n;
    into = into.subspan(n);
  }
  return into.empty() ? Status() : Unproven(offset);
}

// `piece` is a frame. Its seed is that of the log zone as it was allocated when the file was looked up.
Status ReadFrameBytes(ZonedDevice& device, const LiveState& live, const LiveFile& file, const Piece& piece,
                      std::uint64_t from, ByteSpan into) {
  const ZoneId id = device.geometry().ZoneOf(piece.place);
  const auto zone = std::ranges::find(file.log_zones, id, &LogZone::zone);
  if (zone == file.log_zones.end() || piece.damaged) return Unproven(from);
  const FileId owner = file.record->id;
  AlignedBuffer buffer(std::max<std::uint64_t>(piece.frame_bytes, device.geometry().block_size));
  FrameHeader header;
  if (piece.in_sync_block) {
    const auto held = ReadSyncBlock(device, live.SeedOf(*zone), owner, piece, buffer);
    if (!held) return Unproven(from);
    header = *held;
  } else {
    const DeviceOffset start(piece.place.value - kFrameHeaderBytes);
    buffer.Resize(piece.frame_bytes);
    if (!device.Read(start, buffer.Span()).ok()) return Unproven(from);
    const ParsedFrame frame =
        ParseFrame(buffer.View(), live.SeedOf(*zone), device.geometry().block_size, piece.frame_bytes);
    header = frame.header;
    if (!frame.valid() || header.kind != FrameKind::kLogData || header.owner != owner.value ||
        header.sequence != piece.sequence) {
      return Unproven(from);
    }
  }
  if (header.file_offset > from || header.file_offset + header.payload_bytes < from + into.size())
    return Unproven(from);
  std::memcpy(into.data(), buffer.data() + header.header_bytes + (from - header.file_offset), into.size());
  return {};
}

Status ReadOne(ZonedDevice& device, const LiveState& live, const LiveFile& file, const ReadRequest& request) {
  if (file.log == nullptr) return ReadExtentBytes(device, file.shown->extents, request.offset, request.into);
  const FrameIndex& index = file.log->index;
  const std::uint64_t end = request.offset + request.into.size();
  if (end > index.end()) return Unproven(index.end());
  for (std::size_t i = index.Find(request.offset); i < index.size() && index[i].file_offset < end; ++i) {
    const Piece& piece = index[i];
    const std::uint64_t from = std::max(request.offset, piece.file_offset);
    const ByteSpan into = request.into.subspan(from - request.offset, std::min(end, piece.end()) - from);
    ZENFS_RETURN_IF_ERROR(piece.sequence == 0 ? ReadExtentBytes(device, file.shown->extents, from, into)
                                              : ReadFrameBytes(device, live, file, piece, from, into));
  }
  return {};
}

}  // namespace

Status ReadDeleted(ZonedDevice& device, const LiveState& live, const LiveFile& file,
                   std::span<ReadRequest> requests) {
  for (const ReadRequest& request : requests) ZENFS_RETURN_IF_ERROR(ReadOne(device, live, file, request));
  return {};
}

}  // namespace zenfs
