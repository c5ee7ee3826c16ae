// Cuts the power at every command of a repair and of its undo.
#include <cstring>

#include "repair/repair_test_rig.h"

namespace zenfs {
namespace {

class RepairCrash : public testing::TestWithParam<Damage> {
 protected:
  // The device holds the old or the repaired volume. In both cases every file can be read, after
  // one more repair if needed.
  void ExpectEveryFile(ZonedDevice& device) const {
    const auto plan = PlanRepair(device);
    ASSERT_TRUE(IsOk(plan));
    if (!plan->nothing_to_do()) MustRepair(device, directory_);
    const Files found = RepairRig::ReadAll(device);
    const std::vector<std::string>& lost = GetParam().lost_names;
    for (const auto& [path, content] : rig_.files()) {
      if (std::ranges::find(lost, path) == lost.end()) {
        ASSERT_TRUE(found.contains(path) && found.at(path) == content) << path;
        continue;
      }
      // Not std::string::find() or std::search(): with a sanitizer they take more time than the
      // rest of the test.
      const bool rescued = std::ranges::any_of(found, [&](const auto& file) {
        return memmem(file.second.data(), file.second.size(), content.data(), content.size()) != nullptr;
      });
      ASSERT_TRUE(rescued) << path;
    }
  }
  RepairCrash() { GetParam().make(rig_); }

  RepairRig rig_;
  TempDirectory directory_;
};

TEST_P(RepairCrash, LeavesTheOldStateOrTheNewOne) {
  const auto whole = rig_.device().Image(LossPolicy::KeepAll());
  const std::string copy = MustRepair(*whole, directory_);
  const std::uint64_t commands = whole->commands();
  ASSERT_GT(commands, 0u);
  for (std::uint64_t n = 0; n < commands; ++n) {
    const auto cut = rig_.device().Image(LossPolicy::KeepAll());
    const auto plan = PlanRepair(*cut);
    ASSERT_TRUE(IsOk(plan));
    cut->StopAfter(n);
    EXPECT_FALSE(CarryOut(*cut, *plan, directory_.File(fmt::format("cut-{}", n))).ok());
    for (const LossPolicy loss : {LossPolicy::KeepAll(), LossPolicy::LoseAll(), LossPolicy::Random(n)}) {
      const auto found = cut->Image(loss);
      SCOPED_TRACE(
          fmt::format("cut after {} of {} commands, loss {}", n, commands, static_cast<int>(loss.kind)));
      ExpectEveryFile(*found);
      if (HasFatalFailure()) return;
    }
  }
}

TEST_P(RepairCrash, AnUndoContinuesAfterACut) {
  const auto before = RepairRig::AllZones(rig_.device());
  const auto repaired = rig_.device().Image(LossPolicy::KeepAll());
  const std::string copy = MustRepair(*repaired, directory_);
  const auto whole = repaired->Image(LossPolicy::KeepAll());
  ASSERT_TRUE(IsOk(UndoRepair(*whole, copy)));
  for (std::uint64_t n = 0; n < whole->commands(); ++n) {
    const auto cut = repaired->Image(LossPolicy::KeepAll());
    cut->StopAfter(n);
    EXPECT_FALSE(UndoRepair(*cut, copy).ok());
    for (const LossPolicy loss : {LossPolicy::KeepAll(), LossPolicy::LoseAll(), LossPolicy::Random(n)}) {
      const auto found = cut->Image(loss);
      SCOPED_TRACE(fmt::format("cut after {} of {} commands, loss {}", n, whole->commands(),
                               static_cast<int>(loss.kind)));
      ASSERT_TRUE(IsOk(UndoRepair(*found, copy)));
      ASSERT_EQ(RepairRig::AllZones(*found), before);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Repair, RepairCrash, testing::ValuesIn(MetadataDamages()),
                         [](const auto& each) { return each.param.name; });

}  // namespace
}  // namespace zenfs
