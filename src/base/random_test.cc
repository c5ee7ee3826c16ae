#include "base/random.h"

#include <gtest/gtest.h>

#include <set>

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

TEST(Random, SystemSeedsDiffer) { EXPECT_NE(RandomSeed(), RandomSeed()); }

}  // namespace
}  // namespace zenfs
