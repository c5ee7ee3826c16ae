// Reads that fail during a repair. A read that fails once is not damage; a device on which all
// reads fail is not a damaged volume.
#include "repair/repair_test_rig.h"
#include "testing/faulty_device.h"

namespace zenfs {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using Command = FaultyDevice::Command;

class RepairReadFault : public testing::Test {
 protected:
  RepairRig rig_;
  FaultyDevice faulty_{Borrow(rig_.device())};
  TempDirectory directory_;
};

TEST_F(RepairReadFault, OfOneReadIsNoDamage) {
  ASSERT_TRUE(PlanRepair(faulty_)->nothing_to_do());
  const std::uint64_t reads = faulty_.count(Command::kRead);
  ASSERT_GT(reads, 10u);
  for (std::uint64_t kth = 1; kth <= reads; ++kth) {
    faulty_.Inject({.command = Command::kRead, .kth = kth});
    const auto plan = PlanRepair(faulty_);
    ASSERT_TRUE(IsOk(plan)) << "read " << kth;
    EXPECT_THAT(plan->steps, IsEmpty()) << "read " << kth;
    EXPECT_THAT(plan->losses, IsEmpty()) << "read " << kth;
    faulty_.ClearFaults();
  }
}

TEST_F(RepairReadFault, OfOneReadDoesNotAffectAnUndo) {
  rig_.Flip(rig_.Scan().generations.back().frames.back());
  const auto damaged = RepairRig::AllZones(rig_.device());
  for (std::uint64_t kth = 1; kth <= 40; ++kth) {
    const auto plan = PlanRepair(rig_.device());
    ASSERT_TRUE(IsOk(plan));
    ASSERT_FALSE(plan->nothing_to_do());
    const std::string file = directory_.path() + fmt::format("/{}.zmeta", kth);
    faulty_.Inject({.command = Command::kRead, .kth = kth});
    ASSERT_TRUE(IsOk(CarryOut(faulty_, *plan, file))) << "read " << kth;
    faulty_.ClearFaults();
    faulty_.Inject({.command = Command::kRead, .kth = kth});
    ASSERT_TRUE(IsOk(UndoRepair(faulty_, file))) << "read " << kth;
    faulty_.ClearFaults();
    ASSERT_EQ(RepairRig::AllZones(rig_.device()), damaged) << "read " << kth;
  }
}

TEST_F(RepairReadFault, OfAllReadsIsOneErrorAndNothingChanged) {
  const auto before = RepairRig::AllZones(rig_.device());
  faulty_.Inject({.command = Command::kRead, .times = FaultyDevice::kForEver});
  const auto plan = PlanRepair(faulty_);
  ASSERT_FALSE(plan);
  EXPECT_EQ(plan.error().code(), Code::kIo);
  EXPECT_THAT(plan.error().text(), HasSubstr("is the device still there?"));
  EXPECT_EQ(RepairRig::AllZones(rig_.device()), before);
}

}  // namespace
}  // namespace zenfs
