// The file of an emulated device: creation, bad input, locking, space. tests/conformance tests what
// every device does.
#include "backends/emulator/emulated_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>

#include "backends/emulator/emulated_file_test_util.h"
#include "base/sync_point.h"
#include "testing/device_data.h"
#include "testing/forked_child.h"
#include "testing/lower_file_size_limit.h"
#include "testing/temp_directory.h"

namespace zenfs::emulated_file_test {
namespace {

using testing::HasSubstr;

constexpr std::uint32_t kBlock = 4096;

class EmulatedFileTest : public testing::Test {
 protected:
  static EmulatorGeometry Small() {
    return {.zones = 8, .zone_size = 4u << 20, .zone_capacity = 3u << 20, .max_open = 3, .max_active = 4};
  }
  void Create() { ASSERT_TRUE(CreateEmulatedFile(path, Small(), false).ok()); }
  std::unique_ptr<EmulatorDevice> Open(OpenMode mode = OpenMode::kExclusive) {
    auto device = OpenEmulatedFile(path, mode);
    EXPECT_TRUE(device) << device.error().ToString();
    return device ? std::move(*device) : nullptr;
  }
  Error ErrorOfOpening(OpenMode mode = OpenMode::kExclusive) {
    auto device = OpenEmulatedFile(path, mode);
    return device ? Error(Code::kExists, "it opened") : device.error();
  }
  void WriteFile(std::uint64_t offset, std::string_view bytes) {
    const UniqueFd fd(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644));
    ASSERT_TRUE(WriteAll(fd, offset, AsBytes(bytes), path).ok());
  }
  std::uint64_t Allocated() { return ReadEmulatedFileInfo(path)->allocated_bytes; }

  TempDirectory directory;
  std::string path = directory.File("a.img");
};

TEST_F(EmulatedFileTest, TheTimesOfAnotherUsersFileAreNotKept) {
  ASSERT_TRUE(CreateEmulatedFile(path, Small(), false, Timing::kZn540).ok());
  EXPECT_TRUE(Open()->CreateQueue(1)->overlaps());
  if (::chown(path.c_str(), 65534, 65534) != 0) GTEST_SKIP() << "needs root";
  const auto device = Open();
  EXPECT_FALSE(device->CreateQueue(1)->overlaps());
  EXPECT_THAT(device->notices(), testing::ElementsAre(HasSubstr("?timing:zn540")));
}

TEST_F(EmulatedFileTest, ADeviceThatTakesTheNameOfAReplacedOneKeepsItsBytes) {
  Create();
  const std::string victim = directory.File("victim.img");
  ASSERT_TRUE(CreateEmulatedFile(victim, Small(), false).ok());
  const std::uint64_t bytes = std::filesystem::file_size(victim);
  const SyncPoint::Scope exchange([&](std::string_view point) {
    if (point != "OpenExistingOutput:found") return;
    std::filesystem::remove(path);
    std::filesystem::create_symlink(victim, path);
  });
  EXPECT_FALSE(CreateEmulatedFile(path, Small(), true, Timing::kNone, false, {.reserve = true}).ok());
  EXPECT_EQ(std::filesystem::file_size(victim), bytes);
}

TEST_F(EmulatedFileTest, InfoReturnsTheCreatedGeometry) {
  Create();
  const auto info = ReadEmulatedFileInfo(path);
  ASSERT_TRUE(info);
  EXPECT_EQ(info->geometry, Small());
  EXPECT_FALSE(info->uuid.IsNil());
  EXPECT_EQ(info->version, 1u);
  EXPECT_EQ(info->model, "ZenFS emulated zoned device");
  EXPECT_EQ(info->file_bytes, (2u << 20) + 8 * (4u << 20));
  EXPECT_LT(info->allocated_bytes, 1u << 20) << "the file is sparse";
}

TEST_F(EmulatedFileTest, ExistingFileIsNotReplaced) {
  Create();
  const Uuid before = ReadEmulatedFileInfo(path)->uuid;
  const Status again = CreateEmulatedFile(path, Small(), false);
  EXPECT_EQ(again.error().code(), Code::kExists);
  EXPECT_EQ(ReadEmulatedFileInfo(path)->uuid, before);
  EXPECT_TRUE(CreateEmulatedFile(path, Small(), true).ok());
  EXPECT_NE(ReadEmulatedFileInfo(path)->uuid, before);
}

TEST_F(EmulatedFileTest, OnlyEmulatedDevicesAndEmptyFilesAreOverwritten) {
  WriteFile(0, "somebody's thesis");
  const Status status = CreateEmulatedFile(path, Small(), true);
  ASSERT_FALSE(status.ok());
  EXPECT_THAT(status.error().text(), HasSubstr("not an emulated device"));
  EXPECT_EQ(::truncate(path.c_str(), 0), 0);
  EXPECT_TRUE(CreateEmulatedFile(path, Small(), true).ok());
  EXPECT_EQ(CreateEmulatedFile(directory.path(), Small(), true).error().code(), Code::kInvalidArgument);
}

TEST_F(EmulatedFileTest, DeviceInUseIsNotOverwritten) {
  Create();
  const auto device = Open();
  EXPECT_EQ(CreateEmulatedFile(path, Small(), true).error().code(), Code::kBusy);
  EXPECT_TRUE(device->Flush().ok());
}

TEST_F(EmulatedFileTest, BadGeometryCreatesNothing) {
  EXPECT_EQ(CreateEmulatedFile(path, {.zones = 0}, false).error().code(), Code::kInvalidArgument);
  EXPECT_NE(::access(path.c_str(), F_OK), 0);
  EXPECT_EQ(CreateEmulatedFile(directory.File("no/such/a.img"), Small(), false).error().code(),
            Code::kNotFound);
}

TEST_F(EmulatedFileTest, EachWrongFileHasItsOwnLine) {
  Error error = ErrorOfOpening();
  EXPECT_EQ(error.code(), Code::kNotFound);
  EXPECT_THAT(error.ToString(), AllOf(HasSubstr(path), HasSubstr("zenfs emu create")));
  WriteFile(0, "");
  error = ErrorOfOpening();
  EXPECT_EQ(error.code(), Code::kInvalidArgument);
  EXPECT_THAT(error.text(), HasSubstr("empty file"));
  WriteFile(0, "somebody's thesis");
  error = ErrorOfOpening(OpenMode::kReadOnly);
  EXPECT_EQ(error.code(), Code::kInvalidArgument);
  EXPECT_THAT(error.text(), HasSubstr("is not an emulated device; make one with: zenfs emu create PATH"));
  path = directory.path();
  EXPECT_THAT(ErrorOfOpening().text(), HasSubstr("is a directory"));
  path = directory.File("fifo");
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  EXPECT_THAT(ErrorOfOpening().text(), HasSubstr("not a regular file"));
}

// A pipe's writer would lose its bytes.
TEST_F(EmulatedFileTest, APipeThatTakesTheNameIsNotOpened) {
  Create();
  const std::string moved = directory.File("moved");
  {
    const SyncPoint::Scope exchange([&](std::string_view name) {
      if (name != "OpenEmulatedFile:examined") return;
      EXPECT_EQ(::rename(path.c_str(), moved.c_str()), 0);
      EXPECT_EQ(::mkfifo(path.c_str(), 0600), 0);
    });
    EXPECT_TRUE(OpenEmulatedFile(path, OpenMode::kReadOnly)) << "the file that was examined";
  }
}

TEST_F(EmulatedFileTest, DamageIsFound) {
  Create();
  WriteFile(40, "x");
  EXPECT_EQ(ErrorOfOpening().code(), Code::kCorruption);
  EXPECT_THAT(ErrorOfOpening().text(), HasSubstr("CRC"));
  ASSERT_TRUE(CreateEmulatedFile(path, Small(), true).ok()) << "a damaged device may be overwritten";
  ASSERT_EQ(::truncate(path.c_str(), 5 << 20), 0);
  EXPECT_EQ(ErrorOfOpening().code(), Code::kCorruption);
  EXPECT_THAT(ErrorOfOpening().text(), HasSubstr("cut off"));
  ASSERT_TRUE(CreateEmulatedFile(path, Small(), true).ok());
  WriteFile(kEmulatedHeaderBytes + 3 * 8, "\x07");
  EXPECT_EQ(ErrorOfOpening().code(), Code::kCorruption);
  EXPECT_THAT(ErrorOfOpening().text(), HasSubstr("zone 3"));
  WriteFile(kEmulatedHeaderBytes + 3 * 8, std::string_view("\x01\x01", 2));
  EXPECT_THAT(ErrorOfOpening().text(), HasSubstr("zone 3 can't be empty with 1 of"));
}

TEST_F(EmulatedFileTest, HeaderWithAnImpossibleGeometryIsDamaged) {
  Create();
  ChangeHeader(path, [](EmulatedFileHeader& header) { header.zone_capacity = header.zone_size * 2; });
  EXPECT_EQ(ErrorOfOpening().code(), Code::kCorruption);
  EXPECT_THAT(ErrorOfOpening().text(), HasSubstr("zone capacity"));
}

TEST_F(EmulatedFileTest, NewerVersionIsRefused) {
  Create();
  ChangeHeader(path, [](EmulatedFileHeader& header) { header.version = 4; });
  EXPECT_EQ(ErrorOfOpening().code(), Code::kNotSupported);
  EXPECT_THAT(ErrorOfOpening().text(), HasSubstr("made by a newer zenfs"));
}

TEST_F(EmulatedFileTest, SecondOpenerInThisProcessIsToldSo) {
  Create();
  const auto device = Open();
  const Error error = ErrorOfOpening();
  EXPECT_EQ(error.code(), Code::kBusy);
  EXPECT_THAT(error.text(), HasSubstr(fmt::format("in use by this process ({})", ::getpid())));
}

TEST_F(EmulatedFileTest, LockMessageNamesTheHolder) {
  Create();
  int ready[2];
  ASSERT_EQ(::pipe(ready), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    const auto device = OpenEmulatedFile(path, OpenMode::kExclusive);
    if (::write(ready[1], device ? "y" : "n", 1) != 1) ::_exit(1);
    ::pause();
    ::_exit(0);
  }
  char answer = 0;
  ASSERT_EQ(::read(ready[0], &answer, 1), 1);
  ASSERT_EQ(answer, 'y');
  const Error error = ErrorOfOpening();
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  EXPECT_EQ(error.code(), Code::kBusy);
  EXPECT_THAT(error.text(), HasSubstr(fmt::format("in use by process {} (zenfs_", child)));
  EXPECT_NE(Open(), nullptr) << "a dead holder holds nothing";
  ::close(ready[0]);
  ::close(ready[1]);
}

// fork() without exec: the child's copy of the descriptor must not count as a holder.
TEST_F(EmulatedFileTest, DeviceOpensAgainAlthoughAForkedChildLives) {
  Create();
  auto device = Open();
  ASSERT_NE(device, nullptr);
  const ForkedChild child;
  EXPECT_EQ(ErrorOfOpening().code(), Code::kBusy) << "the parent is still its holder";
  device.reset();
  EXPECT_NE(Open(), nullptr);
  EXPECT_TRUE(child.alive());
}

TEST_F(EmulatedFileTest, ReaderSeesTheWriterLive) {
  Create();
  const auto writer = Open();
  const auto reader = Open(OpenMode::kReadOnly);
  const AlignedBuffer data = Pattern(2 * kBlock, 1);
  EXPECT_FALSE(ReadBack(*reader, DeviceOffset(0), kBlock));
  ASSERT_TRUE(writer->Write(DeviceOffset(0), data.View()).ok());
  EXPECT_EQ(ReportOf(*reader, ZoneId(0)).WrittenBytes(), 2 * kBlock);
  EXPECT_TRUE(SameBytes(ReadBack(*reader, DeviceOffset(0), 2 * kBlock)->View(), data.View()));
  ASSERT_TRUE(writer->Reset(ZoneId(0)).ok());
  EXPECT_EQ(ReportOf(*reader, ZoneId(0)).condition, ZoneCondition::kEmpty);
}

TEST_F(EmulatedFileTest, ResetGivesSpaceBackToTheHost) {
  Create();
  const auto device = Open();
  const std::uint64_t before = Allocated();
  ASSERT_TRUE(device->Write(DeviceOffset(0), Pattern(3u << 20, 1).View()).ok());
  EXPECT_GE(Allocated(), before + (3u << 20));
  ASSERT_TRUE(device->Reset(ZoneId(0)).ok());
  EXPECT_LE(Allocated(), before + 2 * kBlock);
}

TEST_F(EmulatedFileTest, SpaceOfAResetCutShortIsGivenBackAtTheNextOpen) {
  Create();
  {
    const auto device = Open();
    ASSERT_TRUE(device->Write(DeviceOffset(4u << 20), Pattern(3u << 20, 1).View()).ok());
  }
  const std::uint64_t full = Allocated();
  WriteFile(kEmulatedHeaderBytes + 8,
            std::string_view("\x01\0\0\0\0\0\0\0", 8));  // the word said empty, then: killed
  const auto device = Open();
  EXPECT_LE(Allocated(), full - (3u << 20) + 2 * kBlock);
  EXPECT_EQ(ReportOf(*device, ZoneId(1)).condition, ZoneCondition::kEmpty);
}

// A limit on the file size simulates a full host: pwrite fails in the same way, with another errno.
TEST_F(EmulatedFileTest, FailedHostWriteIsAnIoErrorAndKeepsTheWritePointer) {
  Create();
  constexpr std::uint64_t kLarge = 1u << 30;
  LowerFileSizeLimit limit(kLarge);
  const auto device = Open();
  limit.Lower(6u << 20);
  const Status status = device->Write(DeviceOffset(4u << 20), Pattern(kBlock, 1).View());
  limit.Lower(kLarge);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code(), Code::kIo);
  EXPECT_EQ(status.error().os_errno(), EFBIG);
  EXPECT_NE(status.error().text().find(path + " at "), std::string::npos) << status.error().text();
  EXPECT_NE(status.error().text().find("the host has no space for this emulated device"), std::string::npos);
  EXPECT_EQ(ReportOf(*device, ZoneId(1)).WrittenBytes(), 0u);
  EXPECT_TRUE(device->Write(DeviceOffset(4u << 20), Pattern(kBlock, 1).View()).ok());
}

// Runs as a user who may not write the file. Root may write everything, so the test changes to
// another user first.
TEST_F(EmulatedFileTest, FileWithoutWritePermissionOpensReadOnlyOnly) {
  Create();
  ASSERT_EQ(::chmod(path.c_str(), 0444), 0);
  ASSERT_EQ(::chmod(directory.path().c_str(), 0755), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    if (::getuid() == 0 && ::setuid(65534) != 0) ::_exit(2);
    const auto exclusive = OpenEmulatedFile(path, OpenMode::kExclusive);
    const bool refused = !exclusive && exclusive.error().code() == Code::kPermission &&
                         exclusive.error().text().ends_with("can't be opened for writing, only read-only");
    const auto reader = OpenEmulatedFile(path, OpenMode::kReadOnly);
    ::_exit(refused && reader && (*reader)->Report(ZoneId(0), 8) ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

TEST_F(EmulatedFileTest, HostsyncFlushesAndResets) {
  Create();
  const auto device = OpenEmulatedFile(path, OpenMode::kExclusive, {.hostsync = true}).value();
  ASSERT_TRUE(device->Write(DeviceOffset(0), Pattern(kBlock, 1).View()).ok());
  EXPECT_TRUE(device->Flush().ok());
  EXPECT_TRUE(device->Reset(ZoneId(0)).ok());
  EXPECT_EQ(ReportOf(*device, ZoneId(0)).condition, ZoneCondition::kEmpty);
}

TEST_F(EmulatedFileTest, FailedZonesStayFailed) {
  Create();
  ASSERT_TRUE(Open()->SetCondition(ZoneId(2), ZoneCondition::kOffline).ok());
  EXPECT_EQ(ReportOf(*Open(), ZoneId(2)).condition, ZoneCondition::kOffline);
}

}  // namespace
}  // namespace zenfs::emulated_file_test
