#include "format/superblock_correction.h"

#include <vector>

namespace zenfs {

std::optional<Superblock> CorrectSuperblock(ByteView bytes) {
  if (bytes.size() < kSuperblockBytes) return std::nullopt;
  std::vector<std::byte> block(bytes.begin(), bytes.begin() + kSuperblockBytes);
  const auto damaged = DecodeSuperblock(block);
  if (damaged || damaged.error().code() != Code::kCorruption) return std::nullopt;
  for (std::size_t bit = 0; bit < kSuperblockBytes * 8; ++bit) {
    const auto mask = static_cast<std::byte>(1u << (bit % 8));
    block[bit / 8] ^= mask;
    if (auto corrected = DecodeSuperblock(block)) return *std::move(corrected);
    block[bit / 8] ^= mask;
  }
  return std::nullopt;
}

}  // namespace zenfs
