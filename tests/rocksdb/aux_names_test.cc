// One view of the names LOG and LOCK, whether they are on the host or in the volume.
#include <gmock/gmock.h>

#include "aux_path_rig.h"

namespace zenfs {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

TEST_F(AuxPath, DatabaseWithLogAndLockInTheVolumeIsDestroyedWhole) {
  OpenDb();
  db.reset();
  PutIntoVolume("/a/db/LOG", "a log");
  PutIntoVolume("/a/db/LOCK", "");
  PutIntoVolume("/a/db/LOG.old.7", "an old log");
  EXPECT_EQ(ReadWhole(*fs, "/a/db/LOG.old.7"), "an old log");
  OpenDb();  // renames LOG
  db.reset();
  ASSERT_STATUS_OK(rocksdb::DestroyDB("/a/db", Options()));
  EXPECT_THAT(Children("/a"), IsEmpty());
  ASSERT_STATUS_OK(fs->DeleteDir("/a", kIo, nullptr));
}

TEST_F(AuxPath, ListedNameIsOpenedRenamedLinkedAndDeletedOnEitherSide) {
  PutIntoVolume("/d/LOG", "in the volume");
  ASSERT_STATUS_OK(WriteWhole(*fs, "/d/LOG.old.1", "on the host"));
  EXPECT_THAT(Children("/d"), UnorderedElementsAre("LOG", "LOG.old.1"));
  std::uint64_t size = 0;
  ASSERT_STATUS_OK(fs->GetFileSize("/d/LOG", kIo, &size, nullptr));
  EXPECT_EQ(size, 13u);
  ASSERT_STATUS_OK(fs->LinkFile("/d/LOG", "/d/LOG.old.2", kIo, nullptr));
  ASSERT_STATUS_OK(fs->RenameFile("/d/LOG", "/d/LOG.old.3", kIo, nullptr));
  ASSERT_STATUS_OK(fs->RenameFile("/d/LOG.old.1", "/d/copy", kIo, nullptr));
  ASSERT_STATUS_OK(fs->RenameFile("/d/copy", "/d/LOG.old.4", kIo, nullptr));
  EXPECT_THAT(Children("/d"), UnorderedElementsAre("LOG.old.2", "LOG.old.3", "LOG.old.4"));
  EXPECT_EQ(ReadWhole(*fs, "/d/LOG.old.3"), "in the volume");
  EXPECT_EQ(ReadWhole(*fs, "/d/LOG.old.4"), "on the host");
  EXPECT_TRUE(IsMissing("/d/LOG"));
  std::unique_ptr<rocksdb::FSWritableFile> file;
  ASSERT_STATUS_OK(fs->ReopenWritableFile("/d/LOG.old.3", FileOptions(), &file, nullptr));
  ASSERT_STATUS_OK(file->Append("!", kIo, nullptr));
  ASSERT_STATUS_OK(file->Close(kIo, nullptr));
  EXPECT_EQ(ReadWhole(*fs, "/d/LOG.old.2"), "in the volume!");
  for (const std::string& name : Children("/d")) {
    ASSERT_STATUS_OK(fs->DeleteFile("/d/" + name, kIo, nullptr));
  }
  ASSERT_STATUS_OK(fs->DeleteDir("/d", kIo, nullptr));
}

TEST_F(AuxPath, NameInBothPlacesIsOneFile) {
  ASSERT_STATUS_OK(fs->CreateDir("/d", kIo, nullptr));
  ASSERT_STATUS_OK(WriteWhole(*fs, "/d/LOG", "new"));
  PutIntoVolume("/d/LOG", "stale");
  PutIntoVolume("/d/LOG.old.1", "stale too");
  EXPECT_THAT(Children("/d"), UnorderedElementsAre("LOG", "LOG.old.1"));
  EXPECT_EQ(ReadWhole(*fs, "/d/LOG"), "new");
  ASSERT_STATUS_OK(fs->RenameFile("/d/LOG", "/d/LOG.old.1", kIo, nullptr));
  EXPECT_THAT(Children("/d"), UnorderedElementsAre("LOG.old.1"));
  ASSERT_STATUS_OK(fs->DeleteFile("/d/LOG.old.1", kIo, nullptr));
  EXPECT_THAT(Children("/d"), IsEmpty());
  EXPECT_TRUE(fs->DeleteFile("/d/LOG.old.1", kIo, nullptr).IsPathNotFound());
  PutIntoVolume("/d/LOG", "stale");
  ASSERT_STATUS_OK(WriteWhole(*fs, "/d/LOG", "new"));
  EXPECT_EQ(OnHost("/d/LOG"), "new");
  ASSERT_STATUS_OK(fs->DeleteFile("/d/LOG", kIo, nullptr));
  EXPECT_THAT(Children("/d"), IsEmpty());
}

TEST_F(AuxPath, DirectoryAndFileDoNotShareAName) {
  ASSERT_STATUS_OK(WriteWhole(*fs, "/LOG", "log"));
  EXPECT_TRUE(fs->CreateDir("/LOG", kIo, nullptr).IsIOError());
  EXPECT_TRUE(fs->CreateDirIfMissing("/LOG/below", kIo, nullptr).IsIOError());
  ASSERT_STATUS_OK(fs->CreateDir("/d", kIo, nullptr));
  EXPECT_TRUE(fs->RenameFile("/d", "/LOG", kIo, nullptr).IsIOError());
  EXPECT_TRUE(fs->RenameFile("/LOG", "/d", kIo, nullptr).IsIOError());
  EXPECT_EQ(ReadWhole(*fs, "/LOG"), "log");
  EXPECT_THAT(Children("/"), UnorderedElementsAre("LOG", "d"));
}

TEST_F(AuxPath, OthersEntriesOnTheHostAreNotListedAndKeepNoDirectory) {
  ASSERT_STATUS_OK(fs->CreateDir("/d", kIo, nullptr));
  std::filesystem::create_directories(aux + "/d/LOG");  // a directory in the place of a file
  std::filesystem::create_symlink("/etc/passwd", aux + "/d/LOG.old.1");
  EXPECT_THAT(Children("/d"), IsEmpty());
  ASSERT_STATUS_OK(fs->DeleteDir("/d", kIo, nullptr));
  EXPECT_TRUE(std::filesystem::exists(aux + "/d/LOG"));
}

TEST_F(AuxPath, DirectoriesOfTheVolumeAreTheTruth) {
  std::filesystem::create_directory(aux + "/stale");
  std::ofstream(aux + "/stale/LOG") << "of an earlier life";
  EXPECT_TRUE(IsMissing("/stale/LOG"));
  EXPECT_TRUE(IsMissing("/stale"));
  std::unique_ptr<rocksdb::FSWritableFile> file;
  EXPECT_TRUE(fs->NewWritableFile("/stale/LOG", FileOptions(), &file, nullptr).IsPathNotFound());
  std::vector<std::string> names;
  EXPECT_TRUE(fs->GetChildren("/stale", kIo, &names, nullptr).IsNotFound());
  ASSERT_STATUS_OK(fs->CreateDir("/LOG", kIo, nullptr));  // a directory may be called so
  ASSERT_STATUS_OK(WriteWhole(*fs, "/LOG/LOG", "a log in it"));
  EXPECT_EQ(OnHost("/LOG/LOG"), "a log in it");
  EXPECT_THAT(Children("/"), UnorderedElementsAre("LOG"));
  bool is_directory = false;
  ASSERT_STATUS_OK(fs->IsDirectory("/LOG", kIo, &is_directory, nullptr));
  EXPECT_TRUE(is_directory);
}

TEST_F(AuxPath, RenamedDirectoryTakesItsFilesAlong) {
  ASSERT_STATUS_OK(fs->CreateDir("/one", kIo, nullptr));
  ASSERT_STATUS_OK(WriteWhole(*fs, "/one/LOG", "log"));
  ASSERT_STATUS_OK(WriteWhole(*fs, "/one/data.sst", "data"));
  std::filesystem::create_directory(aux + "/two");
  std::ofstream(aux + "/two/LOG.old.1") << "of an earlier life";
  ASSERT_STATUS_OK(fs->RenameFile("/one", "/two", kIo, nullptr));
  EXPECT_THAT(Children("/two"), UnorderedElementsAre("LOG", "data.sst"));
  EXPECT_EQ(ReadWhole(*fs, "/two/LOG"), "log");
  EXPECT_FALSE(std::filesystem::exists(aux + "/one"));
  ASSERT_STATUS_OK(fs->CreateDir("/three", kIo, nullptr));
  EXPECT_THAT(fs->RenameFile("/three", "/two", kIo, nullptr).ToString(), HasSubstr("not empty"));
  EXPECT_THAT(fs->DeleteDir("/two", kIo, nullptr).ToString(), HasSubstr("not empty"));
  ASSERT_STATUS_OK(fs->RenameFile("/three", "/four", kIo, nullptr));  // never had anything on the host
  EXPECT_THAT(Children("/"), UnorderedElementsAre("two", "four"));
}

TEST_F(AuxPath, LinksDoNotCrossBetweenHostAndVolume) {
  ASSERT_STATUS_OK(WriteWhole(*fs, "/LOG", "log"));
  ASSERT_STATUS_OK(WriteWhole(*fs, "/data", "data"));
  EXPECT_TRUE(fs->LinkFile("/LOG", "/copy", kIo, nullptr).IsNotSupported());
  bool same = true;
  ASSERT_STATUS_OK(fs->AreFilesSame("/LOG", "/data", kIo, &same, nullptr));
  EXPECT_FALSE(same);
  ASSERT_STATUS_OK(fs->LinkFile("/LOG", "/LOG.old.1", kIo, nullptr));
  ASSERT_STATUS_OK(fs->AreFilesSame("/LOG", "/LOG.old.1", kIo, &same, nullptr));
  EXPECT_TRUE(same);
  ASSERT_STATUS_OK(fs->DeleteFile("/LOG", kIo, nullptr));
  EXPECT_TRUE(IsMissing("/LOG"));
  EXPECT_EQ(OnHost("/LOG.old.1"), "log");
}

}  // namespace
}  // namespace zenfs
