#include "testing/sim_scheduler.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <set>

#include "base/clock.h"
#include "base/gate.h"
#include "base/mutex.h"
#include "base/thread.h"
#include "testing/call_stack.h"

namespace zenfs {
namespace {

SimScheduler::Options Seed(std::uint64_t seed) {
  SimScheduler::Options options;
  options.seed = seed;
  options.switch_one_in = 2;
  return options;
}

// Three threads add their letters under a lock, in the order that the scheduler chooses.
std::string Letters(std::uint64_t seed, std::uint64_t* fingerprint = nullptr) {
  SimScheduler scheduler(Seed(seed));
  std::string letters;
  scheduler.Run([&letters] {
    Mutex mutex;
    std::vector<Thread> threads;
    for (const char letter : {'a', 'b', 'c'}) {
      threads.emplace_back("letter", [&, letter] {
        for (int i = 0; i < 3; ++i) {
          MutexLock lock(mutex);
          letters += letter;
        }
      });
    }
  });
  if (fingerprint != nullptr) *fingerprint = scheduler.fingerprint();
  return letters;
}

TEST(SimScheduler, OneSeedGivesOneOrder) {
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    std::uint64_t first = 0;
    std::uint64_t second = 0;
    EXPECT_EQ(Letters(seed, &first), Letters(seed, &second));
    EXPECT_EQ(first, second);
  }
}

TEST(SimScheduler, SeedsGiveManyOrders) {
  std::set<std::string> orders;
  for (std::uint64_t seed = 1; seed <= 300; ++seed) orders.insert(Letters(seed));
  EXPECT_GT(orders.size(), 100u);
  for (const std::string& order : orders) EXPECT_EQ(order.size(), 9u);
}

TEST(SimScheduler, ALockIsExclusive) {
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    SimScheduler scheduler(Seed(seed));
    scheduler.Run([] {
      Mutex mutex;
      Mutex other;
      int inside = 0;
      std::vector<Thread> threads;
      for (int t = 0; t < 4; ++t) {
        threads.emplace_back("inside", [&] {
          MutexLock lock(mutex);
          EXPECT_EQ(++inside, 1);
          {
            MutexLock switch_here(other);
          }
          --inside;
        });
      }
    });
  }
}

TEST(SimScheduler, TimePassesOnlyWhenAllWait) {
  SimScheduler::Options options = Seed(7);
  options.stall_one_in = UINT64_MAX;
  SimScheduler scheduler(options);
  scheduler.Run([] {
    const SteadyTime begin = SteadyNow();
    Thread sleeper("sleeper", [begin] { SleepUntil(begin + std::chrono::hours(1)); });
    EXPECT_LT(SteadyNow() - begin, std::chrono::milliseconds(1));
    sleeper.Join();
    EXPECT_GE(SteadyNow() - begin, std::chrono::hours(1));
    EXPECT_LT(SteadyNow() - begin, std::chrono::hours(1) + std::chrono::milliseconds(1));
  });
}

TEST(SimScheduler, AWaitEndsByNotificationOrDeadline) {
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    SimScheduler scheduler(Seed(seed));
    scheduler.Run([] {
      Mutex mutex;
      CondVar changed;
      bool flag = false;
      Thread setter("setter", [&] {
        SleepUntil(SteadyNow() + std::chrono::seconds(1));
        MutexLock lock(mutex);
        flag = true;
        changed.NotifyOne();
      });
      MutexLock lock(mutex);
      const Deadline soon = Deadline::After(std::chrono::milliseconds(1));
      while (!flag && changed.WaitUntil(mutex, soon)) {
      }
      EXPECT_FALSE(flag);
      while (!flag) changed.Wait(mutex);
    });
  }
}

TEST(SimScheduler, AGateWaitsForThoseInside) {
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    SimScheduler scheduler(Seed(seed));
    scheduler.Run([] {
      Gate gate;
      bool left = false;
      auto entry = std::make_unique<Gate::Entry>(gate.Enter());
      Thread inside("inside", [&] {
        SleepUntil(SteadyNow() + std::chrono::seconds(1));
        left = true;
        entry.reset();
      });
      gate.Close();
      EXPECT_TRUE(left);
    });
  }
}

// The return address of its caller.
[[gnu::noinline]] std::uintptr_t LockBoth(Mutex& one, Mutex& two) {
  MutexLock first(one);
  MutexLock second(two);
  return OffsetInProgram(__builtin_return_address(0));
}
[[gnu::noinline]] void LockBoth(Mutex& one, Mutex& two, std::uintptr_t& called_from) {
  called_from = LockBoth(one, two);
}

TEST(SimSchedulerDeathTest, ADeadlockReportsTheStackOfEachThread) {
  EXPECT_EXIT(
      for (std::uint64_t seed = 1; seed <= 100; ++seed) {
        std::uintptr_t called_from = 0;
        SimScheduler::Options options = Seed(seed);
        options.on_stuck = [&](const std::string&, const std::vector<SimScheduler::StuckThread>& threads) {
          int there = 0;
          for (const auto& thread : threads) there += std::ranges::count(thread.stack, called_from) != 0;
          std::_Exit(threads.size() == 3 && there == 2 ? 3 : 4);
        };
        SimScheduler scheduler(options);
        scheduler.Run([&] {
          Mutex a;
          Mutex b;
          LockBoth(a, b, called_from);
          Thread one("one", [&] { LockBoth(a, b, called_from); });
          Thread two("two", [&] { LockBoth(b, a, called_from); });
        });
      },
      testing::ExitedWithCode(3), "");
}

TEST(SimSchedulerDeathTest, ADeadlockIsFound) {
  // The scheduler determines which seeds deadlock; some of a hundred do.
  EXPECT_EXIT(
      for (std::uint64_t seed = 1; seed <= 100; ++seed) {
        SimScheduler::Options options = Seed(seed);
        options.on_stuck = [](const std::string& why, const auto&) {
          EXPECT_GT(::write(STDERR_FILENO, why.data(), why.size()), 0);
          std::_Exit(3);
        };
        SimScheduler scheduler(options);
        scheduler.Run([] {
          Mutex a;
          Mutex b;
          Thread one("one", [&] {
            MutexLock first(a);
            MutexLock second(b);
          });
          MutexLock first(b);
          MutexLock second(a);
        });
      },
      testing::ExitedWithCode(3), "every thread waits.*waits for a lock of thread");
}

}  // namespace
}  // namespace zenfs
