#include "wal/piece_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "base/aligned_buffer.h"

namespace zenfs {
namespace {

constexpr std::uint64_t kSpanBytesMax = 1 << 20;
constexpr std::uint64_t kGapBytesMax = 16 << 10;

}  // namespace

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

}  // namespace zenfs
