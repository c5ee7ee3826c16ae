#include "file/extent_checksum.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/aligned_buffer.h"
#include "file/extent_list.h"
#include "file/extent_reader.h"

namespace zenfs {
namespace {

constexpr std::uint64_t kReadBytes = 1 << 20;  // for each read

// Returns the checksum of the file bytes [from, to) of `extent`. `seed`: that of the bytes in front of them.
Result<std::uint32_t> SumOf(ZonedDevice& device, const Extent& extent, std::uint64_t from, std::uint64_t to,
                            std::uint32_t seed) {
  if (from == to) return seed;
  AlignedBuffer buffer;
  for (std::uint64_t at = from; at < to;) {
    // Extents that are damaged, or forged, may have terabytes of holes.
    const DeviceOffset place = extent.place + (at - extent.file_offset);
    const bool aligned = IsMultiple(place.value, device.geometry().block_size);
    const std::uint64_t zeros = aligned ? device.KnownZeros(place, to - at) : 0;
    if (zeros >= kReadBytes || zeros == to - at) {
      seed = Crc32cOfZeros(zeros, seed);
      at += zeros;
      continue;
    }
    if (buffer.capacity() == 0)
      buffer = AlignedBuffer(std::min(kReadBytes, RoundUp(to - from, device.geometry().block_size)));
    // The first read ends at a multiple of kReadBytes, so that all further reads are aligned.
    const std::uint64_t end = std::min(RoundDown(at, kReadBytes) + kReadBytes, to);
    buffer.Resize(end - at);
    ZENFS_RETURN_IF_ERROR(ReadExtents(device, std::span(&extent, 1), at, buffer.Span()));
    seed = Crc32c(buffer.View(), seed);
    at = end;
  }
  return seed;
}

}  // namespace

Error ExtentDamage(const ZonedDevice& device, const Extent& extent) {
  const Geometry& geometry = device.geometry();
  const ZoneId zone = geometry.ZoneOf(extent.place);
  return Error(Code::kCorruption,
               fmt::format("{}: zone {} at byte {}: the {} bytes there do not have the checksum with which "
                           "they were written (file bytes {} to {})",
                           device.name(), zone.value, extent.place - geometry.ZoneStart(zone), extent.length,
                           extent.file_offset, extent.end()));
}

Status ReadVerified(ZonedDevice& device, const Extent& extent, std::uint64_t from, ByteSpan into) {
  std::uint32_t sum = 0;
  if (extent.crc) {
    ZENFS_ASSIGN_OR_RETURN(sum, SumOf(device, extent, extent.file_offset, from, 0));
  }
  ZENFS_RETURN_IF_ERROR(ReadExtents(device, std::span(&extent, 1), from, into));
  if (!extent.crc || Crc32c(into, sum) == *extent.crc) return {};
  return Fail(ExtentDamage(device, extent));
}

bool FitsChecksum(ZonedDevice& device, const Extent& extent) {
  if (!extent.crc) return true;
  const Result<std::uint32_t> sum = SumOf(device, extent, extent.file_offset, extent.end(), 0);
  return sum && *sum == *extent.crc;
}

Result<std::optional<Extent>> FrontOfDivided(ZonedDevice& device, std::span<const Extent> extents,
                                             std::uint64_t end) {
  const auto divided = FindExtent(extents, end);
  if (divided == extents.end() || divided->file_offset >= end) return std::nullopt;
  Extent front = *divided;
  front.length = end - front.file_offset;
  front.crc.reset();
  if (!divided->crc) return front;
  if (divided->length > kLongExtent && divided->end() - end > kShortCut) return front;
  ZENFS_ASSIGN_OR_RETURN(front.crc, SumOf(device, *divided, divided->file_offset, end, 0));
  ZENFS_ASSIGN_OR_RETURN(const std::uint32_t whole, SumOf(device, *divided, end, divided->end(), *front.crc));
  if (whole != *divided->crc) return Fail(ExtentDamage(device, *divided));
  return front;
}

}  // namespace zenfs
