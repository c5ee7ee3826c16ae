#include "base/assert.h"

#include <gtest/gtest.h>

namespace zenfs {
namespace {

TEST(AssertDeathTest, BrokenInvariantEndsTheProcessAndNamesIt) {
  EXPECT_DEATH(FailAssertion("pool.cc:7: assertion failed: a < b\n"), "pool.cc:7: assertion failed: a < b");
}

TEST(Assert, ConditionIsRunOnlyInBuildsWithAssertions) {
  int runs = 0;
  ZENFS_ASSERT(++runs == 1);
  EXPECT_EQ(runs, ZENFS_ASSERTIONS_RUN);
}

Status Halve(int number) {
  ZENFS_CHECK(number % 2 == 0, "half of an odd number");
  return {};
}

TEST(Check, BrokenInvariantIsAnErrorThatAsksForAReport) {
  EXPECT_TRUE(Halve(2).ok());
  const Status odd = Halve(3);
  ASSERT_FALSE(odd.ok());
  EXPECT_EQ(odd.error().code(), Code::kCorruption);
  EXPECT_EQ(odd.error().ToString(), "half of an odd number; this is a bug in ZenFS, please report it");
}

}  // namespace
}  // namespace zenfs
