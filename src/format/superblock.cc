#include "format/superblock.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstring>
#include <optional>
#include <vector>

#include "base/crc32c.h"

namespace zenfs {
namespace {

// The layout on the medium; all integers are little-endian. In every later version, magic, crc,
// version and the length stay at these offsets.
struct Layout {
  std::uint64_t magic;
  std::uint32_t crc;  // CRC32C over everything after it, to the end of the 4096 bytes
  std::uint32_t version;
  std::uint8_t uuid[16];
  std::uint64_t compatible;
  std::uint64_t read_only_compatible;
  std::uint64_t incompatible;
  std::uint64_t created_seconds;
  std::uint64_t zone_size;
  std::uint32_t block_size;
  std::uint32_t zone_count;
  std::uint32_t finish_threshold_percent;
  std::uint32_t metadata_zone_count;
  char label[kMaxLabelBytes + 1];
  char made_by[kMaxMadeByBytes + 1];
  std::uint8_t seed[16];
  std::uint32_t log_zones;
  std::uint32_t first_log_zone;
  std::uint8_t aux_secret[16];
  std::uint32_t metadata_zones[kMaxMetadataZones];
  char aux_path[kMaxAuxPathBytes + 1];
  char peer[kMaxPeerBytes + 1];
  std::uint8_t rest[2048];
};
static_assert(sizeof(Layout) == kSuperblockBytes);
static_assert(offsetof(Layout, crc) == 8);
static_assert(offsetof(Layout, version) == 12);
static_assert(offsetof(Layout, uuid) == 16);
static_assert(offsetof(Layout, compatible) == 32);
static_assert(offsetof(Layout, created_seconds) == 56);
static_assert(offsetof(Layout, zone_size) == 64);
static_assert(offsetof(Layout, block_size) == 72);
static_assert(offsetof(Layout, metadata_zone_count) == 84);
static_assert(offsetof(Layout, label) == 88);
static_assert(offsetof(Layout, made_by) == 152);
static_assert(offsetof(Layout, seed) == 216);
static_assert(offsetof(Layout, log_zones) == 232);
static_assert(offsetof(Layout, aux_secret) == 240);
static_assert(offsetof(Layout, metadata_zones) == 256);
static_assert(offsetof(Layout, aux_path) == 512);
static_assert(offsetof(Layout, peer) == 1536);
static_assert(offsetof(Layout, rest) == 2048);

std::uint32_t CrcOf(const Layout& layout) {
  return Crc32c(std::as_bytes(std::span(&layout, 1)).subspan(offsetof(Layout, version)));
}

// The older ZenFS: a log record (crc, length) whose payload of 512 bytes begins with this magic.
constexpr std::uint32_t kLegacyMagic = 0x5a454e46;
constexpr std::uint32_t kLegacyLength = 512;
constexpr std::size_t kLegacyLengthAt = 4;
constexpr std::size_t kLegacyMagicAt = 8;
constexpr std::size_t kLegacyVersionAt = 8 + 45;

std::uint32_t Fixed32(ByteView bytes, std::size_t at) {
  std::uint32_t value = 0;
  std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}

std::optional<std::uint32_t> LegacyVersion(ByteView bytes) {
  if (bytes.size() < kLegacyVersionAt + sizeof(std::uint32_t)) return std::nullopt;
  if (Fixed32(bytes, kLegacyMagicAt) != kLegacyMagic || Fixed32(bytes, kLegacyLengthAt) != kLegacyLength) {
    return std::nullopt;
  }
  return Fixed32(bytes, kLegacyVersionAt);
}

template <std::size_t N>
void PutText(char (&to)[N], const std::string& text) {
  std::memcpy(to, text.data(), std::min(text.size(), N - 1));
}

// The text up to the first NUL; nothing without a NUL.
template <std::size_t N>
std::optional<std::string> TakeText(const char (&from)[N]) {
  const void* end = std::memchr(from, 0, N);
  if (end == nullptr) return std::nullopt;
  return std::string(from, static_cast<const char*>(end));
}

std::string BitList(std::uint64_t bits) {
  std::string text;
  for (int bit = 0; bit < 64; ++bit) {
    if ((bits >> bit & 1) != 0) text += fmt::format("{}{}", text.empty() ? "" : ", ", bit);
  }
  return text;
}

Status CheckAuxPath(const std::string& path) {
  if (path.size() > kMaxAuxPathBytes) {
    return Fail(
        Code::kInvalidArgument,
        fmt::format("superblock: the path of the aux directory is longer than {} bytes", kMaxAuxPathBytes));
  }
  if (!path.empty() && (path.front() != '/' || path.find('\0') != std::string::npos)) {
    return Fail(Code::kInvalidArgument,
                fmt::format("superblock: the path of the aux directory, {}, is not absolute", path));
  }
  return {};
}

// The two devices of a volume name each other, and metadata is never in the zones of logs.
Status CheckPeer(const Superblock& s) {
  const bool two = s.has_log_device() || s.is_log_device();
  if (s.peer.size() > kMaxPeerBytes || s.peer.find('\0') != std::string::npos) {
    return Fail(
        Code::kInvalidArgument,
        fmt::format("superblock: the name of the other device is longer than {} bytes", kMaxPeerBytes));
  }
  if (two == (s.log_zones != 0) && two == !s.peer.empty() && !(s.has_log_device() && s.is_log_device()) &&
      (two || s.first_log_zone.value == 0) && s.log_zones < std::max(s.zone_count, std::uint32_t{1})) {
    return {};
  }
  return Fail(Code::kInvalidArgument,
              fmt::format("superblock: {} log zones from zone {} on a second device \"{}\" contradict its "
                          "features {}",
                          s.log_zones, s.first_log_zone.value, s.peer, BitList(s.incompatible)));
}

Status CheckZones(const Superblock& s) {
  const auto& zones = s.metadata_zones;
  const std::uint32_t end = s.has_log_device()  ? s.zone_count - s.log_zones
                            : s.is_log_device() ? s.first_log_zone.value
                                                : s.zone_count;
  if (zones.empty() || zones.size() > kMaxMetadataZones) {
    return Fail(Code::kInvalidArgument, fmt::format("superblock: {} metadata zones, 1 to {} are possible",
                                                    zones.size(), kMaxMetadataZones));
  }
  for (std::size_t i = 0; i < zones.size(); ++i) {
    if (zones[i].value >= end || (i > 0 && zones[i] <= zones[i - 1])) {
      return Fail(
          Code::kInvalidArgument,
          fmt::format("superblock: metadata zone {} is beyond the {} zones of the device or out of order",
                      zones[i].value, end));
    }
  }
  return {};
}

// The layout of a valid superblock of a version and with features that this program knows. Errors: those of DecodeSuperblock.
Result<Layout> ReadLayout(ByteView bytes) {
  if (const auto legacy = LegacyVersion(bytes)) {
    return Fail(Code::kNotSupported, fmt::format("a volume of the older ZenFS, format {}, which is only read "
                                                 "here; zenfs upgrade takes it over in place; to move it: "
                                                 "zenfs backup, then zenfs mkfs --force and zenfs restore",
                                                 *legacy));
  }
  std::uint64_t magic = 0;
  if (bytes.size() >= sizeof magic) std::memcpy(&magic, bytes.data(), sizeof magic);
  // A foreign block is this similar by chance once in 2^57, and then its CRC does not match.
  if (std::popcount(magic ^ kSuperblockMagic) > 1) return Fail(Code::kNotFound, "no ZenFS superblock");
  if (bytes.size() < kSuperblockBytes) return Fail(Code::kCorruption, "the superblock is cut short");
  Layout layout;
  std::memcpy(&layout, bytes.data(), sizeof layout);
  if (CrcOf(layout) != layout.crc) {
    return Fail(Code::kCorruption, "the superblock is damaged (its CRC does not match)");
  }
  if (magic != kSuperblockMagic) {
    return Fail(Code::kCorruption, "the superblock is damaged (a bit of its magic is flipped)");
  }
  if (layout.version != kFormatVersion) {
    return Fail(Code::kNotSupported,
                fmt::format("unknown format version {}; this program knows {}: use a newer one",
                            layout.version, kFormatVersion));
  }
  if (const std::uint64_t unknown = layout.incompatible & ~kKnownIncompatible; unknown != 0) {
    return Fail(
        Code::kNotSupported,
        fmt::format(
            "the volume uses incompatible feature bits {} that this program does not know: use a newer one",
            BitList(unknown)));
  }
  return layout;
}

constexpr std::size_t kSuperblockCrcAt = offsetof(Layout, crc);
constexpr std::size_t kSuperblockCoveredAt =
    offsetof(Layout, version);                        // protected by the CRC, from there to the end
constexpr std::uint32_t kCrcPolynomial = 0x82f63b78;  // of CRC-32C, its lowest power first

// Returns the bit of a superblock whose flip changes the CRC by `difference`.
//
// A CRC is linear: the change by a flipped bit depends only on the number of bits after it. The
// last bit changes the CRC by the polynomial, and each earlier bit by one more step of the
// division.
std::optional<std::size_t> FlippedBit(std::uint32_t difference) {
  if (std::has_single_bit(difference))
    return kSuperblockCrcAt * 8 + static_cast<unsigned>(std::countr_zero(difference));
  std::uint32_t change = kCrcPolynomial;
  for (std::size_t bit = kSuperblockBytes * 8; bit-- > kSuperblockCoveredAt * 8;) {
    if (change == difference) return bit;
    change = (change >> 1) ^ ((change & 1) != 0 ? kCrcPolynomial : 0);
  }
  return std::nullopt;
}

std::optional<Superblock> Decoded(ByteView block) {
  auto superblock = DecodeSuperblock(block);
  if (!superblock) return std::nullopt;
  return *std::move(superblock);
}

}  // namespace

Status CheckSuperblock(const Superblock& s) {
  if (!std::has_single_bit(s.block_size) || s.block_size < 512 || s.block_size > 65536) {
    return Fail(
        Code::kInvalidArgument,
        fmt::format("superblock: block size {} is not a power of two from 512 to 65536", s.block_size));
  }
  if (s.zone_size == 0 || !IsMultiple(s.zone_size, s.block_size)) {
    return Fail(Code::kInvalidArgument,
                fmt::format("superblock: zone size {} is not a multiple of the block size {}", s.zone_size,
                            s.block_size));
  }
  if (s.finish_threshold_percent > 100) {
    return Fail(Code::kInvalidArgument,
                fmt::format("superblock: finish threshold {} % is above 100", s.finish_threshold_percent));
  }
  if (s.label.size() > kMaxLabelBytes || s.made_by.size() > kMaxMadeByBytes ||
      s.label.find('\0') != std::string::npos || s.made_by.find('\0') != std::string::npos) {
    return Fail(Code::kInvalidArgument,
                fmt::format("superblock: the label or version text is longer than {} bytes", kMaxLabelBytes));
  }
  ZENFS_RETURN_IF_ERROR(CheckAuxPath(s.aux_path));
  ZENFS_RETURN_IF_ERROR(CheckPeer(s));
  return CheckZones(s);
}

std::string EncodeSuperblock(const Superblock& s) {
  Layout layout{};
  layout.magic = kSuperblockMagic;
  layout.version = kFormatVersion;
  std::memcpy(layout.aux_secret, s.aux_secret.bytes.data(), sizeof layout.aux_secret);
  std::memcpy(layout.uuid, s.uuid.bytes.data(), sizeof layout.uuid);
  std::memcpy(layout.seed, s.seed.bytes.data(), sizeof layout.seed);
  layout.compatible = s.compatible;
  layout.read_only_compatible = s.read_only_compatible;
  layout.incompatible = s.incompatible;
  layout.created_seconds = s.created_seconds;
  layout.zone_size = s.zone_size;
  layout.block_size = s.block_size;
  layout.zone_count = s.zone_count;
  layout.finish_threshold_percent = s.finish_threshold_percent;
  layout.metadata_zone_count =
      static_cast<std::uint32_t>(std::min(s.metadata_zones.size(), kMaxMetadataZones));
  PutText(layout.label, s.label);
  PutText(layout.made_by, s.made_by);
  PutText(layout.aux_path, s.aux_path);
  PutText(layout.peer, s.peer);
  layout.log_zones = s.log_zones;
  layout.first_log_zone = s.first_log_zone.value;
  for (std::uint32_t i = 0; i < layout.metadata_zone_count; ++i) {
    layout.metadata_zones[i] = s.metadata_zones[i].value;
  }
  layout.crc = CrcOf(layout);
  return std::string(AsText(std::as_bytes(std::span(&layout, 1))));
}

Result<Superblock> DecodeSuperblock(ByteView bytes) {
  ZENFS_ASSIGN_OR_RETURN(const Layout layout, ReadLayout(bytes));
  const auto label = TakeText(layout.label);
  const auto made_by = TakeText(layout.made_by);
  const auto aux_path = TakeText(layout.aux_path);
  const auto peer = TakeText(layout.peer);
  if (!label || !made_by || !aux_path || !peer || layout.metadata_zone_count > kMaxMetadataZones) {
    return Fail(Code::kCorruption, "the superblock contradicts itself");
  }
  Superblock s;
  std::memcpy(s.uuid.bytes.data(), layout.uuid, sizeof layout.uuid);
  std::memcpy(s.seed.bytes.data(), layout.seed, sizeof layout.seed);
  std::memcpy(s.aux_secret.bytes.data(), layout.aux_secret, sizeof layout.aux_secret);
  s.label = *label;
  s.created_seconds = layout.created_seconds;
  s.block_size = layout.block_size;
  s.zone_size = layout.zone_size;
  s.zone_count = layout.zone_count;
  s.compatible = layout.compatible;
  s.read_only_compatible = layout.read_only_compatible;
  s.incompatible = layout.incompatible;
  s.finish_threshold_percent = layout.finish_threshold_percent;
  s.made_by = *made_by;
  s.aux_path = *aux_path;
  s.peer = *peer;
  s.log_zones = layout.log_zones;
  s.first_log_zone = ZoneId(layout.first_log_zone);
  for (std::uint32_t i = 0; i < layout.metadata_zone_count; ++i) {
    s.metadata_zones.push_back(ZoneId(layout.metadata_zones[i]));
  }
  if (Status fits = CheckSuperblock(s); !fits.ok()) return Fail(Code::kCorruption, fits.error().text());
  return s;
}

Status MakeClone(ByteSpan bytes, const Uuid& uuid) {
  ZENFS_RETURN_IF_ERROR(DecodeSuperblock(bytes));
  Layout layout;
  std::memcpy(&layout, bytes.data(), sizeof layout);
  std::memcpy(layout.uuid, uuid.bytes.data(), sizeof layout.uuid);
  std::ranges::fill(layout.aux_path, '\0');
  std::ranges::fill(layout.aux_secret, std::uint8_t{0});
  layout.crc = CrcOf(layout);
  std::memcpy(bytes.data(), &layout, sizeof layout);
  return {};
}

Status CheckWritable(const Superblock& superblock) {
  const std::uint64_t unknown = superblock.read_only_compatible & ~kKnownReadOnlyCompatible;
  if (unknown == 0) return {};
  return Fail(
      Code::kReadOnly,
      fmt::format("the volume uses feature bits {} that this program can read but not write: mount it "
                  "read-only or use a newer one",
                  BitList(unknown)));
}

std::optional<Superblock> CorrectSuperblock(ByteView bytes) {
  if (bytes.size() < kSuperblockBytes) return std::nullopt;
  std::vector<std::byte> block(bytes.begin(), bytes.begin() + kSuperblockBytes);
  const auto damaged = DecodeSuperblock(block);
  if (damaged || damaged.error().code() != Code::kCorruption) return std::nullopt;
  std::uint64_t magic = 0;  // no CRC covers it
  std::memcpy(&magic, block.data(), sizeof magic);
  if (magic != kSuperblockMagic) {
    std::memcpy(block.data(), &kSuperblockMagic, sizeof kSuperblockMagic);
    return Decoded(block);
  }
  std::uint32_t stored = 0;
  std::memcpy(&stored, block.data() + kSuperblockCrcAt, sizeof stored);
  const std::uint32_t found = Crc32c(ByteView(block).subspan(kSuperblockCoveredAt));
  const std::optional<std::size_t> bit = FlippedBit(stored ^ found);
  if (!bit) return std::nullopt;
  block[*bit / 8] ^= static_cast<std::byte>(1u << (*bit % 8));
  return Decoded(block);
}

}  // namespace zenfs
