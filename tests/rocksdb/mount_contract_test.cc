// From URIs to file systems and environments: sharing, options, errors, and processes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "rocksdb/convenience.h"
#include "rocksdb/db.h"
#include "rocksdb_plugin/registration.h"
#include "rocksdb_plugin/zenfs_file_system.h"
#include "test_volume.h"
#include "testing/forked_child.h"
#include "testing/lower_file_size_limit.h"

namespace zenfs {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;

// The text with which RocksDB's own entry refuses `uri`; empty if it does not.
std::string RefusalOf(const std::string& uri) {
  rocksdb::Env* env = rocksdb::Env::Default();
  std::shared_ptr<rocksdb::Env> guard;
  const rocksdb::Status status = rocksdb::Env::CreateFromUri(rocksdb::ConfigOptions(), "", uri, &env, &guard);
  if (status.ok()) return "";
  EXPECT_TRUE(status.IsInvalidArgument()) << status.ToString();
  EXPECT_EQ(guard, nullptr);
  return status.ToString();
}

TEST(MountContract, ObjectsOfOneUriShareOneVolume) {
  const TestVolume volume;
  auto first = volume.Open();
  auto second = volume.Open();
  ASSERT_NE(first, second);
  ASSERT_STATUS_OK(WriteWhole(*first, "/file", "content"));
  EXPECT_EQ(ReadWhole(*second, "/file"), "content");
  first.reset();
  EXPECT_EQ(ReadWhole(*second, "/file"), "content");
}

TEST(MountContract, FilesOutliveTheirFileSystem) {
  const TestVolume volume;
  auto fs = volume.Open();
  std::unique_ptr<rocksdb::FSWritableFile> file;
  ASSERT_STATUS_OK(fs->NewWritableFile("/000001.log", FileOptions(), &file, nullptr));
  fs.reset();
  EXPECT_STATUS_OK(file->Append("late", kIo, nullptr));
  EXPECT_STATUS_OK(file->Sync(kIo, nullptr));
  EXPECT_STATUS_OK(file->Close(kIo, nullptr));
  file.reset();
  EXPECT_EQ(ReadWhole(*volume.Open(), "/000001.log"), "late");
}

TEST(MountContract, ReadOnlyMountsReadAndRefuseToWrite) {
  const TestVolume volume;
  ASSERT_STATUS_OK(WriteWhole(*volume.Open(), "/file", "content"));
  auto fs = volume.Open("ro");
  EXPECT_EQ(ReadWhole(*fs, "/file"), "content");
  EXPECT_FALSE(WriteWhole(*fs, "/other", "x").ok());
  EXPECT_FALSE(fs->DeleteFile("/file", kIo, nullptr).ok());
  EXPECT_FALSE(fs->RenameFile("/file", "/other", kIo, nullptr).ok());
  EXPECT_FALSE(fs->CreateDirIfMissing("/dir", kIo, nullptr).ok());
}

// Shared memory for the append buffers can't be had here; each flush then costs a write to the device.
TEST(MountContract, WhatTheMountHasToSayHeadsTheLogOfADatabase) {
  for (const std::string aux_path : {"", "aux"}) {
    const TestVolume volume;
    const std::string aux = volume.directory() + "/" + aux_path;
    if (!aux_path.empty()) {
      ASSERT_TRUE(std::filesystem::create_directory(aux));
    }
    volume.Format({.aux_path = aux_path.empty() ? "" : aux, .force = true, .metadata_zones = 3});
    const auto fs = [&] {
      const LowerFileSizeLimit less(8 << 20);  // the metadata are below that in the device's file
      return volume.Open(aux_path.empty() ? "" : "aux_path:" + aux);
    }();
    ASSERT_NE(fs, nullptr);

    std::shared_ptr<rocksdb::Logger> logger;
    ASSERT_STATUS_OK(fs->NewLogger("/LOG", IOOptions(), &logger, nullptr));
    ASSERT_STATUS_OK(logger->Close());
    EXPECT_THAT(ReadWhole(*fs, "/LOG"), HasSubstr("[WARN] ZenFS: no append buffers in shared memory"));
  }
}

TEST(MountContract, TheLogOfADatabaseBeginsWithVersionDeviceAndUuid) {
  const TestVolume volume;
  volume.Format({.uuid = Uuid::Parse("01234567-89ab-4cde-8f01-23456789abcd"), .force = true});
  const auto fs = volume.Open();
  std::shared_ptr<rocksdb::Logger> logger;
  ASSERT_STATUS_OK(fs->NewLogger("/LOG", IOOptions(), &logger, nullptr));
  ASSERT_STATUS_OK(logger->Close());
  EXPECT_THAT(
      ReadWhole(*fs, "/LOG"),
      MatchesRegex("[^\n]* ZenFS [0-9.]+: emu:[^\n]*, UUID 01234567-89ab-4cde-8f01-23456789abcd, epoch 1\n"));
}

TEST(MountContract, NamesItself) {
  const TestVolume volume;
  auto fs = volume.Open();
  EXPECT_STREQ(fs->Name(), "ZenFS");
  EXPECT_TRUE(fs->IsInstanceOf("ZenFS"));
  EXPECT_TRUE(fs->IsInstanceOf("zenfs"));
  EXPECT_FALSE(fs->IsInstanceOf("PosixFileSystem"));
  EXPECT_EQ(fs->Inner(), nullptr);
  EXPECT_NE(fs->CheckedCast<ZenFileSystem>(), nullptr);
  EXPECT_EQ(fs->GetId(), volume.uri());
  EXPECT_THAT(zenfs_plugin_version(), HasSubstr("RocksDB " + rocksdb::GetRocksVersionAsString()));
}

// One that lists `path` as a device, for the time of a test.
class ListedDevice {
 public:
  explicit ListedDevice(const std::string& path) { ::setenv("ZENFS_DEVICES", path.c_str(), 1); }
  ~ListedDevice() { ::unsetenv("ZENFS_DEVICES"); }
};

TEST(MountContract, DeviceIsFoundByTheUuidOfItsFileSystem) {
  const TestVolume volume;
  const Uuid uuid = Uuid::Generate();
  volume.Format({.uuid = uuid, .force = true});
  const ListedDevice listed(volume.device_path());
  std::shared_ptr<rocksdb::FileSystem> fs;
  ASSERT_STATUS_OK(volume.TryOpen("zenfs://uuid:" + uuid.ToString() + "?buffer_kib:64", &fs));
  ASSERT_STATUS_OK(WriteWhole(*fs, "/file", "content"));
  EXPECT_EQ(ReadWhole(*volume.Open("buffer_kib:64"), "/file"), "content") << "both names share one volume";
  std::shared_ptr<rocksdb::FileSystem> reader;
  fs.reset();
  ASSERT_STATUS_OK(volume.TryOpen("zenfs://uuid:" + uuid.ToString() + "?ro", &reader));
  EXPECT_EQ(ReadWhole(*reader, "/file"), "content");
}

// A file may be put at the name of a device that this process has mounted.
TEST(MountContract, UuidNeverGivesTheVolumeOfAnotherDevice) {
  const TestVolume volume;
  const auto fs = volume.Open();
  std::filesystem::rename(volume.device_path(), volume.device_path() + ".moved");
  const TestVolume other;
  const Uuid uuid = Uuid::Generate();
  other.Format({.uuid = uuid, .force = true});
  std::filesystem::rename(other.device_path(), volume.device_path());
  const ListedDevice listed(volume.device_path());
  EXPECT_THAT(RefusalOf("zenfs://uuid:" + uuid.ToString()), HasSubstr("another volume"));
}

TEST(MountContract, UuidThatNoDeviceHasIsRefusedWithTheReason) {
  const TestVolume volume;
  const ListedDevice listed(volume.device_path());
  const std::string uuid = Uuid::Generate().ToString();
  EXPECT_THAT(RefusalOf("zenfs://uuid:" + uuid),
              AllOf(HasSubstr(uuid), HasSubstr("no device with that UUID")));
  EXPECT_THAT(RefusalOf("zenfs://uuid:1234"), HasSubstr("xxxxxxxx-xxxx"));
}

TEST(MountContract, WrongUrisAreRefusedWithTheReason) {
  const TestVolume volume;
  EXPECT_THAT(RefusalOf("zenfs://"), HasSubstr("zenfs"));
  EXPECT_THAT(RefusalOf("zenfs://floppy:0"), HasSubstr("floppy"));
  EXPECT_THAT(RefusalOf("zenfs://emu:/nonexistent"), HasSubstr("/nonexistent"));
  EXPECT_THAT(RefusalOf(volume.uri("speed:11")), HasSubstr("speed"));
  EXPECT_THAT(RefusalOf(volume.uri("buffer_kib:many")), HasSubstr("buffer_kib"));
  const std::string not_a_device = volume.directory() + "/text";
  std::ofstream(not_a_device) << "hello";
  EXPECT_THAT(RefusalOf("zenfs://emu:" + not_a_device), HasSubstr(not_a_device));
}

TEST(MountContract, DeviceWithoutFileSystemIsRefused) {
  const TestVolume volume;
  const std::string blank = volume.directory() + "/blank.img";
  ASSERT_TRUE(CreateEmulatedFile(blank, EmulatorGeometry{}, false).ok());
  EXPECT_THAT(RefusalOf("zenfs://emu:" + blank), HasSubstr(blank));
}

TEST(MountContract, OtherOptionsThanThoseMountedWithAreRefused) {
  const TestVolume volume;
  auto fs = volume.Open();
  EXPECT_THAT(RefusalOf(volume.uri("speed:11")), HasSubstr("speed"));
  EXPECT_THAT(RefusalOf(volume.uri("buffer_kib:64")), HasSubstr("other options"));
}

TEST(MountContract, EnvironmentsLiveAsLongAsTheProcess) {
  const TestVolume volume;  // stays mounted when its file is gone
  rocksdb::Env* env = nullptr;
  std::shared_ptr<rocksdb::Env> guard;
  ASSERT_STATUS_OK(rocksdb::Env::CreateFromUri(rocksdb::ConfigOptions(), volume.uri(), "", &env, &guard));
  ASSERT_NE(env, nullptr);
  EXPECT_EQ(guard, nullptr);
  rocksdb::DBOptions options;
  ASSERT_STATUS_OK(rocksdb::GetDBOptionsFromString(rocksdb::ConfigOptions(), rocksdb::DBOptions(),
                                                   "env=" + volume.uri(), &options));
  EXPECT_EQ(options.env, env);
  EXPECT_NE(options.env->GetFileSystem()->CheckedCast<ZenFileSystem>(), nullptr);
  EXPECT_STATUS_OK(WriteWhole(*options.env->GetFileSystem(), "/file", "content"));
  EXPECT_EQ(ReadWhole(*volume.Open(), "/file"), "content");
}

TEST(MountContract, OptionStringWithAWrongUriIsAnError) {
  rocksdb::DBOptions options;
  const rocksdb::Status status = rocksdb::GetDBOptionsFromString(
      rocksdb::ConfigOptions(), rocksdb::DBOptions(), "env=zenfs://emu:/nonexistent", &options);
  EXPECT_FALSE(status.ok());
  EXPECT_THAT(status.ToString(), HasSubstr("/nonexistent"));
}

// A child of fork() shares the parent's device; whatever it calls must fail, and return.
TEST(MountContract, ChildOfForkFailsCleanly) {
  const TestVolume volume;
  auto fs = volume.Open();
  ASSERT_STATUS_OK(WriteWhole(*fs, "/file", "content"));
  std::shared_ptr<rocksdb::Logger> logger;
  ASSERT_STATUS_OK(fs->NewLogger("/LOG", kIo, &logger, nullptr));
  std::unique_ptr<rocksdb::FSWritableFile> file;
  ASSERT_STATUS_OK(fs->NewWritableFile("/000001.log", FileOptions(), &file, nullptr));
  const pid_t child = fork();
  if (child == 0) {
    alarm(20);  // a call that blocks kills the child, and fails the test
    std::vector<std::string> names;
    const bool all_failed = !WriteWhole(*fs, "/from-child", "x").ok() &&
                            !file->Append("x", kIo, nullptr).ok() && !file->Sync(kIo, nullptr).ok() &&
                            !fs->DeleteFile("/file", kIo, nullptr).ok() &&
                            !fs->RenameFile("/file", "/moved", kIo, nullptr).ok();
    rocksdb::Info(logger, "from the child");
    _exit(all_failed ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  EXPECT_STATUS_OK(file->Append("parent", kIo, nullptr));
  EXPECT_STATUS_OK(file->Close(kIo, nullptr));
  EXPECT_EQ(ReadWhole(*fs, "/000001.log"), "parent");
  EXPECT_EQ(ReadWhole(*fs, "/file"), "content");
  EXPECT_EQ(ReadWhole(*fs, "/LOG").find("from the child"), std::string::npos);
}

TEST(MountContract, VolumeMountsAgainInThisProcessAlthoughAForkedChildLives) {
  const TestVolume volume;
  auto fs = volume.Open();
  ASSERT_STATUS_OK(WriteWhole(*fs, "/000001.log", "content"));
  const ForkedChild child;
  fs.reset();
  fs = volume.Open();
  ASSERT_NE(fs, nullptr);
  EXPECT_EQ(ReadWhole(*fs, "/000001.log"), "content");
  EXPECT_TRUE(child.alive());
}

// The killed process has a mounted volume, an open log with flushed bytes, and a child of fork() that outlives it.
TEST(MountContract, VolumeOfAKilledProcessMountsAlthoughItsForkedChildLives) {
  const TestVolume volume;
  int survivor_pipe[2];
  ASSERT_EQ(pipe(survivor_pipe), 0);
  const pid_t writer = fork();
  if (writer == 0) {
    auto fs = volume.Open();
    std::unique_ptr<rocksdb::FSWritableFile> log;
    if (fs == nullptr || !fs->NewWritableFile("/000001.log", FileOptions(), &log, nullptr).ok()) _exit(1);
    if (!log->Append("flushed", kIo, nullptr).ok() || !log->Flush(kIo, nullptr).ok()) _exit(1);
    const pid_t survivor = fork();
    while (survivor == 0) pause();
    if (write(survivor_pipe[1], &survivor, sizeof(survivor)) != sizeof(survivor)) _exit(1);
    while (true) pause();
  }
  pid_t survivor = 0;
  close(survivor_pipe[1]);
  ASSERT_EQ(read(survivor_pipe[0], &survivor, sizeof(survivor)), static_cast<ssize_t>(sizeof(survivor)));
  kill(writer, SIGKILL);
  ASSERT_EQ(waitpid(writer, nullptr, 0), writer);
  auto fs = volume.Open();
  EXPECT_EQ(kill(survivor, 0), 0);
  kill(survivor, SIGKILL);
  close(survivor_pipe[0]);
  ASSERT_NE(fs, nullptr);
  EXPECT_EQ(ReadWhole(*fs, "/000001.log"), "flushed");
}

}  // namespace
}  // namespace zenfs
