#include "format/buffer_area_layout.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

#include "base/coding.h"
#include "base/crc32c.h"
#include "format/edit_codec.h"

namespace zenfs {
namespace {

constexpr std::uint64_t kPage = 4096;
constexpr std::uint32_t kSlotsMax = 4096;
constexpr std::uint64_t kBufferBytesMax = std::uint64_t{16} << 20;
constexpr std::uint64_t kMetricsBytesMax = std::uint64_t{16} << 20;

std::uint32_t HeaderCrc(ByteView page) {
  constexpr std::size_t kCrcAt = offsetof(BufferAreaHeader, crc);
  constexpr std::array<std::byte, sizeof(std::uint32_t)> kZero{};
  const std::uint32_t before = Crc32c(page.first(kCrcAt));
  return Crc32c(page.subspan(kCrcAt + kZero.size()), Crc32c(kZero, before));
}

}  // namespace

std::uint32_t BufferAreaSeed(const Uuid& volume, std::uint64_t epoch, std::uint64_t owner,
                             std::uint64_t file_offset, std::uint64_t record_bytes) {
  const std::uint64_t numbers[] = {epoch, owner, file_offset, record_bytes};
  const std::size_t count = record_bytes == 0 ? 3 : 4;
  return Crc32c(std::as_bytes(std::span(numbers).first(count)),
                Crc32c(std::as_bytes(std::span(volume.bytes))));
}

void LayOutBufferArea(BufferAreaHeader& header, std::uint32_t slots, std::uint64_t buffer_bytes,
                      std::uint64_t metrics_bytes) {
  header.slots = slots;
  header.buffer_bytes = buffer_bytes;
  header.metrics_offset = kBufferAreaHeaderBytes;
  header.metrics_bytes = metrics_bytes;
  header.controls_offset = RoundUp(header.metrics_offset + metrics_bytes, kPage);
  header.buffers_offset = RoundUp(header.controls_offset + slots * sizeof(BufferAreaControl), kPage);
}

void LayOutResets(BufferAreaHeader& header, std::uint64_t& metrics_bytes, std::uint32_t zones) {
  const std::uint64_t at = RoundUp(metrics_bytes, kPage);
  const std::uint64_t bytes = RoundUp(std::uint64_t{zones} * sizeof(std::uint32_t), kPage);
  if (zones == 0 || at + bytes > kMetricsBytesMax) return;
  header.resets_offset = kBufferAreaHeaderBytes + at;
  header.zones = zones;
  metrics_bytes = at + bytes;
}

std::uint64_t BufferAreaBytes(const BufferAreaHeader& header) {
  return header.buffers_offset + header.slots * header.buffer_bytes;
}

void SealBufferAreaHeader(ByteSpan memory, BufferAreaHeader header) {
  std::memcpy(header.magic, kBufferAreaMagic, sizeof(kBufferAreaMagic));
  header.version = kBufferAreaVersion;
  header.crc = 0;
  const ByteSpan page = memory.first(kBufferAreaHeaderBytes);
  std::memset(page.data(), 0, page.size());
  std::memcpy(page.data(), &header, sizeof(header));
  header.crc = HeaderCrc(page);
  std::memcpy(page.data() + offsetof(BufferAreaHeader, crc), &header.crc, sizeof(header.crc));
}

Result<BufferAreaHeader> ReadBufferAreaHeader(ByteView memory) {
  return ReadBufferAreaHeader(memory, memory.size());
}

Result<BufferAreaHeader> ReadBufferAreaHeader(ByteView memory, std::uint64_t file_bytes) {
  BufferAreaHeader header;
  if (memory.size() < kBufferAreaHeaderBytes) return Fail(Code::kCorruption, "is too short for a header");
  std::memcpy(&header, memory.data(), sizeof(header));
  if (std::memcmp(header.magic, kBufferAreaMagic, sizeof(kBufferAreaMagic)) != 0) {
    return Fail(Code::kCorruption, "does not begin like a file of ZenFS's append buffers");
  }
  if (header.version != kBufferAreaVersion) {
    return Fail(Code::kNotSupported,
                fmt::format("has version {}, this program knows version {}: use the zenfs that "
                            "made it",
                            header.version, kBufferAreaVersion));
  }
  if (header.crc != HeaderCrc(memory.first(kBufferAreaHeaderBytes))) {
    return Fail(Code::kCorruption, "has a damaged header");
  }
  BufferAreaHeader expected = header;
  const bool bounded = header.slots <= kSlotsMax && header.buffer_bytes <= kBufferBytesMax &&
                       header.metrics_bytes <= kMetricsBytesMax && header.buffer_bytes % kPage == 0 &&
                       (header.slots == 0 || header.buffer_bytes != 0);
  if (bounded) LayOutBufferArea(expected, header.slots, header.buffer_bytes, header.metrics_bytes);
  if (!bounded || header.metrics_offset != expected.metrics_offset ||
      header.controls_offset != expected.controls_offset ||
      header.buffers_offset != expected.buffers_offset || BufferAreaBytes(header) != file_bytes) {
    return Fail(Code::kCorruption, "has a header that contradicts its size");
  }
  const std::uint64_t resets_end = header.resets_offset + std::uint64_t{header.zones} * sizeof(std::uint32_t);
  if (header.zones != 0 &&
      (header.resets_offset < header.metrics_offset || header.resets_offset > kMetricsBytesMax * 2 ||
       resets_end > header.metrics_offset + header.metrics_bytes)) {
    return Fail(Code::kCorruption, "has a header that contradicts itself");
  }
  header.identity[kBufferAreaIdentityBytes - 1] = '\0';
  return header;
}

std::string EncodeTailRecord(const TailRecord& record) {
  std::string bytes;
  PutFixed(bytes, record.order);
  std::vector<Edit> edits;
  if (record.uncommitted) edits.emplace_back(*record.uncommitted);
  EncodeEdits(edits, bytes);
  return bytes;
}

Result<TailRecord> DecodeTailRecord(ByteView bytes, std::uint64_t extents_max) {
  Decoder decoder(bytes);
  TailRecord record{.order = decoder.Fixed<std::uint64_t>(), .uncommitted = {}};
  if (!decoder.ok()) return Fail(Code::kCorruption, "a tail record that is too short");
  ZENFS_ASSIGN_OR_RETURN(record.uncommitted,
                         DecodeOneSetExtents(bytes.subspan(sizeof(record.order)), extents_max));
  // No writer makes one, and it may be three zeros in a hole of the file.
  if (record.uncommitted && std::ranges::any_of(record.uncommitted->extents,
                                                [](const Extent& extent) { return extent.length == 0; })) {
    return Fail(Code::kCorruption, "a tail record with an extent of 0 bytes");
  }
  return record;
}

}  // namespace zenfs
