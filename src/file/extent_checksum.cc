#include "file/extent_checksum.h"

#include <algorithm>

#include "base/aligned_buffer.h"
#include "file/extent_list.h"
#include "file/extent_reader.h"

namespace zenfs {
namespace {

constexpr std::uint64_t kReadBytes = 256 << 10;  // for each read

// Returns the checksum of the bytes of `extent` from file offset `from` on, or none if a read fails.
KnownCrc CrcFrom(ZonedDevice& device, const Extent& extent, std::uint64_t from) {
  AlignedBuffer buffer(kReadBytes);
  std::uint32_t crc = 0;
  for (std::uint64_t at = from; at < extent.end(); at += buffer.size()) {
    // The first read ends at a multiple of kReadBytes, so that all further reads are aligned.
    buffer.Resize(std::min(RoundDown(at, kReadBytes) + kReadBytes, extent.end()) - at);
    if (!ReadExtents(device, std::span(&extent, 1), at, buffer.Span()).ok()) return std::nullopt;
    crc = Crc32c(buffer.View(), crc);
  }
  return crc;
}

}  // namespace

KnownCrc CrcOfFront(ZonedDevice& device, const Extent& extent, std::uint64_t length) {
  if (!extent.crc || length == extent.length) return extent.crc;
  const std::uint64_t gone = extent.length - length;
  if (gone > kReadForCutMax) return std::nullopt;
  const KnownCrc gone_crc = CrcFrom(device, extent, extent.file_offset + length);
  return gone_crc ? Crc32cFront(*extent.crc, *gone_crc, gone) : KnownCrc();
}

bool FitsChecksum(ZonedDevice& device, const Extent& extent) {
  return !extent.crc || CrcFrom(device, extent, extent.file_offset) == extent.crc;
}

std::optional<Extent> FrontOfDivided(ZonedDevice& device, std::span<const Extent> extents,
                                     std::uint64_t end) {
  const auto divided = FindExtent(extents, end);
  if (divided == extents.end() || divided->file_offset >= end) return std::nullopt;
  Extent front = *divided;
  front.length = end - front.file_offset;
  front.crc = CrcOfFront(device, *divided, front.length);
  return front;
}

}  // namespace zenfs
