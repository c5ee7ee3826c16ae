#include "format/frame.h"

#include <algorithm>
#include <cstring>

#include "base/crc32c.h"

namespace zenfs {
namespace {

constexpr std::size_t kCrcCoversFrom = offsetof(FrameHeader, kind);

bool IsKnownKind(FrameKind kind) { return kind >= FrameKind::kLogHeader && kind <= FrameKind::kSwitchBegin; }

// Header lengths come from the medium: they are checked here before any use.
bool IsPlausible(const FrameHeader& header, std::uint32_t block_size) {
  const bool own_block = header.header_bytes == block_size && block_size <= kMaxFrameHeaderBytes;
  return IsKnownKind(header.kind) && (header.header_bytes == kFrameHeaderBytes || own_block) &&
         header.payload_bytes <= kMaxFramePayload && header.reserved == 0;
}

constexpr std::uint64_t kCycle = 32767;  // number of codes for one unit
// Less than half of the cycle, because the anchors of writer and reader may differ by some seconds.
constexpr std::uint64_t kFarthest = 16000;
constexpr std::uint16_t kCoarse = 0x8000;
constexpr std::uint64_t kCoarseSeconds = 64;

std::uint64_t Distance(std::uint64_t a, std::uint64_t b) { return a < b ? b - a : a - b; }

std::uint16_t CodeOf(std::uint64_t units) { return static_cast<std::uint16_t>(1 + units % kCycle); }

}  // namespace

FrameSeed FrameSeed::Of(const Uuid& volume, ZoneId zone, std::uint64_t generation, std::uint64_t salt) {
  std::byte bytes[sizeof volume.bytes + sizeof zone.value + sizeof generation + sizeof salt];
  std::byte* at = bytes;
  const auto put = [&at](const void* from, std::size_t n) {
    std::memcpy(at, from, n);
    at += n;
  };
  put(volume.bytes.data(), sizeof volume.bytes);
  put(&zone.value, sizeof zone.value);
  put(&generation, sizeof generation);
  put(&salt, sizeof salt);
  return FrameSeed{Crc32c(bytes)};
}

void SealFrameHead(ByteSpan head, FrameHeader header, FrameSeed seed, ByteView payload) {
  header.magic = kFrameMagic;
  header.crc = 0;
  header.payload_bytes = static_cast<std::uint32_t>(payload.size());
  std::memcpy(head.data(), &header, sizeof header);
  std::memset(head.data() + sizeof header, 0, header.header_bytes - sizeof header);
  const std::uint32_t crc_of_head =
      Crc32c(ByteView(head).subspan(kCrcCoversFrom, header.header_bytes - kCrcCoversFrom), seed.value);
  const std::uint32_t crc = Crc32c(payload, crc_of_head);
  std::memcpy(head.data() + offsetof(FrameHeader, crc), &crc, sizeof crc);
}

void SealFrame(ByteSpan frame, FrameHeader header, FrameSeed seed) {
  SealFrameHead(frame.first(header.header_bytes), header, seed,
                frame.subspan(header.header_bytes, header.payload_bytes));
}

ParsedFrame ParseFrame(ByteView bytes, FrameSeed seed, std::uint32_t block_size, std::uint64_t limit) {
  ParsedFrame parsed;
  if (bytes.size() < kFrameHeaderBytes) {
    const bool can_grow = limit >= kFrameHeaderBytes && limit > bytes.size();
    parsed.verdict = can_grow ? FrameVerdict::kTooShort : FrameVerdict::kNotAFrame;
    parsed.needed = can_grow ? kFrameHeaderBytes : 0;
    return parsed;
  }
  std::memcpy(&parsed.header, bytes.data(), sizeof parsed.header);
  if (parsed.header.magic != kFrameMagic) return parsed;
  parsed.verdict = FrameVerdict::kDamaged;
  if (!IsPlausible(parsed.header, block_size)) return parsed;
  const std::uint64_t length = std::uint64_t{parsed.header.header_bytes} + parsed.header.payload_bytes;
  if (length > limit) return parsed;
  if (length > bytes.size()) {
    parsed.verdict = FrameVerdict::kTooShort;
    parsed.needed = length;
    return parsed;
  }
  const std::uint32_t crc = Crc32c(bytes.subspan(kCrcCoversFrom, length - kCrcCoversFrom), seed.value);
  if (crc != parsed.header.crc) return parsed;
  parsed.verdict = FrameVerdict::kValid;
  parsed.payload = bytes.subspan(parsed.header.header_bytes, parsed.header.payload_bytes);
  return parsed;
}

ParsedFrame ScanFrame(FrameSeed seed, std::uint32_t block_size, std::uint64_t limit,
                      const std::function<ByteView(std::uint64_t)>& bytes_here,
                      const std::function<KnownCrc(std::uint64_t)>& crc_behind) {
  ByteView bytes = bytes_here(block_size);
  bytes = bytes.first(std::min<std::size_t>(bytes.size(), block_size));
  ParsedFrame frame = ParseFrame(bytes, seed, block_size, limit);
  if (frame.verdict == FrameVerdict::kTooShort && frame.needed > block_size && bytes.size() == block_size) {
    const std::uint64_t behind = frame.needed - block_size;
    if (const KnownCrc crc = crc_behind(behind)) {
      const std::uint32_t first_block = Crc32c(bytes.subspan(kCrcCoversFrom), seed.value);
      const bool matches = Crc32cWhole(first_block, *crc, behind) == frame.header.crc;
      frame.verdict = matches ? FrameVerdict::kValid : FrameVerdict::kDamaged;
    } else {
      frame = ParseFrame(bytes_here(frame.needed), seed, block_size, limit);
    }
  }
  if (frame.verdict != FrameVerdict::kTooShort) frame.needed = 0;
  frame.payload = {};
  return frame;
}

std::uint16_t EncodeFrameTime(std::uint64_t seconds, std::uint64_t anchor) {
  if (Distance(seconds, anchor) <= kFarthest) return CodeOf(seconds);
  const std::uint64_t units = seconds / kCoarseSeconds;
  if (Distance(units, anchor / kCoarseSeconds) > kFarthest) return 0;
  return kCoarse | CodeOf(units);
}

std::optional<std::uint64_t> DecodeFrameTime(std::uint16_t code, std::uint64_t anchor) {
  const bool coarse = (code & kCoarse) != 0;
  const std::uint64_t residue = code & ~kCoarse;
  if (residue == 0) return std::nullopt;
  const std::uint64_t unit = coarse ? kCoarseSeconds : 1;
  const std::uint64_t near = anchor / unit;
  // Counts from a cycle earlier, so that nothing wraps for an anchor near 0.
  std::uint64_t units = (near / kCycle) * kCycle + residue - 1;
  if (units > near && units - near > kCycle / 2 && units >= kCycle) units -= kCycle;
  if (units < near && near - units > kCycle / 2) units += kCycle;
  return units * unit;
}

}  // namespace zenfs
