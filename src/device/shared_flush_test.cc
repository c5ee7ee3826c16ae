#include "device/shared_flush.h"

#include <gtest/gtest.h>

#include <string_view>
#include <vector>

#include "base/sync_point.h"
#include "base/thread.h"

namespace zenfs {
namespace {

// The first flush waits until two other threads have joined, and fails. Later flushes succeed.
class SharedFlushTest : public testing::Test {
 protected:
  Status FlushDevice() {
    MutexLock lock(mutex_);
    EXPECT_FALSE(under_way_);
    under_way_ = true;
    const int number = ++flushes_;
    changed_.NotifyAll();
    while (number == 1 && asked_ < 3) changed_.Wait(mutex_);
    under_way_ = false;
    if (number == 1) return Fail(Code::kIo, "the cache is lost");
    return {};
  }

  void Asked(std::string_view point) {
    if (point != "SharedFlush::Joined") return;
    MutexLock lock(mutex_);
    ++asked_;
    changed_.NotifyAll();
  }
  void AwaitFirst() {
    MutexLock lock(mutex_);
    while (!under_way_) changed_.Wait(mutex_);
  }

  SharedFlush flush_{[this] { return FlushDevice(); }};
  SyncPoint::Scope points_{[this](std::string_view point) { Asked(point); }};
  Mutex mutex_;
  CondVar changed_;
  int flushes_ GUARDED_BY(mutex_) = 0;
  int asked_ GUARDED_BY(mutex_) = 0;
  bool under_way_ GUARDED_BY(mutex_) = false;
};

TEST_F(SharedFlushTest, CallersDuringAFailingFlushShareTheNextOne) {
  Status first;
  Status second;
  Status third;
  {
    std::vector<Thread> threads;
    threads.emplace_back("first", [&] { first = flush_.Run(); });
    AwaitFirst();
    threads.emplace_back("second", [&] { second = flush_.Run(); });
    threads.emplace_back("third", [&] { third = flush_.Run(); });
  }
  EXPECT_FALSE(first.ok());
  EXPECT_TRUE(second.ok());
  EXPECT_TRUE(third.ok());
  MutexLock lock(mutex_);
  EXPECT_EQ(flushes_, 2);
}

TEST_F(SharedFlushTest, CallsOneAfterTheOtherFlushEach) {
  {
    MutexLock lock(mutex_);
    asked_ = 2;
  }
  EXPECT_FALSE(flush_.Run().ok());
  EXPECT_TRUE(flush_.Run().ok());
  EXPECT_TRUE(flush_.Run().ok());
  MutexLock lock(mutex_);
  EXPECT_EQ(flushes_, 3);
}

}  // namespace
}  // namespace zenfs
