#include "format/pair_record.h"

#include <cstddef>
#include <cstring>
#include <tuple>

#include "base/crc32c.h"

namespace zenfs {
namespace {

constexpr std::uint64_t kMagic = 0x524941505346455a;  // "ZEFSPAIR" as bytes
constexpr std::uint32_t kSettled = 0;
constexpr std::uint32_t kOffered = 1;

// The layout on the medium; all integers are little-endian.
struct Layout {
  std::uint64_t magic;
  std::uint32_t crc;  // CRC32C over everything after it, seeded with the volume
  std::uint32_t state;
  std::uint64_t epoch;
  std::uint64_t sequence;
  std::uint8_t key[16];
  std::uint8_t previous[16];
  char boot[kPairIdentityBytesMax + 1];
  char main_identity[kPairIdentityBytesMax + 1];
  char logs_identity[kPairIdentityBytesMax + 1];
  std::uint8_t reserved[192];
};
static_assert(sizeof(Layout) == kPairRecordBytes);
static_assert(offsetof(Layout, crc) == 8);
static_assert(offsetof(Layout, epoch) == 16);
static_assert(offsetof(Layout, key) == 32);
static_assert(offsetof(Layout, boot) == 64);
static_assert(offsetof(Layout, main_identity) == 320);
static_assert(offsetof(Layout, logs_identity) == 576);
static_assert(offsetof(Layout, reserved) == 832);

std::uint32_t CrcOf(const Layout& layout, const Uuid& volume) {
  return Crc32c(std::as_bytes(std::span(&layout, 1)).subspan(offsetof(Layout, state)),
                Crc32c(std::as_bytes(std::span(volume.bytes))));
}

void PutText(char (&to)[kPairIdentityBytesMax + 1], const std::string& text) {
  if (text.size() <= kPairIdentityBytesMax) std::memcpy(to, text.data(), text.size());
}

std::string TakeText(const char (&from)[kPairIdentityBytesMax + 1]) {
  return std::string(from, ::strnlen(from, kPairIdentityBytesMax));
}

}  // namespace

bool IsNewer(const PairRecord& a, const PairRecord& b) {
  return std::tuple(a.epoch, a.sequence) > std::tuple(b.epoch, b.sequence);
}

std::string EncodePairRecord(const PairRecord& record, const Uuid& volume) {
  Layout layout{};
  layout.magic = kMagic;
  layout.state = record.offered ? kOffered : kSettled;
  layout.epoch = record.epoch;
  layout.sequence = record.sequence;
  std::memcpy(layout.key, record.key.bytes.data(), sizeof layout.key);
  std::memcpy(layout.previous, record.previous.bytes.data(), sizeof layout.previous);
  PutText(layout.boot, record.boot);
  PutText(layout.main_identity, record.main_identity);
  PutText(layout.logs_identity, record.logs_identity);
  layout.crc = CrcOf(layout, volume);
  return std::string(AsText(std::as_bytes(std::span(&layout, 1))));
}

std::optional<PairRecord> DecodePairRecord(ByteView bytes, const Uuid& volume) {
  Layout layout;
  if (bytes.size() < sizeof layout) return std::nullopt;
  std::memcpy(&layout, bytes.data(), sizeof layout);
  if (layout.magic != kMagic || layout.crc != CrcOf(layout, volume) || layout.state > kOffered) {
    return std::nullopt;
  }
  PairRecord record{.epoch = layout.epoch,
                    .sequence = layout.sequence,
                    .offered = layout.state == kOffered,
                    .key = {},
                    .previous = {},
                    .boot = TakeText(layout.boot),
                    .main_identity = TakeText(layout.main_identity),
                    .logs_identity = TakeText(layout.logs_identity)};
  std::memcpy(record.key.bytes.data(), layout.key, sizeof layout.key);
  std::memcpy(record.previous.bytes.data(), layout.previous, sizeof layout.previous);
  if (record.key.IsNil()) return std::nullopt;
  return record;
}

}  // namespace zenfs
