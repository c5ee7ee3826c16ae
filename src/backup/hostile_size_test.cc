// Backups and restores of sources that others made so that they need much memory, or much room on the host.
#include <gmock/gmock.h>
#include <sys/resource.h>

#include "backup/backup_test_rig.h"
#include "base/free_bytes.h"
#include "testing/direct_commit.h"
#include "volume/aux_directory/aux_volume.h"

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

void AddItem(RestoreSource& source, const std::string& name, std::uint64_t size) {
  source.items.push_back({.node = source.paths.Add(kTopNode, name), .size = size, .crc32c = std::nullopt});
}

// Not each file system of a host has files of such sizes, so only the plan is made.
TEST_F(HostileSizeTest, SizesWhoseSumOverflowsAreRefusedBeforeAnythingIsWritten) {
  constexpr std::uint64_t kHalf = (std::uint64_t{1} << 63) - 4096;
  RestoreSource source{.directory = *HostDirectory::Open(directory_.path()), .into = ""};
  AddItem(source, "a.sst", kHalf);
  AddItem(source, "b.sst", kHalf);
  AddItem(source, "c.sst", 8292);
  const auto record =
      RestoreRecord::Open(*volume_, source.identity, source.items.size(), [] { return Status(); });
  ASSERT_TRUE(IsOk(record));
  const auto refused = PlanRestore(*volume_, source, **record, false);
  ASSERT_EQ(CodeOf(refused), Code::kNoSpace);
  EXPECT_THAT(refused.error().text(), HasSubstr("and 16384 PiB are to be written; nothing was changed"));
}

// 4,000 empty files take no room on the device, and their paths 16 MB in each file of the record.
TEST_F(HostileSizeTest, TheRecordOfLongPathsMustFitTheHostBeforeAnythingIsCopied) {
  AddDeepTree(2000, "d", 4000);
  {
    const FreeBytesForTests full(5 << 20);
    const auto refused = Backup();
    ASSERT_EQ(CodeOf(refused), Code::kNoSpace);
    EXPECT_THAT(refused.error().text(), HasSubstr("has room for 5.00 MiB, and 55.1 MiB are to be written"));
    EXPECT_TRUE(fs::is_empty(Dest()));
  }
}

class RestoreOfAForgery : public BackupTest {
 protected:
  RestoreOfAForgery() { PutHost(Dest("a.sst"), "a"); }
  // A record as an interrupted restore leaves it, with `text` behind its first line.
  void PutRecord(const std::string& text) {
    const auto source = OpenRestoreSource(Dest(), "", false);
    ASSERT_TRUE(IsOk(source));
    Put(std::string(kRestoreRecord), source->identity + "\n" + text);
  }
  static std::string Lines(int count) {
    std::string text;
    for (int i = 0; i < count; ++i) {
      text +=
          R"({"crc32c":1,"id":)" + std::to_string(1000 + i) + R"(,"mtime_ns":1,"path_crc32c":1,"size":1})";
      text += '\n';
    }
    return text;
  }
};

TEST_F(RestoreOfAForgery, ARecordWithoutFilesIsDamage) {
  PutRecord(std::string(10'000, '\n'));
  ASSERT_TRUE(IsOk(Restore())) << "as many runs may have been interrupted";
  ASSERT_TRUE(IsOk(volume_->Unlink("a.sst")));
  PutRecord(std::string(10'001, '\n'));
  const auto refused = Restore();
  ASSERT_EQ(CodeOf(refused), Code::kCorruption);
  EXPECT_THAT(refused.error().text(), HasSubstr("more than 10000 lines that are empty or incomplete"));
  EXPECT_THAT(Names(""), ElementsAre(std::string(kRestoreRecord)));
}

// Its extents may show the same bytes again and again, so that a small volume has one of many GiB.
TEST_F(RestoreOfAForgery, ARecordLongerThanThatOfAllFilesIsDamage) {
  PutRecord(Lines(20'000));
  const auto refused = Restore();
  ASSERT_EQ(CodeOf(refused), Code::kCorruption);
  EXPECT_THAT(refused.error().text(), HasSubstr("has more than 1048832 bytes, the most for 1 file"));
  EXPECT_THAT(Names(""), ElementsAre(std::string(kRestoreRecord)));
}

TEST_F(RestoreOfAForgery, ARestoreIsInterruptedWhileItReadsARecord) {
  PutRecord(Lines(1000));
  Put("a.sst", "another");  // refused later
  const std::atomic<bool> stop{true};
  EXPECT_EQ(CodeOf(Restore({.stop = &stop})), Code::kShutdown);
}

class RestoreToTheHost : public BackupTest {
 protected:
  RestoreToTheHost() { fs::create_directory(aux_); }
  ~RestoreToTheHost() override { with_aux_.reset(); }

  const std::string aux_ = directory_.File("aux");
  std::shared_ptr<Volume> with_aux_ = std::make_shared<AuxVolume>(volume_, AuxDirectory(aux_));
};

TEST_F(RestoreToTheHost, AFileForTheAuxDirectoryMustFitThereBeforeAnythingIsWritten) {
  RestoreSource source{.directory = *HostDirectory::Open(directory_.path()), .into = ""};
  AddItem(source, "LOG", std::uint64_t{1} << 62);
  AddItem(source, "a.sst", 8292);
  const auto record =
      RestoreRecord::Open(*with_aux_, source.identity, source.items.size(), [] { return Status(); });
  ASSERT_TRUE(IsOk(record));
  const auto refused = PlanRestore(*with_aux_, source, **record, false);
  ASSERT_EQ(CodeOf(refused), Code::kNoSpace);
  EXPECT_THAT(refused.error().text(), HasSubstr("the aux directory " + aux_ + " has room for "));
  EXPECT_THAT(refused.error().text(), HasSubstr("and 4096 PiB are to be written there; nothing was changed"));
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

class BackupOfAForgery : public BackupTest {
 protected:
  ~BackupOfAForgery() override {
    for (const std::string& name : forged_)
      EXPECT_TRUE(IsOk(volume_->Unlink(name)));  // the volume is sound again
  }
  // Adds a file whose extents are those of `of`, `times` times one after the other.
  void Forge(const std::string& name, const std::string& of, std::uint64_t times) {
    const std::vector<Extent> extents = volume_->Layout(of)->extents;
    ASSERT_TRUE(IsOk(volume_->Unmount()));
    volume_.reset();
    ASSERT_TRUE(IsOk(CommitDirectly(*device_, [&](const State& state) {
      const std::uint64_t id = state.next_id();
      SetExtents content{.id = FileId(id), .extents = {}, .mtime_seconds = 1};
      for (std::uint64_t i = 0; i < times; ++i) {
        for (Extent extent : extents) {
          extent.file_offset = content.size;
          content.size += extent.length;
          content.extents.push_back(extent);
        }
      }
      return std::vector<Edit>{RaiseCounters{id + 1, 0}, CreateFile{.id = content.id},
                               LinkFile{kRootDirectory, name, content.id}, content};
    })));
    forged_.push_back(name);
    Mount();
  }

  const std::string content_ = RandomBytes(512 << 10, 1);
  std::vector<std::string> forged_;
};

TEST_F(BackupOfAForgery, OverlappingFilesThatExceedTheDeviceAreNamedAndTheOthersAreCopied) {
  Put("a.sst", content_);
  Put("z.sst", "z");
  Forge("forged.sst", "a.sst", 400);
  const auto failed = Backup();
  ASSERT_EQ(CodeOf(failed), Code::kCorruption);
  EXPECT_THAT(failed.error().text(), HasSubstr("1 file of the volume can't be read or is damaged"));
  EXPECT_THAT(failed.error().text(), HasSubstr("forged.sst: its extents overlap on the device"));
  EXPECT_THAT(failed.error().text(), HasSubstr("incomplete backup, 2 of 3 files are in it"));
  EXPECT_THAT(observer_.notices, ElementsAre(HasSubstr("forged.sst")));
  EXPECT_EQ(HostText(Dest("a.sst")), content_);
  EXPECT_EQ(HostText(Dest("z.sst")), "z");
  EXPECT_FALSE(fs::exists(Dest("forged.sst")));
}

// What the first run copied counts for the second.
TEST_F(BackupOfAForgery, ARunThatGoesOnDoesNotCopyWhatTheFirstLeftOut) {
  Put("a.sst", content_);
  Forge("forged.sst", "a.sst", volume_->Space().total / content_.size());
  EXPECT_EQ(CodeOf(Backup()), Code::kCorruption);
  EXPECT_EQ(CodeOf(Backup()), Code::kCorruption);
  EXPECT_FALSE(fs::exists(Dest("forged.sst")));
  EXPECT_EQ(HostText(Dest("a.sst")), content_);
}

// Damage that costs no room is no reason to leave a file out: its checksums decide.
TEST_F(BackupOfAForgery, OverlappingFilesThatFitTheDeviceAreCopied) {
  Put("a.sst", content_);
  Forge("forged.sst", "a.sst", 2);
  ASSERT_TRUE(IsOk(Backup()));
  EXPECT_EQ(HostText(Dest("a.sst")), content_);
  EXPECT_EQ(HostText(Dest("forged.sst")), content_ + content_);
}

// A file is copied once a name, so names of one file may need more room than the device has.
TEST_F(HostileSizeTest, AFileWithManyNamesIsCopiedIfTheHostHasRoomForAllOfThem) {
  const std::string content = RandomBytes(4 << 20, 1);
  Put("a.sst", content);
  for (int i = 0; i < 10; ++i) ASSERT_TRUE(IsOk(volume_->Link("a.sst", std::to_string(i) + ".sst")));
  {
    const FreeBytesForTests full(5 << 20);
    const auto refused = Backup();
    ASSERT_EQ(CodeOf(refused), Code::kNoSpace);
    EXPECT_THAT(refused.error().text(),
                HasSubstr(Dest() + " has room for 5.00 MiB, and 44.0 MiB are to be written: each file once"));
    EXPECT_TRUE(fs::is_empty(Dest()));
  }
  ASSERT_TRUE(IsOk(Backup()));
  EXPECT_EQ(HostText(Dest("9.sst")), content);
}

}  // namespace
}  // namespace zenfs
