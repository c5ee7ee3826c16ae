// Several threads write at once, in an order that the test decides.
#include <gtest/gtest.h>

#include <atomic>
#include <optional>

#include "base/random.h"
#include "base/sync_point.h"
#include "base/thread.h"
#include "wal/wal_test_rig.h"

namespace zenfs {
namespace {

using Command = FaultyDevice::Command;

// Holds the first leader until `followers` more jobs are queued.
class HeldLeader {
 public:
  explicit HeldLeader(int followers)
      : scope_([this, followers](std::string_view name) {
          if (name == "FrameWriter::Queued") {
            ++queued_;
            queued_.notify_all();
          } else if (name == "FrameWriter::Lead" && !led_.exchange(true)) {
            leading_ = true;
            leading_.notify_all();
            for (int n = queued_; n < 1 + followers; n = queued_) queued_.wait(n);
          }
        }) {}
  void WaitUntilLeading() { leading_.wait(false); }
  void WaitUntilQueued(int jobs) {
    for (int n = queued_; n < jobs; n = queued_) queued_.wait(n);
  }

 private:
  std::atomic<int> queued_ = 0;
  std::atomic<bool> led_ = false;
  std::atomic<bool> leading_ = false;
  SyncPoint::Scope scope_;
};

TEST(LogSpaceGroupTest, FramesThatWaitGoOutInOneDeviceWriteAndOneFlush) {
  constexpr int kFollowers = 7;
  WalRig rig(TestGeometry(8, 64));
  rig.Mount();
  ASSERT_TRUE(rig.WaitUntilAllocated(1));
  std::atomic<int> failures = 0;
  {
    HeldLeader leader(kFollowers);
    std::vector<Thread> threads;
    for (int i = 0; i < 1 + kFollowers; ++i) {
      threads.emplace_back("writer", [&rig, &failures, i] {
        TestJob job(static_cast<std::uint64_t>(10 + i), 1, 0, TestText(300, static_cast<std::uint64_t>(i)),
                    true);
        const auto placed = rig.log->writer().Write(job.job);
        if (!placed || placed->size() != 1) ++failures;
      });
      if (i == 0) leader.WaitUntilLeading();
    }
    for (Thread& thread : threads) thread.Join();
  }
  EXPECT_EQ(failures, 0);
  EXPECT_EQ(rig.Count(Command::kWrite), 2U) << "the frame of the leader, then those of all others";
  EXPECT_EQ(rig.Count(Command::kFlush), 2U);
}

// Until the file points to its frame, the frame's zone can't be cleaned; it may be the zone that the other one waits for.
TEST(LogSpaceGroupTest, FrameThatIsPlacedDoesNotWaitForTheZoneOfAnother) {
  WalRig rig(TestGeometry(8, 4), 1);
  rig.Mount();
  ASSERT_TRUE(rig.WaitUntilAllocated(1));
  std::atomic<int> queued = 0;
  std::atomic<bool> led = false, leading = false, no_next_zone = true, whole_returned = false;
  bool returned_first = false;
  const SyncPoint::Scope scope([&](std::string_view name) {
    if (name == "LogZoneSupply::Work") {
      no_next_zone.wait(true);
    } else if (name == "FrameWriter::Queued") {
      ++queued;
      queued.notify_all();
    } else if (name == "FrameWriter::Lead" && !led.exchange(true)) {
      leading = true;
      leading.notify_all();
      for (int n = queued; n < 3; n = queued) queued.wait(n);
    } else if (name == "FrameWriter::NextZone" && no_next_zone && queued >= 3) {
      const Deadline soon = Deadline::After(std::chrono::seconds(10));
      while (!whole_returned && !soon.Passed()) SleepUntil(SteadyNow() + std::chrono::milliseconds(1));
      returned_first = whole_returned;
      no_next_zone = false;
      no_next_zone.notify_all();
    }
  });
  const auto write = [&rig](std::uint64_t owner, std::size_t bytes) {
    TestJob job(owner, 1, 0, TestText(bytes, owner), true);
    const auto placed = rig.log->writer().Write(job.job);
    EXPECT_TRUE(placed);
    return placed ? placed->size() : 0;
  };
  Thread leader("writer", [&] { write(10, 100); });
  leading.wait(false);
  Thread whole("writer", [&] {
    EXPECT_EQ(write(11, 100), 1U);
    whole_returned = true;
  });
  for (int n = queued; n < 2; n = queued) queued.wait(n);
  Thread split("writer", [&] { EXPECT_EQ(write(12, 3 * kTestBlock), 2U); });
  for (Thread* thread : {&leader, &whole, &split}) thread->Join();
  EXPECT_TRUE(returned_first);
}

TEST(LogSpaceGroupTest, FrameThatWasPlacedBeforeAnothersFailureIsFlushedAllTheSame) {
  WalRig rig(TestGeometry(8, 4), 4);
  rig.Mount();
  ASSERT_TRUE(rig.WaitUntilAllocated(4));
  // The leader's frame takes three blocks, the first follower's the fourth. The second follower's zone
  // fails.
  rig.device.Inject({.command = Command::kWrite, .kth = 3, .times = 100});
  std::optional<bool> second, third;
  {
    HeldLeader leader(2);
    Thread a("writer", [&] {
      TestJob job(10, 1, 0, TestText(3 * kTestBlock - kFrameHeaderBytes, 1));
      EXPECT_TRUE(rig.log->writer().Write(job.job));
    });
    leader.WaitUntilLeading();
    Thread b("writer", [&] {
      TestJob job(11, 1, 0, TestText(100, 2), true);
      second = rig.log->writer().Write(job.job).has_value();
    });
    leader.WaitUntilQueued(2);
    Thread c("writer", [&] {
      TestJob job(12, 1, 0, TestText(100, 3), true);
      third = rig.log->writer().Write(job.job).has_value();
    });
    a.Join();
    b.Join();
    c.Join();
  }
  EXPECT_EQ(second, true);
  EXPECT_EQ(third, false);
  EXPECT_EQ(rig.Count(Command::kFlush), 1U) << "the second frame must be stable";
}

TEST(LogSpaceGroupTest, ManyThreadsFillAndFreeZonesWithoutLosingCount) {
  // Nothing cleans here, and threads may stop anywhere: each of up to eight frames of a thread may keep a zone.
  constexpr int kThreads = 8;
  WalRig rig(TestGeometry(8 * kThreads + 16, 8), 2);
  rig.Mount();
  std::atomic<int> failures = 0;
  {
    std::vector<Thread> threads;
    for (int t = 0; t < kThreads; ++t) {
      threads.emplace_back("writer", [&rig, &failures, t] {
        Random random(static_cast<std::uint64_t>(t) + 1);
        std::vector<PlacedFrame> kept;
        for (std::uint64_t i = 1; i <= 150; ++i) {
          TestJob job(static_cast<std::uint64_t>(t) + 10, i * 8, i, TestText(1 + random.Below(6000), i),
                      random.OneIn(3));
          auto placed = rig.log->writer().Write(job.job);
          if (!placed) {
            ++failures;
            break;
          }
          for (PlacedFrame& frame : *placed) kept.push_back(std::move(frame));
          while (kept.size() > 6) {
            const ZoneId zone = kept.front().pin.zone();
            const LiveFrames frames{kept.front().device_bytes, kept.front().length};
            kept.erase(kept.begin());
            rig.log->zones().RemoveLive(zone, frames);
          }
        }
        for (PlacedFrame& frame : kept) {
          const ZoneId zone = frame.pin.zone();
          frame.pin = ZonePin();
          rig.log->zones().RemoveLive(zone, {frame.device_bytes, frame.length});
        }
      });
    }
  }
  EXPECT_EQ(failures, 0);
  // All zones except the current one and the ready ones can be released now.
  rig.log->supply().ReleaseDead();
  rig.log->Stop();
  EXPECT_LE(rig.state().log_zones().size(), 4U);
  EXPECT_EQ(rig.zones->Check(), std::vector<std::string>());
}

}  // namespace
}  // namespace zenfs
