#include "volume/mount/namespace.h"

#include <gtest/gtest.h>

#include <optional>

namespace zenfs {
namespace {

TEST(PathLocksTest, ALockedPathIsBusyInEverySpellingUntilItsLockIsDestroyed) {
  PathLocks locks;
  auto lock = locks.Take("/db/LOCK");
  ASSERT_TRUE(lock);
  const auto again = locks.Take("db//./LOCK");
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().code(), Code::kBusy);
  EXPECT_TRUE(locks.Take("/other/LOCK"));
  lock->reset();
  EXPECT_TRUE(locks.Take("/db/LOCK"));
}

TEST(PathLocksTest, ALockMayOutliveTheSetItCameFrom) {
  std::optional<PathLocks> locks(std::in_place);
  const auto lock = locks->Take("/db/LOCK");
  ASSERT_TRUE(lock);
  locks.reset();
}

}  // namespace
}  // namespace zenfs
