// What RocksDB expects of names, directories, locks and the info log, one test a promise.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstdarg>
#include <cstdio>

#include "base/clock.h"
#include "base/thread.h"
#include "test_volume.h"

namespace zenfs {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

class NameContract : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_NE(fs_, nullptr); }

  void MakeFile(const std::string& path, const std::string& bytes = "x") {
    ASSERT_STATUS_OK(WriteWhole(*fs_, path, bytes));
  }
  bool Exists(const std::string& path) { return fs_->FileExists(path, io_, nullptr).ok(); }
  std::vector<std::string> Children(const std::string& directory) {
    std::vector<std::string> names{"must go"};
    EXPECT_STATUS_OK(fs_->GetChildren(directory, io_, &names, nullptr));
    return names;
  }
  std::uint64_t SizeOf(const std::string& path) {
    std::uint64_t size = 99;
    EXPECT_STATUS_OK(fs_->GetFileSize(path, io_, &size, nullptr));
    return size;
  }

  TestVolume volume_;
  std::shared_ptr<rocksdb::FileSystem> fs_ = volume_.Open();
  const IOOptions io_;
};

TEST_F(NameContract, ListingReplacesWhatTheVectorHeldAndHasNoDots) {
  ASSERT_STATUS_OK(fs_->CreateDirIfMissing("/db", io_, nullptr));
  EXPECT_THAT(Children("/db"), IsEmpty());
  MakeFile("/db/a.sst", "12345");
  ASSERT_STATUS_OK(fs_->CreateDir("/db/sub", io_, nullptr));
  EXPECT_THAT(Children("/db"), UnorderedElementsAre("a.sst", "sub"));
  EXPECT_THAT(Children("/"), ElementsAre("db"));

  std::vector<rocksdb::FileAttributes> attributes(3);
  ASSERT_STATUS_OK(fs_->GetChildrenFileAttributes("/db", io_, &attributes, nullptr));
  ASSERT_EQ(attributes.size(), 2u);
  EXPECT_EQ(attributes[0].name, "a.sst");
  EXPECT_EQ(attributes[0].size_bytes, 5u);
}

TEST_F(NameContract, ListingWhatIsNoDirectoryIsNotFoundAndClearsTheResult) {
  MakeFile("/file");
  for (const char* path : {"/missing", "/file"}) {
    std::vector<std::string> names{"must go"};
    EXPECT_TRUE(fs_->GetChildren(path, io_, &names, nullptr).IsNotFound()) << path;
    EXPECT_THAT(names, IsEmpty());
    std::vector<rocksdb::FileAttributes> attributes(1);
    EXPECT_TRUE(fs_->GetChildrenFileAttributes(path, io_, &attributes, nullptr).IsNotFound()) << path;
    EXPECT_THAT(attributes, IsEmpty());
  }
}

TEST_F(NameContract, ExistenceIsToldForFilesAndDirectories) {
  MakeFile("/file");
  ASSERT_STATUS_OK(fs_->CreateDir("/dir", io_, nullptr));
  EXPECT_TRUE(Exists("/file"));
  EXPECT_TRUE(Exists("/dir"));
  EXPECT_TRUE(Exists("/"));
  EXPECT_TRUE(fs_->FileExists("/missing", io_, nullptr).IsNotFound());
  EXPECT_TRUE(fs_->FileExists("/file/below", io_, nullptr).IsNotFound());
  bool is_directory = false;
  EXPECT_STATUS_OK(fs_->IsDirectory("/dir", io_, &is_directory, nullptr));
  EXPECT_TRUE(is_directory);
  EXPECT_STATUS_OK(fs_->IsDirectory("/file", io_, &is_directory, nullptr));
  EXPECT_FALSE(is_directory);
  EXPECT_TRUE(fs_->IsDirectory("/missing", io_, &is_directory, nullptr).IsPathNotFound());
}

TEST_F(NameContract, DirectoriesAreMadeWithTheirParents) {
  ASSERT_STATUS_OK(fs_->CreateDirIfMissing("/a/b/c", io_, nullptr));
  EXPECT_TRUE(Exists("/a/b/c"));
  EXPECT_STATUS_OK(fs_->CreateDirIfMissing("/a/b/c/", io_, nullptr));
  EXPECT_FALSE(fs_->CreateDir("/a/b/c", io_, nullptr).ok());
  EXPECT_FALSE(fs_->CreateDir("/x/y", io_, nullptr).ok());
  MakeFile("/file");
  EXPECT_FALSE(fs_->CreateDirIfMissing("/file", io_, nullptr).ok());
}

TEST_F(NameContract, OnlyEmptyDirectoriesAreDeleted) {
  ASSERT_STATUS_OK(fs_->CreateDir("/dir", io_, nullptr));
  MakeFile("/dir/file");
  EXPECT_FALSE(fs_->DeleteDir("/dir", io_, nullptr).ok());
  EXPECT_TRUE(Exists("/dir/file"));
  ASSERT_STATUS_OK(fs_->DeleteFile("/dir/file", io_, nullptr));
  EXPECT_FALSE(fs_->DeleteFile("/dir", io_, nullptr).ok());
  EXPECT_STATUS_OK(fs_->DeleteDir("/dir", io_, nullptr));
  EXPECT_FALSE(Exists("/dir"));
  EXPECT_TRUE(fs_->DeleteDir("/dir", io_, nullptr).IsPathNotFound());
}

TEST_F(NameContract, DeletingAMissingFileIsAnError) {
  EXPECT_TRUE(fs_->DeleteFile("/missing", io_, nullptr).IsPathNotFound());
}

TEST_F(NameContract, RenameReplacesAtomically) {
  MakeFile("/CURRENT", "MANIFEST-000000\n");
  std::atomic<bool> done{false};
  Thread renames("renames", [&] {
    for (int i = 1; i <= 200; ++i) {
      const std::string content = "MANIFEST-" + std::to_string(100'000 + i) + "\n";
      EXPECT_STATUS_OK(WriteWhole(*fs_, "/000001.dbtmp", content));
      EXPECT_STATUS_OK(fs_->RenameFile("/000001.dbtmp", "/CURRENT", io_, nullptr));
    }
    done = true;
  });
  while (!done) {
    ASSERT_THAT(ReadWhole(*fs_, "/CURRENT"), ::testing::MatchesRegex("MANIFEST-[0-9]{6}\n"));
  }
  renames.Join();
  EXPECT_EQ(ReadWhole(*fs_, "/CURRENT"), "MANIFEST-100200\n");
  EXPECT_FALSE(Exists("/000001.dbtmp"));
}

TEST_F(NameContract, RenamedDirectoryTakesItsFilesAlong) {
  ASSERT_STATUS_OK(fs_->CreateDirIfMissing("/db/checkpoint.tmp", io_, nullptr));
  MakeFile("/db/checkpoint.tmp/CURRENT", "content");
  ASSERT_STATUS_OK(fs_->RenameFile("/db/checkpoint.tmp", "/db/checkpoint", io_, nullptr));
  EXPECT_EQ(ReadWhole(*fs_, "/db/checkpoint/CURRENT"), "content");
  EXPECT_FALSE(Exists("/db/checkpoint.tmp"));
}

// D10 of docs/internals/failures.md.
TEST_F(NameContract, FailedRenamesAndLinksAreErrorsAndChangeNothing) {
  MakeFile("/a", "a");
  MakeFile("/b", "b");
  ASSERT_STATUS_OK(fs_->CreateDir("/dir", io_, nullptr));
  EXPECT_TRUE(fs_->RenameFile("/missing", "/a", io_, nullptr).IsPathNotFound());
  EXPECT_FALSE(fs_->RenameFile("/a", "/no/such/dir", io_, nullptr).ok());
  EXPECT_FALSE(fs_->RenameFile("/a", "/dir", io_, nullptr).ok());
  EXPECT_FALSE(fs_->RenameFile("/dir", "/dir/below", io_, nullptr).ok());
  EXPECT_TRUE(fs_->LinkFile("/missing", "/c", io_, nullptr).IsPathNotFound());
  EXPECT_FALSE(fs_->LinkFile("/a", "/b", io_, nullptr).ok());
  EXPECT_FALSE(fs_->LinkFile("/a", "/no/such/dir", io_, nullptr).ok());
  EXPECT_EQ(ReadWhole(*fs_, "/a"), "a");
  EXPECT_EQ(ReadWhole(*fs_, "/b"), "b");
  EXPECT_THAT(Children("/"), UnorderedElementsAre("a", "b", "dir"));
}

TEST_F(NameContract, LinkedNamesShareOneFile) {
  MakeFile("/a.sst", "content");
  ASSERT_STATUS_OK(fs_->LinkFile("/a.sst", "/b.sst", io_, nullptr));
  std::uint64_t links = 0;
  ASSERT_STATUS_OK(fs_->NumFileLinks("/b.sst", io_, &links, nullptr));
  EXPECT_EQ(links, 2u);
  bool same = false;
  ASSERT_STATUS_OK(fs_->AreFilesSame("/a.sst", "/b.sst", io_, &same, nullptr));
  EXPECT_TRUE(same);
  MakeFile("/c.sst", "content");
  ASSERT_STATUS_OK(fs_->AreFilesSame("/a.sst", "/c.sst", io_, &same, nullptr));
  EXPECT_FALSE(same);
  ASSERT_STATUS_OK(fs_->DeleteFile("/a.sst", io_, nullptr));
  EXPECT_EQ(ReadWhole(*fs_, "/b.sst"), "content");
  ASSERT_STATUS_OK(fs_->NumFileLinks("/b.sst", io_, &links, nullptr));
  EXPECT_EQ(links, 1u);
}

TEST_F(NameContract, AttributesAreTold) {
  MakeFile("/file", "12345");
  EXPECT_EQ(SizeOf("/file"), 5u);
  std::uint64_t seconds = 0;
  ASSERT_STATUS_OK(fs_->GetFileModificationTime("/file", io_, &seconds, nullptr));
  EXPECT_LE(seconds, WallSeconds());
  EXPECT_GE(seconds + 60, WallSeconds());
  std::uint64_t unused = 0;
  EXPECT_TRUE(fs_->GetFileSize("/missing", io_, &unused, nullptr).IsPathNotFound());
  EXPECT_TRUE(fs_->GetFileModificationTime("/missing", io_, &unused, nullptr).IsPathNotFound());
}

TEST_F(NameContract, SpellingsOfOnePathAreOneFile) {
  ASSERT_STATUS_OK(fs_->CreateDir("/db", io_, nullptr));
  MakeFile("db//./file", "content");
  EXPECT_EQ(ReadWhole(*fs_, "/db/file"), "content");
  EXPECT_EQ(ReadWhole(*fs_, "/db/../db/file"), "content");
  std::string absolute;
  ASSERT_STATUS_OK(fs_->GetAbsolutePath("db//./file", io_, &absolute, nullptr));
  EXPECT_EQ(absolute, "/db/file");
}

TEST_F(NameContract, TestDirectoryIsAbsoluteExistsAndStaysTheSame) {
  std::string first;
  std::string second;
  ASSERT_STATUS_OK(fs_->GetTestDirectory(io_, &first, nullptr));
  ASSERT_STATUS_OK(fs_->GetTestDirectory(io_, &second, nullptr));
  EXPECT_EQ(first, second);
  EXPECT_TRUE(first.starts_with("/")) << first;
  EXPECT_TRUE(Exists(first));
}

TEST_F(NameContract, FreeSpaceShrinksByWhatIsWritten) {
  std::uint64_t before = 0;
  std::uint64_t after = 0;
  ASSERT_STATUS_OK(fs_->GetFreeSpace("/", io_, &before, nullptr));
  MakeFile("/big.sst", RandomBytes(30 << 20, 1));
  ASSERT_STATUS_OK(fs_->GetFreeSpace("/", io_, &after, nullptr));
  EXPECT_GT(before, 400u << 20);
  EXPECT_LE(after, before - (30u << 20));
}

TEST_F(NameContract, SecondLockSaysThatItIsHeld) {
  rocksdb::FileLock* lock = nullptr;
  ASSERT_STATUS_OK(fs_->LockFile("/LOCK", io_, &lock, nullptr));
  ASSERT_NE(lock, nullptr);
  auto other = volume_.Open();
  rocksdb::FileLock* second = lock;
  const IOStatus refused = other->LockFile("/LOCK", io_, &second, nullptr);
  EXPECT_TRUE(refused.IsIOError());
  EXPECT_THAT(refused.ToString(), HasSubstr("lock is held"));
  EXPECT_EQ(second, nullptr);
  ASSERT_STATUS_OK(fs_->UnlockFile(lock, io_, nullptr));
  ASSERT_STATUS_OK(other->LockFile("/LOCK", io_, &second, nullptr));
  ASSERT_STATUS_OK(other->UnlockFile(second, io_, nullptr));
}

TEST_F(NameContract, DirectoriesCanBeSynced) {
  ASSERT_STATUS_OK(fs_->CreateDir("/db", io_, nullptr));
  std::unique_ptr<rocksdb::FSDirectory> directory;
  ASSERT_STATUS_OK(fs_->NewDirectory("/db", io_, &directory, nullptr));
  MakeFile("/db/file");
  EXPECT_STATUS_OK(directory->Fsync(io_, nullptr));
  using rocksdb::DirFsyncOptions;
  for (auto reason : {DirFsyncOptions::kNewFileSynced, DirFsyncOptions::kDirRenamed,
                      DirFsyncOptions::kFileDeleted, DirFsyncOptions::kDefault}) {
    EXPECT_STATUS_OK(directory->FsyncWithDirOptions(io_, nullptr, DirFsyncOptions(reason)));
  }
  EXPECT_STATUS_OK(directory->FsyncWithDirOptions(io_, nullptr, DirFsyncOptions("/db/file")));
  EXPECT_STATUS_OK(directory->Close(io_, nullptr));
  EXPECT_TRUE(fs_->NewDirectory("/missing", io_, &directory, nullptr).IsPathNotFound());
  EXPECT_EQ(directory, nullptr);
  EXPECT_TRUE(fs_->NewDirectory("/db/file", io_, &directory, nullptr).IsIOError());
}

void Log(rocksdb::Logger& logger, const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  logger.Logv(rocksdb::InfoLogLevel::WARN_LEVEL, format, arguments);
  va_end(arguments);
}

TEST_F(NameContract, InfoLogLooksAsRocksDbWritesIt) {
  std::shared_ptr<rocksdb::Logger> logger;
  ASSERT_STATUS_OK(fs_->NewLogger("/LOG", io_, &logger, nullptr));
  Log(*logger, "number %d", 42);
  const std::string longer_than_any_buffer(5'000, 'y');
  Log(*logger, "%s\n", longer_than_any_buffer.c_str());
  logger->Flush();
  EXPECT_EQ(logger->GetLogFileSize(), SizeOf("/LOG"));
  ASSERT_STATUS_OK(logger->Close());
  const std::string time = "[0-9]{4}/[0-9]{2}/[0-9]{2}-[0-9]{2}:[0-9]{2}:[0-9]{2}[.][0-9]{6} [0-9]+ ";
  const std::string prefix = time + "[[]WARN[]] ";
  const std::string log = ReadWhole(*fs_, "/LOG");
  EXPECT_THAT(log,
              ::testing::MatchesRegex(time + "ZenFS [^\n]*\n" + prefix + "number 42\n" + prefix + "y+\n"));
  EXPECT_TRUE(log.ends_with(" " + longer_than_any_buffer + "\n"));
}

// Returns `format` with the arguments, which the logger has been given before.
std::string LogAndFormat(rocksdb::Logger& logger, const char* format, ...) {
  char text[128];
  va_list arguments;
  va_start(arguments, format);
  logger.Logv(rocksdb::InfoLogLevel::WARN_LEVEL, format, arguments);
  std::vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  return text;
}

// RocksDB's own logger consumes a copy; MyRocks writes the same line into the server's log afterwards.
TEST_F(NameContract, InfoLogLeavesTheArgumentsToItsCaller) {
  std::shared_ptr<rocksdb::Logger> logger;
  ASSERT_STATUS_OK(fs_->NewLogger("/LOG", io_, &logger, nullptr));
  EXPECT_EQ(LogAndFormat(*logger, "%s:%d %d", "file.cc", 276, 42), "file.cc:276 42");
}

TEST_F(NameContract, LogCanBeRenamedWhileItIsWritten) {
  std::shared_ptr<rocksdb::Logger> logger;
  ASSERT_STATUS_OK(fs_->NewLogger("/LOG", io_, &logger, nullptr));
  Log(*logger, "before");
  ASSERT_STATUS_OK(fs_->RenameFile("/LOG", "/LOG.old.1", io_, nullptr));
  Log(*logger, "after");
  logger.reset();
  EXPECT_THAT(ReadWhole(*fs_, "/LOG.old.1"), HasSubstr("after\n"));
}

}  // namespace
}  // namespace zenfs
