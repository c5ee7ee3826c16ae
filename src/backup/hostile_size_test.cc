// Backups and restores of sources that others made so that they need much memory, or much room on the host.
#include <gmock/gmock.h>
#include <sys/resource.h>

#include "backup/backup_test_rig.h"
#include "backup/restore_plan.h"
#include "volume/aux_volume.h"

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

RestoreItem ItemOf(const std::string& name, std::uint64_t size) {
  return {.relative = name,
          .host_path = name,
          .destination = name,
          .size = size,
          .mtime_ns = 0,
          .crc32c = std::nullopt,
          .lifetime = Lifetime::kNotSet};
}

// Not each file system of a host has files of such sizes, so only the plan is made.
TEST_F(HostileSizeTest, SizesWhoseSumOverflowsAreRefusedBeforeAnythingIsWritten) {
  constexpr std::uint64_t kHalf = (std::uint64_t{1} << 63) - 4096;
  RestoreSource source{.directory = *HostDirectory::Open(directory_.path()), .identity = "a restore"};
  source.items = {ItemOf("a.sst", kHalf), ItemOf("b.sst", kHalf), ItemOf("c.sst", 8292)};
  const auto record = RestoreRecord::Open(*volume_, source.identity);
  ASSERT_TRUE(IsOk(record));
  const auto refused = PlanRestore(*volume_, source, **record, "", false);
  ASSERT_EQ(CodeOf(refused), Code::kNoSpace);
  EXPECT_THAT(refused.error().text(), HasSubstr("and 16384 PiB are to be restored; nothing was changed"));
}

class RestoreToTheHost : public BackupTest {
 protected:
  RestoreToTheHost() { fs::create_directory(aux_); }
  ~RestoreToTheHost() override { with_aux_.reset(); }

  const std::string aux_ = directory_.File("aux");
  std::shared_ptr<Volume> with_aux_ = std::make_shared<AuxVolume>(volume_, AuxDirectory(aux_));
};

TEST_F(RestoreToTheHost, AFileForTheAuxDirectoryMustFitThereBeforeAnythingIsWritten) {
  RestoreSource source{.directory = *HostDirectory::Open(directory_.path()), .identity = "a restore"};
  source.items = {ItemOf("LOG", std::uint64_t{1} << 62), ItemOf("a.sst", 8292)};
  const auto record = RestoreRecord::Open(*with_aux_, source.identity);
  ASSERT_TRUE(IsOk(record));
  const auto refused = PlanRestore(*with_aux_, source, **record, "", false);
  ASSERT_EQ(CodeOf(refused), Code::kNoSpace);
  EXPECT_THAT(refused.error().text(), HasSubstr("the aux directory " + aux_ + " has room for "));
  EXPECT_THAT(refused.error().text(),
              HasSubstr("and 4096 PiB are to be restored there; nothing was changed"));
}

TEST_F(RestoreToTheHost, AFileForTheAuxDirectoryNeedsNoRoomOnTheDevice) {
  PutHost(Dest("LOG"), "");
  fs::resize_file(Dest("LOG"), 2 * volume_->Space().total);
  PutHost(Dest("a.sst"), "a");
  const RestoreOptions options{.source = Dest()};
  ASSERT_TRUE(IsOk(RunRestore(*with_aux_, options, observer_)));
  EXPECT_EQ(fs::file_size(aux_ + "/LOG"), 2 * volume_->Space().total);
  EXPECT_EQ(Get("a.sst"), "a");
}

}  // namespace
}  // namespace zenfs
