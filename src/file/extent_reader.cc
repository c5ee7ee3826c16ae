#include "file/extent_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "base/aligned_buffer.h"
#include "file/extent_list.h"
#include "file/read_batch.h"

namespace zenfs {
namespace {

// The blocks of a usual read of RocksDB. A bounce buffer of this size is on the stack.
constexpr std::uint64_t kSmallBounceBytes = 16 << 10;

// Reads the `whole` bytes of blocks that hold the bytes at `place`, and copies these. They may be padded: an extent ends in its last block.
Status ReadBlocksAround(ZonedDevice& device, DeviceOffset place, ByteSpan into, std::uint64_t skip,
                        std::uint64_t whole) {
  alignas(AlignedBuffer::kAlignment) std::array<std::byte, kSmallBounceBytes> memory;
  const ByteSpan blocks = std::span(memory).first(whole);
  ZENFS_RETURN_IF_ERROR(device.Read(DeviceOffset(place.value - skip), blocks));
  std::memcpy(into.data(), blocks.data() + skip, into.size());
  return {};
}

}  // namespace

Error ReadError(const Geometry& geometry, const Error& error, DeviceOffset place, std::uint64_t length,
                std::uint64_t file_offset) {
  return error.With(fmt::format("reading {} bytes at file offset {} from zone {} at device offset {}", length,
                                file_offset, geometry.ZoneOf(place).value, place.value));
}

bool MayReadInPlace(const Geometry& geometry, DeviceOffset place, ByteView into) {
  const std::size_t alignment = std::min<std::size_t>(geometry.block_size, AlignedBuffer::kAlignment);
  return IsMultiple(place.value, geometry.block_size) &&
         IsMultiple(reinterpret_cast<std::uintptr_t>(into.data()), alignment);
}

Status ReadExtents(ZonedDevice& device, std::span<const Extent> extents, std::uint64_t offset, ByteSpan into,
                   ReadSource source) {
  // Nearly all reads lie in one extent, and can be made without a plan and an allocation.
  const auto it = FindExtent(extents, offset);
  if (!into.empty() && it != extents.end() && it->file_offset <= offset &&
      into.size() <= it->end() - offset) {
    const DeviceOffset place = it->place + (offset - it->file_offset);
    const Geometry& geometry = device.geometry();
    if (HostCache* const cache = source == ReadSource::kCache ? device.host_cache() : nullptr) {
      CachedRead read{place, into, {}};
      cache->Read(std::span(&read, 1));
      if (read.status.ok()) return {};
      source = ReadSource::kDevice;
    }
    const std::uint64_t skip = place.value % geometry.block_size;
    const std::uint64_t whole = RoundUp(skip + into.size(), geometry.block_size);
    const bool in_place = whole == into.size() && MayReadInPlace(geometry, place, into);
    if (in_place || whole <= kSmallBounceBytes) {
      const Status read =
          in_place ? device.Read(place, into) : ReadBlocksAround(device, place, into, skip, whole);
      return read.ok() ? Status() : Fail(ReadError(geometry, read.error(), place, into.size(), offset));
    }
  }
  ReadRequest request{offset, into, {}};
  ReadExtentsMany(device, extents, std::span<ReadRequest>(&request, 1), source);
  return std::move(request.status);
}

void ReadExtentsMany(ZonedDevice& device, std::span<const Extent> extents, std::span<ReadRequest> requests,
                     ReadSource source) {
  ReadBatch(device).Read(extents, requests, source);
}

void AdviseExtents(ZonedDevice& device, std::span<const Extent> extents, std::uint64_t offset,
                   std::uint64_t length, CacheAdvice advice) {
  HostCache* const cache = device.host_cache();
  if (cache == nullptr) return;
  ForEachPiece(extents, offset, length,
               [&](DeviceOffset place, std::uint64_t, std::uint64_t n) { cache->Advise(place, n, advice); });
}

}  // namespace zenfs
