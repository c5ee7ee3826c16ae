#include "format/superblock_correction.h"

#include <bit>
#include <cstring>
#include <vector>

#include "base/crc32c.h"

namespace zenfs {
namespace {

constexpr std::size_t kSuperblockCrcAt = 8;
constexpr std::size_t kSuperblockCoveredAt =
    kSuperblockCrcAt + sizeof(std::uint32_t);         // protected by the CRC, from there to the end
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
