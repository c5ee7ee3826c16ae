// Backups of files with several names. Each name is a file of the backup; the volume is read once.
#include <gmock/gmock.h>

#include "backup/backup_test_rig.h"
#include "testing/bit_rot.h"

namespace zenfs {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

constexpr int kNames = 6;

class BackupOfNames : public BackupTest {
 protected:
  ~BackupOfNames() override {
    rot_.Heal();
    EXPECT_TRUE(IsOk(volume_->Unmount()));  // before the device that it uses is destroyed
    volume_.reset();
  }

  // Mounts the volume on a device that counts commands; `reader`: for reading only, as the command does.
  void MountCounting(bool reader) {
    EXPECT_TRUE(IsOk(volume_->Unmount()));
    volume_.reset();
    counting_ = std::make_unique<FaultyDevice>(Borrow(rot_));
    if (reader) view_ = MakeReadOnlyView(*counting_);
    auto volume = Volume::Mount(reader ? Borrow(*view_) : Borrow(*counting_), {});
    ASSERT_TRUE(IsOk(volume));
    volume_ = *std::move(volume);
  }
  void AddNames(const std::string& file, int count = kNames) {
    for (int i = 1; i < count; ++i) ASSERT_TRUE(IsOk(volume_->Link(file, Name(i))));
  }
  static std::string Name(int i) { return "name" + std::to_string(i); }

  // The device reads of a backup, also of one that fails.
  std::uint64_t ReadsOf(const BackupOptions& options, std::optional<Code> expected = {}) {
    const std::uint64_t before = counting_->count(FaultyDevice::Command::kRead);
    const auto summary = Backup(options);
    EXPECT_EQ(summary ? std::nullopt : std::optional(summary.error().code()), expected);
    return counting_->count(FaultyDevice::Command::kRead) - before;
  }
  void ExpectCopies(const std::string& file, const std::string& content, int count = kNames) {
    EXPECT_TRUE(HostText(Dest(file)) == content);
    for (int i = 1; i < count; ++i) EXPECT_TRUE(HostText(Dest(Name(i))) == content) << i;
    const auto manifest = ReadManifest();
    ASSERT_TRUE(IsOk(manifest));
    EXPECT_TRUE(manifest->complete);
    EXPECT_EQ(manifest->files.size(), static_cast<std::size_t>(count));
  }

  BitRot rot_{*device_};
  std::unique_ptr<FaultyDevice> counting_;
  std::unique_ptr<ZonedDevice> view_;
  const std::string content_ = RandomBytes((1 << 20) + 5, 1);
};

// They would count again after a restore into the same volume, and let an old copy of a directory have its files.
TEST_F(BackupOfNames, RecordsOfDirectoriesOfTheHostAreNotSaved) {
  for (const char* const path : {"/.zenfs-bound/UUID.6/0123456789abcdef", "/db/.zenfs-bound"})
    ASSERT_TRUE(IsOk(volume_->MakeDirectory(path, /*parents=*/true)));
  ASSERT_TRUE(IsOk(Backup({})));
  EXPECT_FALSE(std::filesystem::exists(Dest(".zenfs-bound")));
  EXPECT_TRUE(std::filesystem::exists(Dest("db/.zenfs-bound")));
}

TEST_F(BackupOfNames, TheBytesAreReadFromTheVolumeOnce) {
  Put("a.sst", content_);
  MountCounting(false);
  const std::uint64_t of_one = ReadsOf({});
  AddNames("a.sst");
  std::filesystem::remove_all(Dest());
  EXPECT_LE(ReadsOf({}), of_one);
  ExpectCopies("a.sst", content_);
  EXPECT_EQ(observer_.last_done, kNames * content_.size());
}

TEST_F(BackupOfNames, TheBytesAreVerifiedAgainstTheVolumeOnce) {
  Put("a.sst", content_);
  MountCounting(false);
  ASSERT_TRUE(IsOk(Backup()));
  const std::uint64_t of_one = ReadsOf({.force = true, .verify = true});
  AddNames("a.sst");
  ASSERT_TRUE(IsOk(Backup({.force = true})));
  EXPECT_LE(ReadsOf({.force = true, .verify = true}), of_one);
  EXPECT_THAT(observer_.notices, IsEmpty());
  PutHost(Dest(Name(3)), std::string(content_.size(), 'x'));
  PutHost(Dest(Name(4)), std::string(content_.size(), 'x'));
  EXPECT_LE(ReadsOf({.force = true, .verify = true}), 2 * of_one);
  EXPECT_EQ(observer_.notices.size(), 2u);
  ExpectCopies("a.sst", content_);
}

// The layout of a log costs a reader a look at the log zones.
TEST_F(BackupOfNames, ALogIsMarkedOnceToSeeThatItIsUnchanged) {
  Put("1.log", content_.substr(0, 70'000));
  AddNames("1.log", 2);
  MountCounting(true);
  ASSERT_TRUE(IsOk(Backup()));
  const std::uint64_t of_two = ReadsOf({.force = true});
  MountCounting(false);
  for (int i = 2; i < kNames; ++i) ASSERT_TRUE(IsOk(volume_->Link("1.log", Name(i))));
  MountCounting(true);
  ASSERT_TRUE(IsOk(Backup({.force = true})));
  EXPECT_LE(ReadsOf({.force = true}), of_two);
  ExpectCopies("1.log", content_.substr(0, 70'000));
}

TEST_F(BackupOfNames, DamageIsReadOnceAndNamedForEachName) {
  Put("a.sst", content_);
  MountCounting(false);
  rot_.Flip(volume_->Layout("a.sst")->extents.front().place + 13);
  const std::uint64_t of_one = ReadsOf({}, Code::kCorruption);
  AddNames("a.sst");
  EXPECT_LE(ReadsOf({}, Code::kCorruption), of_one);
  EXPECT_EQ(observer_.notices.size(), static_cast<std::size_t>(kNames));
  EXPECT_THAT(observer_.notices.back(), HasSubstr(": the same file as a.sst"));
  EXPECT_FALSE(std::filesystem::exists(Dest(Name(2))));
  rot_.Heal();
  ASSERT_TRUE(IsOk(Backup()));
  ExpectCopies("a.sst", content_);

  rot_.Flip(volume_->Layout("a.sst")->extents.front().place + 13);
  EXPECT_LE(ReadsOf({.force = true, .verify = true}, Code::kCorruption), of_one);
  EXPECT_EQ(observer_.notices.size(), static_cast<std::size_t>(kNames));
  EXPECT_THAT(observer_.notices.back(), HasSubstr("its copy is whole and stays"));
}

// Another user of the directory changes the first copy before the others are made.
TEST_F(BackupOfNames, AChangedCopyIsNotTheSourceOfOthers) {
  Put("a.sst", content_);
  AddNames("a.sst", 3);
  int opened = 0;
  {
    const SwitchedPoints::During changes(points_, [&](std::string_view name) {
      if (name != "BackupRun::Copy" || ++opened != 2) return;
      std::fstream(Dest("a.sst"), std::ios::binary | std::ios::in | std::ios::out) << "changed";
    });
    ASSERT_TRUE(IsOk(Backup()));
  }
  EXPECT_TRUE(HostText(Dest("a.sst")).starts_with("changed"));
  EXPECT_TRUE(HostText(Dest(Name(1))) == content_);
  EXPECT_TRUE(HostText(Dest(Name(2))) == content_);
}

TEST_F(BackupOfNames, AFileThatGrowsBetweenItsNamesIsReadAgain) {
  Put("1.log", "first");
  AddNames("1.log", 3);
  int opened = 0;
  {
    const SwitchedPoints::During changes(points_, [&](std::string_view name) {
      if (name != "BackupRun::Copy" || ++opened != 2) return;
      auto file = volume_->OpenForAppend("1.log", false);
      ASSERT_TRUE(IsOk(file));
      ASSERT_TRUE(IsOk((*file)->Append(AsBytes(std::string_view(" second")))));
      ASSERT_TRUE(IsOk((*file)->Close()));
    });
    ASSERT_TRUE(IsOk(Backup()));
  }
  EXPECT_EQ(HostText(Dest("1.log")), "first");
  EXPECT_EQ(HostText(Dest(Name(1))), "first second");
  EXPECT_EQ(HostText(Dest(Name(2))), "first second");
  const auto again = Backup({.force = true});
  ASSERT_TRUE(IsOk(again));
  EXPECT_EQ(again->files, 1u);
  ExpectCopies("1.log", "first second", 3);
}

TEST_F(BackupOfNames, ANameThatLeadsToAnotherFileMeanwhileGetsItsBytes) {
  Put("a.sst", content_);
  AddNames("a.sst", 2);
  int opened = 0;
  {
    const SwitchedPoints::During changes(points_, [&](std::string_view name) {
      if (name == "BackupRun::Copy" && ++opened == 2) Put(Name(1), std::string(content_.size(), 'x'));
    });
    ASSERT_TRUE(IsOk(Backup()));
  }
  EXPECT_TRUE(HostText(Dest(Name(1))) == std::string(content_.size(), 'x'));
}

// Before this, the loops before the first change asked nobody.
TEST_F(BackupOfNames, AnInterruptedRunThatHasCopiedNothingChangesNothing) {
  Put("a.sst", content_);
  AddNames("a.sst");
  ASSERT_TRUE(IsOk(Backup()));
  const std::atomic<bool> stop{true};
  EXPECT_EQ(CodeOf(Backup({.force = true, .stop = &stop})), Code::kShutdown);
  ExpectCopies("a.sst", content_);
}

}  // namespace
}  // namespace zenfs
