#include "format/staging_layout.h"

#include <fmt/format.h>

#include <array>
#include <cstring>

#include "base/coding.h"
#include "base/crc32c.h"

namespace zenfs {
namespace {

constexpr std::uint64_t kPage = 4096;
constexpr std::uint32_t kSlotsMax = 4096;
constexpr std::uint64_t kBufferBytesMax = std::uint64_t{16} << 20;
constexpr std::uint64_t kMetricsBytesMax = std::uint64_t{16} << 20;

std::uint32_t HeaderCrc(ByteView page) {
  constexpr std::size_t kCrcAt = offsetof(StagingHeader, crc);
  constexpr std::array<std::byte, sizeof(std::uint32_t)> kZero{};
  const std::uint32_t before = Crc32c(page.first(kCrcAt));
  return Crc32c(page.subspan(kCrcAt + kZero.size()), Crc32c(kZero, before));
}

}  // namespace

std::uint32_t StagingSeed(const Uuid& volume, std::uint64_t epoch, std::uint64_t owner,
                          std::uint64_t file_offset, std::uint64_t record_bytes) {
  const std::uint64_t numbers[] = {epoch, owner, file_offset, record_bytes};
  const std::size_t count = record_bytes == 0 ? 3 : 4;
  return Crc32c(std::as_bytes(std::span(numbers).first(count)),
                Crc32c(std::as_bytes(std::span(volume.bytes))));
}

void LayOutStaging(StagingHeader& header, std::uint32_t slots, std::uint64_t buffer_bytes,
                   std::uint64_t metrics_bytes) {
  header.slots = slots;
  header.buffer_bytes = buffer_bytes;
  header.metrics_offset = kStagingHeaderBytes;
  header.metrics_bytes = metrics_bytes;
  header.controls_offset = RoundUp(header.metrics_offset + metrics_bytes, kPage);
  header.buffers_offset = RoundUp(header.controls_offset + slots * sizeof(StagingControl), kPage);
}

std::uint64_t StagingBytes(const StagingHeader& header) {
  return header.buffers_offset + header.slots * header.buffer_bytes;
}

void SealStagingHeader(ByteSpan memory, StagingHeader header) {
  std::memcpy(header.magic, kStagingMagic, sizeof(kStagingMagic));
  header.version = kStagingVersion;
  header.crc = 0;
  const ByteSpan page = memory.first(kStagingHeaderBytes);
  std::memset(page.data(), 0, page.size());
  std::memcpy(page.data(), &header, sizeof(header));
  header.crc = HeaderCrc(page);
  std::memcpy(page.data() + offsetof(StagingHeader, crc), &header.crc, sizeof(header.crc));
}

Result<StagingHeader> ReadStagingHeader(ByteView memory) {
  StagingHeader header;
  if (memory.size() < kStagingHeaderBytes) return Fail(Code::kCorruption, "is too short for a header");
  std::memcpy(&header, memory.data(), sizeof(header));
  if (std::memcmp(header.magic, kStagingMagic, sizeof(kStagingMagic)) != 0) {
    return Fail(Code::kCorruption, "does not begin like a file of ZenFS's append buffers");
  }
  if (header.version != kStagingVersion) {
    return Fail(Code::kNotSupported,
                fmt::format("has version {}, this program knows version {}: use the zenfs that "
                            "made it",
                            header.version, kStagingVersion));
  }
  if (header.crc != HeaderCrc(memory.first(kStagingHeaderBytes))) {
    return Fail(Code::kCorruption, "has a damaged header");
  }
  StagingHeader expected = header;
  const bool bounded = header.slots <= kSlotsMax && header.buffer_bytes <= kBufferBytesMax &&
                       header.metrics_bytes <= kMetricsBytesMax && header.buffer_bytes % kPage == 0 &&
                       (header.slots == 0 || header.buffer_bytes != 0);
  if (bounded) LayOutStaging(expected, header.slots, header.buffer_bytes, header.metrics_bytes);
  if (!bounded || header.metrics_offset != expected.metrics_offset ||
      header.controls_offset != expected.controls_offset ||
      header.buffers_offset != expected.buffers_offset || StagingBytes(header) != memory.size()) {
    return Fail(Code::kCorruption, "has a header that contradicts its size");
  }
  header.identity[kStagingIdentityBytes - 1] = '\0';
  return header;
}

}  // namespace zenfs
