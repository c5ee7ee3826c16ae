// The state of a log switch as its waiting threads see it, without a device.
#include "metalog/log_switch.h"

#include <gtest/gtest.h>

namespace zenfs::log_switch_test {
namespace {

// Each run ends with kBusy and the number of the run.
class LogSwitchTest : public testing::Test {
 protected:
  LogSwitchTest()
      : log_switch_([this] {
          MutexLock lock(mutex_);
          EXPECT_TRUE(log_switch_.running());
          log_switch_.End(Fail(Code::kBusy, std::to_string(++runs_)));
        }) {}
  ~LogSwitchTest() override {
    Thread::SetRefusal(nullptr);
    log_switch_.TakeThread().Join();
  }

  Mutex mutex_{LockRank::kMetalog};
  int runs_ = 0;
  LogSwitch log_switch_;
};

TEST_F(LogSwitchTest, AWaitReturnsTheResultOfItsSwitch) {
  MutexLock lock(mutex_);
  EXPECT_EQ(log_switch_.StartAndWait(mutex_, 10).error().text(), "1");
  EXPECT_EQ(log_switch_.need(), 10u);
  EXPECT_EQ(log_switch_.StartAndWait(mutex_, 0).error().text(), "2");
  EXPECT_FALSE(log_switch_.running());
}

TEST_F(LogSwitchTest, AWaitJoinsTheRunningSwitch) {
  MutexLock lock(mutex_);
  ASSERT_TRUE(log_switch_.Start(10).ok());
  EXPECT_TRUE(log_switch_.running());
  EXPECT_EQ(log_switch_.StartAndWait(mutex_, 0).error().text(), "1");
  log_switch_.AwaitEnd(mutex_);
  EXPECT_EQ(runs_, 1);
}

TEST_F(LogSwitchTest, RunsInTheWaitingThreadIfNoThreadCanBeStarted) {
  Thread::SetRefusal([](const char*) { return true; });
  MutexLock lock(mutex_);
  EXPECT_FALSE(log_switch_.Start(0).ok());
  EXPECT_FALSE(log_switch_.running());
  EXPECT_EQ(log_switch_.StartAndWait(mutex_, 10).error().text(), "1");
}

}  // namespace
}  // namespace zenfs::log_switch_test
