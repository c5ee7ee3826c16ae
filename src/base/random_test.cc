#include "base/random.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <set>
#include <span>
#include <vector>

namespace zenfs {
namespace {

TEST(Random, SeedGivesTheSameNumbersAgain) {
  Random a(42);
  Random b(42);
  Random c(43);
  bool differs = false;
  for (int i = 0; i < 100; ++i) {
    const std::uint64_t value = a.Next();
    EXPECT_EQ(value, b.Next());
    differs |= value != c.Next();
  }
  EXPECT_TRUE(differs);
}

TEST(Random, BelowReachesEveryValueAndNoOther) {
  Random random(1);
  std::set<std::uint64_t> seen;
  for (int i = 0; i < 1000; ++i) seen.insert(random.Below(7));
  EXPECT_EQ(seen.size(), 7u);
  EXPECT_EQ(*seen.rbegin(), 6u);
}

TEST(Random, FillReachesEveryByteAndNoOther) {
  for (std::size_t size = 0; size < 40; ++size) {
    std::vector<std::byte> bytes(size + 1);
    std::vector<bool> seen(size);
    Random random(size);
    for (int i = 0; i < 10; ++i) {
      random.Fill(std::span(bytes).first(size));
      for (std::size_t at = 0; at < size; ++at) seen[at] = seen[at] || bytes[at] != std::byte{0};
    }
    EXPECT_EQ(std::ranges::count(seen, false), 0) << size;
    EXPECT_EQ(bytes[size], std::byte{0}) << size;
  }
}

TEST(Random, SystemSeedsDiffer) { EXPECT_NE(RandomSeed(), RandomSeed()); }

}  // namespace
}  // namespace zenfs
