// Backups of files whose bytes do not match their checksums.
#include <gmock/gmock.h>

#include "backup/backup_test_rig.h"
#include "testing/bit_rot.h"

namespace zenfs {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// After MountRotten the volume is on a device with flipped bits.
class BackupOfRot : public BackupTest {
 protected:
  ~BackupOfRot() override {
    rot_.Heal();
    EXPECT_TRUE(IsOk(volume_->Unmount()));  // before the device that it uses is destroyed
    volume_.reset();
  }
  // `reader`: a read-only mount, as the command's.
  void MountRotten(bool reader) {
    ASSERT_TRUE(IsOk(volume_->Unmount()));
    volume_.reset();
    if (reader) view_ = MakeReadOnlyView(rot_);
    auto volume = Volume::Mount(reader ? Borrow(*view_) : Borrow(rot_), {});
    ASSERT_TRUE(IsOk(volume));
    volume_ = *std::move(volume);
  }
  DeviceOffset PlaceOf(const std::string& path) {
    const FileLayout layout = *volume_->Layout(path);
    return layout.extents.empty() ? layout.frames.front().place : layout.extents.front().place;
  }

  BitRot rot_{*device_};
  std::unique_ptr<ZonedDevice> view_;
};

TEST_F(BackupOfRot, ARottenFileIsNamedAndTheOthersAreCopied) {
  Fill();
  for (const bool reader : {true, false}) {
    for (const std::string path : {"db/000011.sst", "db/000020.log", "db/CURRENT"}) {
      MountRotten(reader);
      rot_.Flip(PlaceOf(path) + 13);
      const auto failed = Backup({.force = true});
      EXPECT_EQ(CodeOf(failed), Code::kCorruption) << path;
      EXPECT_THAT(failed.error().text(), HasSubstr("1 file of the volume can't be read or is damaged"));
      EXPECT_THAT(failed.error().text(), HasSubstr(path));
      EXPECT_THAT(failed.error().text(), HasSubstr("zone "));
      EXPECT_THAT(failed.error().text(), HasSubstr("incomplete backup"));
      EXPECT_THAT(observer_.notices, ElementsAre(HasSubstr(path)));
      EXPECT_FALSE(std::filesystem::exists(Dest(path)));
      EXPECT_EQ(observer_.paths.size(), Contents().size() - 1);
      const auto partial = ReadManifest();
      ASSERT_TRUE(IsOk(partial));
      EXPECT_FALSE(partial->complete);
      EXPECT_EQ(partial->files.size(), Contents().size() - 1);
      rot_.Heal();
      ASSERT_TRUE(IsOk(Backup())) << "goes on without --force";
      ExpectBackupIsWhole();
      std::filesystem::remove_all(Dest());
    }
  }
}

// The bytes in the volume rot after a good backup.
TEST_F(BackupOfRot, AGoodCopyIsNotReplacedByRottenBytes) {
  Fill();
  ASSERT_TRUE(IsOk(Backup()));
  MountRotten(true);
  for (const std::string path : {"db/000011.sst", "db/000020.log"}) {
    rot_.Flip(PlaceOf(path) + 13);
    const auto failed = Backup({.force = true, .verify = true});
    EXPECT_EQ(CodeOf(failed), Code::kCorruption) << path;
    EXPECT_THAT(failed.error().text(), HasSubstr(path));
    EXPECT_THAT(failed.error().text(), HasSubstr("has whole copies of all files"));
    EXPECT_THAT(observer_.notices, ElementsAre(HasSubstr("its copy is whole and stays")));
    ExpectBackupIsWhole();
    rot_.Heal();
  }
}

TEST_F(BackupOfRot, AnOlderCopyOfAFileThatChangedAndRottedStaysAndIsListed) {
  Fill();
  ASSERT_TRUE(IsOk(Backup()));
  Put("db/CURRENT", "MANIFEST-000005\n");
  MountRotten(true);
  rot_.Flip(PlaceOf("db/CURRENT"));
  EXPECT_EQ(CodeOf(Backup({.force = true})), Code::kCorruption);
  EXPECT_EQ(HostText(Dest("db/CURRENT")), "MANIFEST-000004\n");
  const auto partial = ReadManifest();
  ASSERT_TRUE(IsOk(partial));
  EXPECT_FALSE(partial->complete);
  EXPECT_TRUE(partial->files.contains(NodeOf("db/CURRENT")));
  rot_.Heal();
  EXPECT_EQ(Backup()->files, 1u);
  EXPECT_EQ(HostText(Dest("db/CURRENT")), "MANIFEST-000005\n");
}

// A reader may look at the layout before, and read after, a log was cleaned into extents or a file was appended to.
TEST_F(BackupTest, AFileThatGetsExtentsWhileItIsReadIsReadAgain) {
  Put("table.sst", "table, ");
  int changes = 0;
  SwitchedPoints::During grow(points_, [&](std::string_view name) {
    if (name != "ReadVolumeFile:laid-out" || ++changes > 1) return;
    auto file = volume_->OpenForAppend("table.sst", false);
    ASSERT_TRUE(IsOk(file) && IsOk((*file)->Append(AsBytes("more"))) && IsOk((*file)->Close()));
  });
  ASSERT_TRUE(IsOk(Backup()));
  EXPECT_EQ(changes, 2);
  EXPECT_EQ(HostText(Dest("table.sst")), "table, more");
}

// A read-only mount beside a writer, whose last log zone goes offline.
TEST(BackupOfALoss, ALogThatMayEndEarlyIsNamedAfterEverythingWasCopied) {
  const TempDirectory directory;
  const auto device = CreateMemoryDevice(SmallGeometry(), {});
  ASSERT_TRUE(IsOk(FormatVolume(*device, {})));
  const auto volume = *Volume::Mount(Borrow(*device), {});
  ASSERT_TRUE(IsOk(volume->MakeDirectory("db", false)));
  ASSERT_TRUE(IsOk(PutFile(*volume, "db/a.sst", "a table")));
  const auto log = *volume->Create("db/b.log");
  const auto zone_of_end = [&] {
    return volume->info().geometry.ZoneOf(volume->Layout("db/b.log")->frames.back().place);
  };
  ASSERT_TRUE(IsOk(log->Append(AsBytes("first"))));
  ASSERT_TRUE(IsOk(log->Sync()));
  const ZoneId first = zone_of_end();
  while (zone_of_end() == first) {
    ASSERT_TRUE(IsOk(log->Append(AsBytes(RandomBytes(100'000, 1)))));
    ASSERT_TRUE(IsOk(log->Sync()));
  }
  ASSERT_TRUE(IsOk(device->SetCondition(zone_of_end(), ZoneCondition::kOffline)));
  const auto reader = Volume::Mount(MakeReadOnlyView(*device), {.read_only = true});
  ASSERT_TRUE(IsOk(reader));
  for (const std::string path : {"", "db"}) {
    RecordingObserver observer;
    const std::string to = directory.File("backup" + path);
    const auto failed = RunBackup(**reader, {.destination = to, .path = path}, observer);
    ASSERT_EQ(CodeOf(failed), Code::kCorruption);
    EXPECT_THAT(failed.error().text(),
                HasSubstr(to + " is complete, but the device has lost, or may have lost"));
    EXPECT_THAT(failed.error().text(), HasSubstr("bytes of these files that were synced: /db/b.log"));
    EXPECT_EQ(HostText(to + (path.empty() ? "/db" : "") + "/a.sst"), "a table");
  }
  IgnoreError(log->Close());
  IgnoreError(volume->Unmount());
}

}  // namespace
}  // namespace zenfs
