// Backups and restores of sources that others made so that they need much memory, or much room on the host.
#include <gmock/gmock.h>
#include <sys/resource.h>

#include "backup/backup_test_rig.h"

namespace zenfs {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

namespace fs = std::filesystem;

using HostileSizeTest = BackupTest;

long PeakKib() {
  rusage usage{};
  EXPECT_EQ(::getrusage(RUSAGE_SELF, &usage), 0);
  return usage.ru_maxrss;
}

// Half of the lines are for files of other names, half for a file of the same name in other directories.
TEST_F(HostileSizeTest, HintsForFilesThatAreNotRestoredCostNoMemory) {
  PutHost(Dest("a.sst"), "a");
  PutHost(Dest("sub/b.sst"), "b");
  {
    std::ofstream hints(Dest(std::string(kHintsFile)), std::ios::binary);
    for (int i = 0; i < 1'000'000; ++i) hints << i << ".sst\t3\n" << i << "/b.sst\t5\n";
    hints << "a.sst\t4\n";
  }
  const long before = PeakKib();
  ASSERT_TRUE(IsOk(Restore()));
  EXPECT_LT(PeakKib() - before, 30'000);
  EXPECT_EQ(volume_->Stat("a.sst")->lifetime, Lifetime::kLong);
  EXPECT_EQ(volume_->Stat("sub/b.sst")->lifetime, Lifetime::kExtreme) << "by its name";
  EXPECT_THAT(observer_.notices, IsEmpty());
}

// Two cases: a line that never ends, and a file that is larger than any backup's.
TEST_F(HostileSizeTest, AFileOfHintsThatCanNotBeUsedCostsANoticeAndNoData) {
  const std::string hints = Dest(std::string(kHintsFile));
  for (const bool endless : {true, false}) {
    PutHost(Dest("a.sst"), "a");
    PutHost(hints, "a.sst\t4\n" + (endless ? std::string(70'000, 'x') : ""));
    if (!endless) fs::resize_file(hints, (std::uint64_t{1} << 30) + 1);
    ASSERT_TRUE(IsOk(Restore({.force = true})));
    EXPECT_EQ(Get("a.sst"), "a");
    EXPECT_EQ(volume_->Stat("a.sst")->lifetime, Lifetime::kNotSet);
    EXPECT_THAT(observer_.notices, ElementsAre(HasSubstr(hints)));
    EXPECT_THAT(observer_.notices, ElementsAre(HasSubstr(endless ? "line 2 has more than 65536 bytes"
                                                                 : "has 1073741825 bytes")));
    ASSERT_TRUE(IsOk(volume_->Unlink("a.sst")));
  }
}

}  // namespace
}  // namespace zenfs
