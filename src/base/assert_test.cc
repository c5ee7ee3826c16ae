#include "base/assert.h"

#include <gtest/gtest.h>

namespace zenfs {
namespace {

TEST(AssertDeathTest, BrokenInvariantEndsTheProcessAndNamesIt) {
  EXPECT_DEATH(FailAssertion("pool.cc:7: assertion failed: a < b\n"), "pool.cc:7: assertion failed: a < b");
}

TEST(Assert, ConditionIsNotRunInARelease) {
  int runs = 0;
  ZENFS_ASSERT(++runs == 1);
#if defined(NDEBUG) && !defined(ZENFS_ASSERTIONS)
  EXPECT_EQ(runs, 0);
#else
  EXPECT_EQ(runs, 1);
#endif
}

}  // namespace
}  // namespace zenfs
