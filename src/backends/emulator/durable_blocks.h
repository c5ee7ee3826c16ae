// The blocks of a zone that survive a power loss of a device with a volatile cache: all below `prefix`, and in a random
// write area some of those behind it.
#pragma once

#include <bit>
#include <cstdint>

namespace zenfs {

// A set of blocks among the 64 from some block on: bit `block % 64` stands for `block`. Whoever moves the first block must
// remove the blocks that he passes, since their bits then stand for others.
using BlockSet = std::uint64_t;
inline constexpr std::uint64_t kBlockSetSize = 64;

constexpr BlockSet BitOf(std::uint64_t block) { return BlockSet{1} << (block % kBlockSetSize); }

// The blocks of `set`, which begins at `from`, that are not below `to`.
constexpr BlockSet WithoutBelow(BlockSet set, std::uint64_t from, std::uint64_t to) {
  if (to - from >= kBlockSetSize) return 0;
  for (; from < to; ++from) set &= ~BitOf(from);
  return set;
}

struct DurableBlocks {
  std::uint64_t prefix = 0;  // blocks from the start of the zone
  BlockSet area = 0;         // from `prefix` on

  constexpr bool Contains(std::uint64_t block) const {
    return block < prefix || (block - prefix < kBlockSetSize && (area & BitOf(block)) != 0);
  }
  // The end of the last durable block.
  constexpr std::uint64_t end() const {
    if (area == 0) return prefix;
    return prefix + kBlockSetSize -
           static_cast<std::uint64_t>(
               std::countl_zero(std::rotr(area, static_cast<int>(prefix % kBlockSetSize))));
  }
  friend bool operator==(const DurableBlocks&, const DurableBlocks&) = default;
};

static_assert(DurableBlocks{3, BitOf(5)}.Contains(2) && !DurableBlocks{3, BitOf(5)}.Contains(3));
static_assert(DurableBlocks{3, BitOf(5)}.Contains(5) && !DurableBlocks{3, BitOf(5)}.Contains(69));
static_assert(DurableBlocks{3, BitOf(5)}.end() == 6 && DurableBlocks{60, BitOf(66)}.end() == 67);
static_assert(WithoutBelow(BitOf(66) | BitOf(70), 60, 67) == BitOf(70));

}  // namespace zenfs
