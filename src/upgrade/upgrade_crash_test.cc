// Cuts the power at every command of an upgrade and of its undo.
#include <fmt/format.h>

#include <memory>
#include <ostream>
#include <vector>

#include "upgrade/upgrade_test_rig.h"

namespace zenfs {
namespace {

// Of the new metadata: two copies beside the zones of the older one; or, if one zone is empty, one copy in a zone of it.
struct Shape {
  std::string name;
  EmulatorGeometry geometry;
  bool is_full = false;

  friend std::ostream& operator<<(std::ostream& out, const Shape& shape) { return out << shape.name; }
};

class UpgradeCrash : public testing::TestWithParam<Shape> {
 protected:
  UpgradeCrash() : rig_(GetParam().geometry, 2, GetParam().is_full) {}

  // Images that the power loss may leave, and the one that the death of the process leaves.
  static std::vector<std::unique_ptr<CrashDevice>> ImagesOf(const CrashDevice& cut) {
    constexpr std::size_t kImagesMax = 24;
    auto images = cut.EnumerateImages(kImagesMax).images;
    images.push_back(cut.Image(LossPolicy::KeepAll()));
    return images;
  }

  OlderRig rig_;
  TempDirectory directory_;
};

TEST_P(UpgradeCrash, LeavesTheOlderVolumeOrTheNewOne) {
  const auto older_parts = OlderRig::OlderParts(rig_.device());
  const auto whole = rig_.Image();
  MustUpgrade(*whole, directory_);
  const std::uint64_t commands = whole->commands();
  ASSERT_GT(commands, 4u);
  bool was_new = false;
  for (std::uint64_t n = 0; n < commands; ++n) {
    const auto cut = rig_.Image();
    const auto plan = PlanUpgrade(*cut);
    ASSERT_TRUE(IsOk(plan));
    cut->StopAfter(n);
    const std::string saved = directory_.File(fmt::format("cut-{}", n));
    EXPECT_FALSE(CarryOutUpgrade(*cut, *plan, saved).ok());
    for (std::size_t i = 0; const auto& found : ImagesOf(*cut)) {
      SCOPED_TRACE(fmt::format("cut after {} of {} commands, image {}", n, commands, i++));
      ASSERT_EQ(ReadAll(*found), rig_.contents());
      const auto undone = found->Image(LossPolicy::KeepAll());
      if (UndoUpgrade(*undone, saved).ok()) {
        ASSERT_TRUE(IsOlder(*undone));
        ASSERT_EQ(OlderRig::OlderParts(*undone), older_parts);
      }
      ASSERT_EQ(ReadAll(*undone), rig_.contents());
      if (IsOlder(*found)) {
        ASSERT_EQ(OlderRig::OlderParts(*found), older_parts);
        MustUpgrade(*found, directory_);
      } else {
        EXPECT_EQ(n + 1, commands) << "the switch is the last command but the flush behind it";
        was_new = true;
      }
      ASSERT_FALSE(IsOlder(*found));
      ASSERT_EQ(ReadAll(*found), rig_.contents());
      const auto report = CheckVolume(*found, CheckOptions{.read_data = true});
      ASSERT_TRUE(IsOk(report));
      EXPECT_TRUE(report->clean());
    }
  }
  EXPECT_TRUE(was_new) << "no cut was behind the switch";
}

TEST_P(UpgradeCrash, AnUndoLeavesTheNewVolumeOrTheOlderOne) {
  const auto older_parts = OlderRig::OlderParts(rig_.device());
  const auto upgraded = rig_.Image();
  const std::string copy = MustUpgrade(*upgraded, directory_);
  const auto whole = upgraded->Image(LossPolicy::KeepAll());
  ASSERT_TRUE(IsOk(UndoUpgrade(*whole, copy)));
  ASSERT_EQ(OlderRig::OlderParts(*whole), older_parts);
  for (std::uint64_t n = 0; n < whole->commands(); ++n) {
    const auto cut = upgraded->Image(LossPolicy::KeepAll());
    cut->StopAfter(n);
    EXPECT_FALSE(UndoUpgrade(*cut, copy).ok());
    for (std::size_t i = 0; const auto& found : ImagesOf(*cut)) {
      SCOPED_TRACE(fmt::format("cut after {} of {} commands, image {}", n, whole->commands(), i++));
      ASSERT_EQ(ReadAll(*found), rig_.contents());
      if (IsOlder(*found)) {
        ASSERT_EQ(OlderRig::OlderParts(*found), older_parts);
      }
      // Whoever stays with the new volume can, too.
      const auto stays = found->Image(LossPolicy::KeepAll());
      if (!IsOlder(*stays)) {
        ASSERT_TRUE(IsOk(EndInterruptedUndo(*stays)));
        ASSERT_FALSE(IsOlder(*stays));
        const auto volume = Volume::Mount(Borrow(*stays), {});
        ASSERT_TRUE(IsOk(volume));
        ASSERT_TRUE(IsOk((*volume)->Unmount()));
        ASSERT_EQ(ReadAll(*stays), rig_.contents());
      }
      ASSERT_TRUE(IsOk(UndoUpgrade(*found, copy)));
      ASSERT_TRUE(IsOlder(*found));
      ASSERT_EQ(OlderRig::OlderParts(*found), older_parts);
      ASSERT_EQ(ReadAll(*found), rig_.contents());
    }
  }
}

// After a torn write a read may return what was there before the last reset: a superblock of the older ZenFS.
TEST_P(UpgradeCrash, ALaterLogSwitchNeverShowsTheOlderVolume) {
  const auto upgraded = rig_.Image();
  MustUpgrade(*upgraded, directory_);
  const auto switched = [](CrashDevice& device) -> Status {
    const auto superblock = ProbeSuperblock(device);
    if (!superblock) return Fail(superblock.error());
    const auto log = Metalog::Open(device, *superblock);
    if (!log) return Fail(log.error());
    for (int i = 0; i < 3; ++i) {
      if (Status done = (*log)->Switch(); !done.ok()) return done;
    }
    (*log)->Stop();
    return {};
  };
  const auto whole = upgraded->Image(LossPolicy::KeepAll());
  ASSERT_TRUE(IsOk(switched(*whole)));
  for (std::uint64_t n = 0; n < whole->commands(); ++n) {
    const auto cut = upgraded->Image(LossPolicy::KeepAll());
    cut->StopAfter(n);
    EXPECT_FALSE(switched(*cut).ok());
    for (std::size_t i = 0; const auto& found : ImagesOf(*cut)) {
      SCOPED_TRACE(fmt::format("cut after {} of {} commands, image {}", n, whole->commands(), i++));
      ASSERT_FALSE(IsOlder(*found));
      ASSERT_EQ(ReadAll(*found), rig_.contents());
    }
  }
}

EmulatorGeometry With(std::uint32_t max_active) {
  EmulatorGeometry geometry = SmallGeometry();
  geometry.max_open = geometry.max_active = max_active;
  return geometry;
}

INSTANTIATE_TEST_SUITE_P(Upgrade, UpgradeCrash,
                         testing::Values(Shape{"TwoCopies", SmallGeometry()}, Shape{"FewSlots", With(9)},
                                         Shape{"Full", SmallGeometry(), true}),
                         [](const auto& each) { return each.param.name; });

}  // namespace
}  // namespace zenfs
