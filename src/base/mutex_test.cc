#include "base/mutex.h"

#include <gtest/gtest.h>

#include "base/thread.h"

namespace zenfs {
namespace {

TEST(CondVar, WaitEndsAtTheDeadline) {
  Mutex mutex;
  CondVar never;
  MutexLock lock(mutex);
  const Deadline deadline = Deadline::After(std::chrono::milliseconds(5));
  while (never.WaitUntil(mutex, deadline)) {
  }
  EXPECT_TRUE(deadline.Passed());
}

TEST(CondVar, NotificationWakesAWaiter) {
  Mutex mutex;
  CondVar changed;
  bool ready = false;
  Thread notifier("notifier", [&] {
    MutexLock lock(mutex);
    ready = true;
    changed.NotifyAll();
  });
  MutexLock lock(mutex);
  while (!ready) changed.Wait(mutex);
  EXPECT_TRUE(ready);
}

TEST(Mutex, TryLockFailsWhileHeld) {
  Mutex mutex;
  mutex.Lock();
  bool taken = true;
  Thread other("other", [&] {
    if (mutex.TryLock()) {
      mutex.Unlock();
    } else {
      taken = false;
    }
  });
  other.Join();
  mutex.Unlock();
  EXPECT_FALSE(taken);
}

TEST(Deadline, NeverDoesNotPass) {
  EXPECT_FALSE(Deadline::Never().Passed());
  EXPECT_TRUE(Deadline::After(std::chrono::nanoseconds(-1)).Passed());
}

}  // namespace
}  // namespace zenfs
