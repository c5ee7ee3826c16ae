#include "base/lock_order.h"

#include <gtest/gtest.h>

#include "base/mutex.h"
#include "base/thread.h"

namespace zenfs {
namespace {

class LockOrderTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!ZENFS_ASSERTIONS_RUN) GTEST_SKIP() << "NOT RUN: this build has no assertions; the asan build has";
  }
};
using LockOrderDeathTest = LockOrderTest;

TEST_F(LockOrderDeathTest, LockingAgainstTheOrderEndsTheProcessAndNamesBothRanks) {
  Mutex catalog(LockRank::kCatalog);
  Mutex file(LockRank::kPlainFile);
  const MutexLock held(catalog);
  EXPECT_DEATH(MutexLock lock(file), "holds a mutex of rank kCatalog locks one of rank kPlainFile");
}

TEST_F(LockOrderDeathTest, LockingASecondMutexOfOneRankEndsTheProcess) {
  Mutex first(LockRank::kLeaf);
  Mutex second(LockRank::kLeaf);
  const MutexLock held(first);
  EXPECT_DEATH(MutexLock lock(second), "holds a mutex of rank kLeaf locks one of rank kLeaf");
}

TEST_F(LockOrderDeathTest, WaitingForAMutexAboveAHeldOneEndsTheProcess) {
  Mutex file(LockRank::kPlainFile);
  Mutex catalog(LockRank::kCatalog);
  CondVar never;
  const MutexLock outer(file);
  const MutexLock inner(catalog);
  EXPECT_DEATH(static_cast<void>(never.WaitUntil(file, Deadline::After(std::chrono::nanoseconds(0)))),
               "holds a mutex of rank kCatalog locks one of rank kPlainFile");
}

TEST_F(LockOrderDeathTest, LocksAfterATryLockAreCheckedAgainstIt) {
  Mutex catalog(LockRank::kCatalog);
  Mutex file(LockRank::kPlainFile);
  const MutexLock held(catalog);
  if (!file.TryLock()) FAIL() << "the mutex is free";
  Mutex slot(LockRank::kMountSlot);
  EXPECT_DEATH(MutexLock lock(slot), "locks one of rank kMountSlot");
  file.Unlock();
}

TEST(LockOrder, OrderHoldsForEachThreadByItself) {
  Mutex catalog(LockRank::kCatalog);
  Mutex file(LockRank::kPlainFile);
  const MutexLock held(catalog);
  Thread other("other", [&] { const MutexLock lock(file); });
  other.Join();
}

TEST(LockOrder, MutexesAreUnlockedInAnyOrder) {
  Mutex file(LockRank::kPlainFile);
  Mutex catalog(LockRank::kCatalog);
  for (int i = 0; i < 2; ++i) {
    MutexLock outer(file);
    const MutexLock inner(catalog);
    outer.Unlock();
  }
}

TEST(LockOrder, UnrankedMutexesAreNotChecked) {
  Mutex leaf(LockRank::kLeaf);
  Mutex first;
  Mutex second;
  const MutexLock held(leaf);
  const MutexLock also(first);
  const MutexLock more(second);
}

#if !ZENFS_ASSERTIONS_RUN
TEST(LockOrder, RankCostsNothingWithoutAssertions) { EXPECT_EQ(sizeof(Mutex), sizeof(std::mutex)); }
#endif

}  // namespace
}  // namespace zenfs
