// Commands that fail during a mount after the process died: the mount seals logs and may fail. The next mount finds all
// synced bytes.
#include <fmt/format.h>

#include "volume/volume_fault_test_rig.h"

namespace zenfs {
namespace {

class MountFaultTest : public VolumeFaultTest, public testing::WithParamInterface<FaultyDevice::Command> {
 protected:
  // Makes a log with records that are not sealed yet, and a table.
  void LeaveWork() {
    Put("a.sst", table_);
    const auto log = volume_->OpenForAppend("1.log", true);
    ASSERT_TRUE(IsOk(log));
    const std::string piece = fmt::format("record {}, ", written_++);
    ASSERT_TRUE(IsOk((*log)->Append(AsBytes(piece))));
    ASSERT_TRUE(IsOk((*log)->Sync()));
    log_ += piece;
    Die();
  }
  void ExpectAll() {
    EXPECT_TRUE(volume_->notices().empty());
    EXPECT_EQ(Get("a.sst"), table_);
    EXPECT_EQ(Get("1.log"), log_);
  }
  // The number of commands of this kind that such a mount sends.
  std::uint64_t CountOfAMount() {
    LeaveWork();
    MountFaulty();
    return faulty_->count(GetParam());
  }

  const std::string table_ = std::string(30'000, 't');
  std::string log_;
  int written_ = 0;
};

TEST_P(MountFaultTest, EachMayFailAndNothingIsMissing) {
  const std::uint64_t commands = CountOfAMount();
  ASSERT_GT(commands, 0u);
  for (const When when : {When::kBefore, When::kAfter}) {
    for (std::uint64_t kth = 1; kth <= commands + 1; ++kth) {
      LeaveWork();
      if (!TryMountFaulty({{.command = GetParam(), .kth = kth, .when = when}}).ok()) MountFaulty();
      faulty_->ClearFaults();  // the mount may have failed before that command
      ExpectAll();
    }
  }
  RemountHealthy();
  ExpectAll();
}

TEST_P(MountFaultTest, WhereAllFailNothingIsMountedAndTheNextMountFindsEverything) {
  LeaveWork();
  EXPECT_FALSE(TryMountFaulty({{.command = GetParam(), .times = kForEver}}).ok());
  MountFaulty();
  ExpectAll();
}

INSTANTIATE_TEST_SUITE_P(Of, MountFaultTest,
                         testing::Values(FaultyDevice::Command::kReport, FaultyDevice::Command::kWrite,
                                         FaultyDevice::Command::kFlush),
                         [](const auto& test) {
                           switch (test.param) {
                             case FaultyDevice::Command::kReport: return "Reports";
                             case FaultyDevice::Command::kWrite: return "Writes";
                             default: return "Flushes";
                           }
                         });

}  // namespace
}  // namespace zenfs
