#include "wal/frame_read.h"

#include <fmt/format.h>

#include <optional>

namespace zenfs {
namespace {

// Reads the frame in which `piece` lies. Returns its header if it is intact and has the owner and the sequence of the piece;
// then header and payload are left in `buffer`.
Result<std::optional<FrameHeader>> ReadFrameOf(ZonedDevice& device, const FrameSeed& seed,
                                               std::uint64_t owner, const Piece& piece,
                                               DeviceOffset frame_start, AlignedBuffer& buffer) {
  buffer.Resize(piece.frame_bytes);
  ZENFS_RETURN_IF_ERROR(device.Read(frame_start, buffer.Span()));
  const ParsedFrame frame = ParseFrame(buffer.View(), seed, device.geometry().block_size, piece.frame_bytes);
  const FrameHeader& header = frame.header;
  if (!frame.valid() || header.kind != FrameKind::kLogData || header.owner != owner ||
      header.sequence != piece.sequence) {
    return std::nullopt;
  }
  buffer.Resize(header.header_bytes + header.payload_bytes);
  return header;
}

}  // namespace

Status ReadFrame(ZonedDevice& device, const LogZones& zones, std::uint64_t owner, const Piece& piece,
                 AlignedBuffer& buffer) {
  const ZoneId zone = device.geometry().ZoneOf(piece.place);
  const std::optional<FrameSeed> seed = zones.SeedOf(zone);
  if (!seed) return Fail(Code::kCorruption, fmt::format("zone {} is not a log zone", zone.value));
  ZENFS_ASSIGN_OR_RETURN(
      const std::optional<FrameHeader> header,
      ReadFrameOf(device, *seed, owner, piece, DeviceOffset(piece.place.value - kFrameHeaderBytes), buffer));
  if (!header || header->file_offset != piece.file_offset || header->payload_bytes != piece.length) {
    return Fail(Code::kCorruption, fmt::format("frame {} of file {} is missing or damaged in log zone {}",
                                               piece.sequence, owner, zone.value));
  }
  return {};
}

Result<FrameHeader> ReadSyncBlock(ZonedDevice& device, const FrameSeed& seed, FileId owner,
                                  const Piece& piece, AlignedBuffer& buffer) {
  const DeviceOffset at(RoundDown(piece.place.value, device.geometry().block_size));
  ZENFS_ASSIGN_OR_RETURN(const std::optional<FrameHeader> header,
                         ReadFrameOf(device, seed, owner.value, piece, at, buffer));
  if (header && header->file_offset <= piece.file_offset &&
      header->file_offset + header->payload_bytes >= piece.end())
    return *header;
  return Fail(Code::kBusy, fmt::format("frame {} of file {} is no longer in its sync block at byte {}",
                                       piece.sequence, owner.value, at.value));
}

}  // namespace zenfs
