#include "wal/sync_block.h"

#include <fmt/format.h>

namespace zenfs {

Result<FrameHeader> ReadSyncBlock(ZonedDevice& device, const FrameSeed& seed, FileId owner,
                                  const Piece& piece, AlignedBuffer& block) {
  const std::uint32_t size = device.geometry().block_size;
  const DeviceOffset at(RoundDown(piece.place.value, size));
  block.Resize(size);
  ZENFS_RETURN_IF_ERROR(device.Read(at, block.Span()));
  const ParsedFrame frame = ParseFrame(block.View(), seed, size, size);
  const FrameHeader& header = frame.header;
  if (!frame.valid() || header.kind != FrameKind::kLogData || header.owner != owner.value ||
      header.sequence != piece.sequence || header.file_offset > piece.file_offset ||
      header.file_offset + header.payload_bytes < piece.end()) {
    return Fail(Code::kBusy, fmt::format("frame {} of file {} is no longer in its sync block at byte {}",
                                         piece.sequence, owner.value, at.value));
  }
  block.Resize(header.header_bytes + header.payload_bytes);
  return header;
}

}  // namespace zenfs
