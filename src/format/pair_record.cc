#include "format/pair_record.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <tuple>

#include "base/crc32c.h"
#include "model/state.h"

namespace zenfs {
namespace {

constexpr std::uint64_t kPairMagic = 0x524941505346455a;  // "ZEFSPAIR" as bytes
constexpr std::uint32_t kSettled = 0;
constexpr std::uint32_t kOffered = 1;

// The layout on the medium; all integers are little-endian.
struct PairRecordLayout {
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
static_assert(sizeof(PairRecordLayout) == kPairRecordBytes);
static_assert(offsetof(PairRecordLayout, crc) == 8);
static_assert(offsetof(PairRecordLayout, epoch) == 16);
static_assert(offsetof(PairRecordLayout, key) == 32);
static_assert(offsetof(PairRecordLayout, boot) == 64);
static_assert(offsetof(PairRecordLayout, main_identity) == 320);
static_assert(offsetof(PairRecordLayout, logs_identity) == 576);
static_assert(offsetof(PairRecordLayout, reserved) == 832);

std::uint32_t PairRecordCrc(const PairRecordLayout& layout, const Uuid& volume) {
  return Crc32c(std::as_bytes(std::span(&layout, 1)).subspan(offsetof(PairRecordLayout, state)),
                Crc32c(std::as_bytes(std::span(volume.bytes))));
}

void PutIdentity(char (&to)[kPairIdentityBytesMax + 1], const std::string& text) {
  if (text.size() <= kPairIdentityBytesMax) std::memcpy(to, text.data(), text.size());
}

std::string TakeIdentity(const char (&from)[kPairIdentityBytesMax + 1]) {
  return std::string(from, ::strnlen(from, kPairIdentityBytesMax));
}

}  // namespace

bool IsNewer(const PairRecord& a, const PairRecord& b) {
  return std::tuple(a.epoch, a.sequence) > std::tuple(b.epoch, b.sequence);
}

std::string EncodePairRecord(const PairRecord& record, const Uuid& volume) {
  PairRecordLayout layout{};
  layout.magic = kPairMagic;
  layout.state = record.offered ? kOffered : kSettled;
  layout.epoch = record.epoch;
  layout.sequence = record.sequence;
  std::memcpy(layout.key, record.key.bytes.data(), sizeof layout.key);
  std::memcpy(layout.previous, record.previous.bytes.data(), sizeof layout.previous);
  PutIdentity(layout.boot, record.boot);
  PutIdentity(layout.main_identity, record.main_identity);
  PutIdentity(layout.logs_identity, record.logs_identity);
  layout.crc = PairRecordCrc(layout, volume);
  return std::string(AsText(std::as_bytes(std::span(&layout, 1))));
}

std::optional<PairRecord> DecodePairRecord(ByteView bytes, const Uuid& volume) {
  PairRecordLayout layout;
  if (bytes.size() < sizeof layout) return std::nullopt;
  std::memcpy(&layout, bytes.data(), sizeof layout);
  if (layout.magic != kPairMagic || layout.crc != PairRecordCrc(layout, volume) || layout.state > kOffered) {
    return std::nullopt;
  }
  PairRecord record{.epoch = layout.epoch,
                    .sequence = layout.sequence,
                    .offered = layout.state == kOffered,
                    .key = {},
                    .previous = {},
                    .boot = TakeIdentity(layout.boot),
                    .main_identity = TakeIdentity(layout.main_identity),
                    .logs_identity = TakeIdentity(layout.logs_identity)};
  std::memcpy(record.key.bytes.data(), layout.key, sizeof layout.key);
  std::memcpy(record.previous.bytes.data(), layout.previous, sizeof layout.previous);
  // No writer reaches such numbers, and one that counted on from there would not be believed.
  if (record.key.IsNil() || std::max(record.epoch, record.sequence) >= kStateNumbersStart)
    return std::nullopt;
  return record;
}

}  // namespace zenfs
