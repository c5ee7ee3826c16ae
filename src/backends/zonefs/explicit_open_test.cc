#include "backends/zonefs/explicit_open.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "testing/plain_zone_files.h"
#include "testing/temp_directory.h"

namespace zenfs {
namespace {

class ExplicitOpenTest : public testing::Test {
 protected:
  void Write(std::uint32_t zone) { std::ofstream(files.Path(ZoneId(zone))) << "x"; }
  // The count that zonefs reports: 5 active zones and, with explicit-open, the open ones.
  ActiveCount CountOf(bool explicit_open) {
    return
        [this, explicit_open] { return 5u + (explicit_open && !files.OpenForWriting().empty() ? 1u : 0u); };
  }

  TempDirectory directory;
  PlainZoneFiles files{directory.path(), {.zones = 3, .max_open = 2}};
};

TEST_F(ExplicitOpenTest, CountThatMovesWithAnOpenFileTells) {
  EXPECT_EQ(IsExplicitOpen(files, CountOf(true), 6), true);
  EXPECT_EQ(IsExplicitOpen(files, CountOf(false), 6), false);
  EXPECT_EQ(files.OpenForWriting(), "") << "and is closed again";
}

TEST_F(ExplicitOpenTest, FirstEmptyZoneIsTried) {
  Write(0);
  EXPECT_EQ(IsExplicitOpen(files, CountOf(true), 6), true);
  Write(1);
  Write(2);
  EXPECT_EQ(IsExplicitOpen(files, CountOf(true), 6), std::nullopt) << "there is none left";
}

TEST_F(ExplicitOpenTest, WithoutACountNothingIsTouched) {
  EXPECT_EQ(IsExplicitOpen(files, [] { return std::optional<std::uint32_t>(); }, 6), std::nullopt);
}

TEST_F(ExplicitOpenTest, NoZoneTooManyIsOpened) {
  EXPECT_EQ(IsExplicitOpen(files, CountOf(true), 5), std::nullopt);
  EXPECT_EQ(IsExplicitOpen(files, CountOf(true), 0), true) << "no limit";
}

TEST_F(ExplicitOpenTest, LimitThatIsMetIsOneOfExplicitOpen) {
  Write(0);
  Write(1);
  const auto first = files.OpenToWrite(ZoneId(0));
  const auto second = files.OpenToWrite(ZoneId(1));
  EXPECT_EQ(IsExplicitOpen(files, CountOf(false), 6), true);
}

}  // namespace
}  // namespace zenfs
