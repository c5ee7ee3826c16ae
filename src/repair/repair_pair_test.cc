// Repair of a volume on two devices.
#include <gmock/gmock.h>

#include "repair/repair.h"
#include "testing/temp_directory.h"
#include "volume/pair_test_rig.h"

namespace zenfs::repair_pair_test {
namespace {

using testing::Contains;
using testing::HasSubstr;

TEST(RepairPair, AnOlderLogDeviceIsRefused) {
  const DevicePair pair;
  const DevicePair older = pair.Copy();
  pair.Session("1.log");
  const auto plan = PlanRepair(*DevicePair(pair.main, older.logs).Joined());
  ASSERT_FALSE(plan.ok());
  EXPECT_THAT(plan.error().text(), HasSubstr("not the log device of the last mount"));
}

TEST(RepairPair, ASoundPairNeedsNone) {
  const DevicePair pair;
  pair.Session("1.log");
  const auto plan = PlanRepair(*pair.Joined());
  ASSERT_TRUE(IsOk(plan));
  EXPECT_TRUE(plan->nothing_to_do());
}

// Its log has lost the commits of the last mount.
TEST(RepairPair, AMainDeviceThatLostItsLastCommitsIsPairedAgain) {
  DevicePair pair;
  pair.Session("1.log");
  const DevicePair older = pair.Copy();
  pair.Killed("2.log");
  const DevicePair broken(older.main, pair.logs);
  const auto mount = broken.Mount();
  ASSERT_FALSE(mount.ok());
  EXPECT_THAT(mount.error().text(), HasSubstr("zenfs check --repair"));
  const auto plan = PlanRepair(*broken.Joined());
  ASSERT_TRUE(IsOk(plan));
  EXPECT_THAT(plan->steps, Contains(HasSubstr("pair")));
  const TempDirectory directory;
  ASSERT_TRUE(IsOk(CarryOut(*broken.Joined(), *plan, directory.File("metadata"))));
  const auto volume = broken.Mount();
  ASSERT_TRUE(IsOk(volume));
  EXPECT_EQ(*GetFile(**volume, "1.log"), "1.log");
  EXPECT_TRUE(IsOk((*volume)->Unmount()));
  ExpectSound(*broken.Joined());
}

// No frame shows the epochs of the lost mounts, so the repaired volume begins them anew.
TEST(RepairPair, APairThatLostMountsWithoutLogsStaysOneAfterItsRepair) {
  const DevicePair pair;
  pair.Session("1.log");
  const DevicePair older = pair.Copy();
  for (int i = 0; i < 3; ++i) {
    const auto volume = pair.Mount();
    ASSERT_TRUE(IsOk(volume));
    ASSERT_TRUE(IsOk((*volume)->Unmount()));
  }
  const DevicePair broken(older.main, pair.logs);
  const TempDirectory directory;
  const auto plan = PlanRepair(*broken.Joined());
  ASSERT_TRUE(IsOk(plan));
  ASSERT_TRUE(IsOk(CarryOut(*broken.Joined(), *plan, directory.File("metadata"))));
  for (const std::string name : {"2.log", "3.log"}) broken.Session(name);
  const auto volume = broken.Mount();
  ASSERT_TRUE(IsOk(volume));
  for (const std::string name : {"1.log", "2.log", "3.log"}) EXPECT_EQ(*GetFile(**volume, name), name);
}

TEST(RepairPair, AnUndoneRepairLeavesThePairAsItWas) {
  DevicePair pair;
  pair.Session("1.log");
  const DevicePair older = pair.Copy();
  pair.Killed("2.log");
  const DevicePair broken(older.main, pair.logs);
  const TempDirectory directory;
  const auto plan = PlanRepair(*broken.Joined());
  ASSERT_TRUE(IsOk(plan));
  ASSERT_TRUE(IsOk(CarryOut(*broken.Joined(), *plan, directory.File("metadata"))));
  ASSERT_TRUE(IsOk(UndoRepair(*broken.Joined(), directory.File("metadata"))));
  const auto mount = broken.Mount();
  ASSERT_FALSE(mount.ok());
  EXPECT_THAT(mount.error().text(), HasSubstr("not the main device of the last mount"));
}

}  // namespace
}  // namespace zenfs::repair_pair_test
