// Cuts the power around a failed sync of a log: after each command of the failing try, of the try
// that repeats it, and of later syncs, with every subset of the unflushed data. Acknowledged data
// must be there, and nothing that the failed try left may hide it.
#include <gtest/gtest.h>

#include <iostream>

#include "every_subset.h"
#include "testing/borrowed_device.h"
#include "testing/faulty_device.h"

namespace zenfs {
namespace {

using Command = FaultyDevice::Command;
using When = FaultyDevice::When;

class LogRetry : public testing::Test {
 protected:
  // On a device that can fail: a log with a synced record and a record that was only sent to the
  // device, and another log with records between those.
  Workload Before(std::size_t fill = 0) {
    return [this, fill](WorkloadRun& run) {
      if (!run.over()) run.client->Unmount();
      run.volume.reset();
      faulty_ = std::make_unique<FaultyDevice>(Borrow(*run.device));
      auto mounted = MountBorrowed(*faulty_, {.flush_directory = "none"});
      if (!mounted) {
        run.error = "mount: " + mounted.error().ToString();
        return;
      }
      run.volume = *std::move(mounted);
      run.client->Remounted(run.volume);
      run.client->Create("log", "1.log");
      run.client->Log("log", 1, 100);
      run.client->Create("other", "2.log");
      run.client->Log("other", 1, 100);
      if (fill != 0) run.client->Log("other", 1, fill);
      run.client->Append("log", 200);
      run.client->Flush("log");
      // No commit that allocates log zones may be between the commands that are cut off.
      if (!run.over() && !Await(run, [&] { return run.volume->counters().metalog.commits >= 1 + 2 + 1; })) {
        run.error = "the log has no reserve";
      }
    };
  }
  // Applies to all zones that a frame can go to.
  void FailWrites(WorkloadRun& run, When when, bool current) {
    const ZoneId of_log = run.device->geometry().ZoneOf(run.volume->Layout("2.log")->frames.back().place);
    for (const ZoneStatus& zone : run.volume->Zones()) {
      if (zone.phase != ZonePhase::kLog && zone.phase != ZonePhase::kEmpty) continue;
      if (zone.id == of_log && !current) continue;
      faulty_->Inject(
          {.command = Command::kWrite, .times = FaultyDevice::kForEver, .zone = zone.id, .when = when});
    }
  }
  void Verify(const std::string& shape, const CutOperation& operation) {
    const SubsetCount count =
        VerifyEverySubset(ShapeNamed(shape).geometry, operation, FullRun() ? 5'000 : 300);
    EXPECT_EQ(count.error, "");
    EXPECT_GT(count.cuts, 4u);
    std::cout << operation.name << ": " << count.ToString() << "\n";
  }

  std::unique_ptr<FaultyDevice> faulty_;
};

class LogRetryAfterAWrite : public LogRetry, public testing::WithParamInterface<When> {};

TEST_P(LogRetryAfterAWrite, LosesNothingAcknowledged) {
  Verify("Plenty", {"Retry", Before(), [this](WorkloadRun& run) {
                      if (run.over()) return;
                      run.client->Append("log", 200);
                      FailWrites(run, GetParam(), true);
                      run.client->SyncInVain("log");
                      faulty_->ClearFaults();
                      run.client->Log("other", 1, 50);
                      run.client->Append("log", 50);
                      run.client->Sync("log");
                      run.client->Log("log", 1, 100);
                    }});
}

// The first part of the frame ends a zone and is written. The second part fails and may be on the
// device.
TEST_P(LogRetryAfterAWrite, OfTheSecondPartOfAFrameLosesNothingAcknowledged) {
  constexpr std::size_t kFill = (64 << 10) - 4 * 4096 - 64;  // one block is left
  Verify("TinyZones",
         {"RetryOfAPart", Before(kFill), [this](WorkloadRun& run) {
            if (run.over()) return;
            run.client->Append("log", 5000);
            FailWrites(run, GetParam(), false);
            run.client->SyncInVain("log");
            if (!run.over() && !run.device->stopped() && run.volume->Layout("1.log")->frames.size() != 3) {
              run.error = "no part of the frame is placed";
            }
            faulty_->ClearFaults();
            run.client->Log("other", 1, 50);
            run.client->Append("log", 50);
            run.client->Sync("log");
            run.client->Log("log", 1, 100);
          }});
}

INSTANTIATE_TEST_SUITE_P(Crash, LogRetryAfterAWrite,
                         testing::Values(When::kBefore, When::kAfter, When::kPartly), [](const auto& test) {
                           return test.param == When::kBefore  ? "ThatDidNothing"
                                  : test.param == When::kAfter ? "ThatLanded"
                                                               : "ThatWasTorn";
                         });

TEST_F(LogRetry, AfterAFlushLosesNothingAcknowledged) {
  Verify("Plenty", {"RetryOfAFlush", Before(), [this](WorkloadRun& run) {
                      if (run.over()) return;
                      run.client->Append("log", 100);
                      faulty_->Inject({.command = Command::kFlush});
                      run.client->SyncInVain("log");
                      faulty_->ClearFaults();
                      run.client->Append("log", 50);
                      run.client->Sync("log");
                      run.client->Log("log", 1, 100);
                    }});
}

}  // namespace
}  // namespace zenfs
