#include "wal/frame_read.h"

#include <fmt/format.h>

#include <optional>

#include "format/frame.h"

namespace zenfs {

Status ReadFrame(ZonedDevice& device, const LogZones& zones, std::uint64_t owner, const Piece& piece,
                 AlignedBuffer& buffer) {
  const Geometry& geometry = device.geometry();
  const ZoneId zone = geometry.ZoneOf(piece.place);
  const std::optional<FrameSeed> seed = zones.SeedOf(zone);
  if (!seed) return Fail(Code::kCorruption, fmt::format("zone {} is not a log zone", zone.value));
  buffer.Resize(piece.frame_bytes);
  ZENFS_RETURN_IF_ERROR(device.Read(DeviceOffset(piece.place.value - kFrameHeaderBytes), buffer.Span()));
  const ParsedFrame frame = ParseFrame(buffer.View(), *seed, geometry.block_size, piece.frame_bytes);
  const FrameHeader& header = frame.header;
  if (!frame.valid() || header.kind != FrameKind::kLogData || header.owner != owner ||
      header.sequence != piece.sequence || header.file_offset != piece.file_offset ||
      header.payload_bytes != piece.length) {
    return Fail(Code::kCorruption, fmt::format("frame {} of file {} is missing or damaged in log zone {}",
                                               piece.sequence, owner, zone.value));
  }
  buffer.Resize(kFrameHeaderBytes + piece.length);
  return {};
}

}  // namespace zenfs
