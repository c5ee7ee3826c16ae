// The file of an emulated device is shortened while in use, or the host has no space: errors, and
// no signal.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "backends/emulator/emulated_file_test_util.h"
#include "testing/device_data.h"
#include "testing/lower_file_size_limit.h"
#include "testing/small_tmpfs.h"
#include "testing/temp_directory.h"

namespace zenfs {
namespace {

using testing::HasSubstr;

constexpr std::uint32_t kPageBytes = 4096;
constexpr EmulatorGeometry kEight{.zones = 8, .zone_size = 1u << 20};
// The words of the first page of its table are zeros; cp --sparse=always turns the page into a
// hole.
constexpr EmulatorGeometry kManyConventional{.zones = 1024, .zone_size = 65536, .conventional = 600};

std::uint64_t LengthOf(const std::string& path) {
  struct stat st{};
  EXPECT_EQ(::stat(path.c_str(), &st), 0);
  return static_cast<std::uint64_t>(st.st_size);
}

mode_t ModeOf(const std::string& path) {
  struct stat st{};
  EXPECT_EQ(::stat(path.c_str(), &st), 0);
  return st.st_mode & 07777;
}

void PunchTable(const std::string& path) {
  const UniqueFd fd(::open(path.c_str(), O_RDWR | O_CLOEXEC));
  ASSERT_EQ(::fallocate(fd.get(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, kEmulatedHeaderBytes, 4096), 0);
}

std::unique_ptr<EmulatorDevice> Open(const std::string& path, OpenMode mode = OpenMode::kExclusive) {
  auto device = OpenEmulatedFile(path, mode);
  EXPECT_TRUE(device) << device.error().ToString();
  return device ? std::move(*device) : nullptr;
}

class ShortenedFileTest : public testing::TestWithParam<bool> {
 protected:
  void SetUp() override {
    ASSERT_TRUE(CreateEmulatedFile(path, kEight, false, Timing::kNone, GetParam()).ok());
  }
  void ExpectGone(const Status& status) {
    ASSERT_FALSE(status.ok());
    EXPECT_EQ(status.error().code(), Code::kIo) << status.error().ToString();
    EXPECT_THAT(status.error().text(), HasSubstr("cut off while in use: this device is gone"));
  }
  static Status Reported(ZonedDevice& device) {
    const auto zones = device.Report(ZoneId(0), 8);
    return zones ? Status{} : Fail(zones.error());
  }

  TempDirectory directory;
  const std::string path = directory.File("a.img");
};

TEST_P(ShortenedFileTest, IsGoneForItsWriterAndDoesNotGrowAgain) {
  for (const off_t length : {off_t{5} << 20, off_t{4096}, off_t{0}}) {
    ASSERT_TRUE(CreateEmulatedFile(path, kEight, true, Timing::kNone, GetParam()).ok());
    const auto device = Open(path);
    ASSERT_TRUE(device->Write(DeviceOffset(0), Pattern(kPageBytes, 1).View()).ok());
    ASSERT_EQ(::truncate(path.c_str(), length), 0);
    ExpectGone(device->Open(ZoneId(5)));
    ExpectGone(device->Write(DeviceOffset(kPageBytes), Pattern(kPageBytes, 2).View()));
    ExpectGone(device->Write(DeviceOffset(6u << 20), Pattern(kPageBytes, 2).View()));
    ExpectGone(device->Flush());
    ExpectGone(device->Reset(ZoneId(0)));
    ExpectGone(device->Finish(ZoneId(2)));
    ExpectGone(Reported(*device));
    EXPECT_EQ(LengthOf(path), static_cast<std::uint64_t>(length));
  }
}

TEST_P(ShortenedFileTest, StaysGoneWhenItGetsItsLengthBack) {
  const auto device = Open(path);
  ASSERT_EQ(::truncate(path.c_str(), 0), 0);
  ExpectGone(device->Flush());
  ASSERT_EQ(::truncate(path.c_str(), (2 << 20) + (8 << 20)), 0);
  ExpectGone(device->Flush());
  ExpectGone(device->Write(DeviceOffset(0), Pattern(kPageBytes, 1).View()));
  EXPECT_FALSE(OpenEmulatedFile(path, OpenMode::kReadOnly));
}

TEST_P(ShortenedFileTest, IsGoneForItsReader) {
  const auto reader = Open(path, OpenMode::kReadOnly);
  ASSERT_TRUE(Open(path)->Write(DeviceOffset(0), Pattern(kPageBytes, 1).View()).ok());
  ASSERT_EQ(::truncate(path.c_str(), 0), 0);
  AlignedBuffer into = Pattern(kPageBytes, 2);
  ExpectGone(Reported(*reader));
  ExpectGone(reader->Read(DeviceOffset(0), into.Span()));
}

INSTANTIATE_TEST_SUITE_P(Cache, ShortenedFileTest, testing::Bool(),
                         [](const auto& cache) { return cache.param ? "Volatile" : "None"; });

TEST(SparseTableTest, GetsItsSpaceWhenTheDeviceIsOpenedForWriting) {
  const TempDirectory directory;
  const std::string path = directory.File("a.img");
  for (const bool volatile_cache : {false, true}) {
    ASSERT_TRUE(CreateEmulatedFile(path, kManyConventional, true, Timing::kNone, volatile_cache).ok());
    PunchTable(path);
    const auto device = Open(path);
    ASSERT_NE(device, nullptr);
    const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    const off_t tables = (volatile_cache ? 2 : 1) * 8192;
    EXPECT_GE(::lseek(fd.get(), kEmulatedHeaderBytes, SEEK_HOLE), kEmulatedHeaderBytes + tables);
    EXPECT_EQ(ReportOf(*device, ZoneId(0)).type, ZoneType::kConventional) << "and says what it said";
  }
}

class FullHostTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!host.mounted()) GTEST_SKIP() << "this process may not mount a tmpfs: run it as root";
  }

  const SmallTmpfs host{1u << 20};
  const std::string path = host.File("a.img");
};

TEST_F(FullHostTest, SparseTableIsAnErrorOfOpening) {
  ASSERT_TRUE(CreateEmulatedFile(path, kManyConventional, false).ok());
  PunchTable(path);
  host.FillUp();
  const auto device = OpenEmulatedFile(path, OpenMode::kExclusive);
  ASSERT_FALSE(device);
  EXPECT_EQ(device.error().code(), Code::kIo) << device.error().ToString();
  EXPECT_EQ(device.error().os_errno(), ENOSPC);
  EXPECT_TRUE(OpenEmulatedFile(path, OpenMode::kReadOnly));
  host.MakeRoom();
  EXPECT_TRUE(OpenEmulatedFile(path, OpenMode::kExclusive));
}

TEST_F(FullHostTest, ZonesChangeStateAndOnlyDataHasNoRoom) {
  ASSERT_TRUE(CreateEmulatedFile(path, kEight, false).ok());
  const auto device = Open(path);
  ASSERT_TRUE(device->Write(DeviceOffset(0), Pattern(kPageBytes, 1).View()).ok());
  host.FillUp();
  const Status status = device->Write(DeviceOffset(kPageBytes), Pattern(16 * kPageBytes, 1).View());
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code(), Code::kIo);
  EXPECT_EQ(status.error().os_errno(), ENOSPC);
  EXPECT_EQ(ReportOf(*device, ZoneId(0)).WrittenBytes(), kPageBytes);
  EXPECT_TRUE(device->Finish(ZoneId(1)).ok());
  EXPECT_TRUE(device->Reset(ZoneId(0)).ok());
  EXPECT_TRUE(device->Flush().ok());
}

TEST_F(FullHostTest, CreatingADeviceLeavesNothingBehind) {
  host.FillUp();
  EXPECT_EQ(CreateEmulatedFile(path, kEight, false).error().code(), Code::kNoSpace);
  EXPECT_NE(::access(path.c_str(), F_OK), 0);
}

// A limit on the file size makes the host refuse the write of a word.
TEST(UnwritableTableTest, MakesTheDeviceGoneUntilItIsOpenedAgain) {
  const TempDirectory directory;
  const std::string path = directory.File("a.img");
  ASSERT_TRUE(CreateEmulatedFile(path, kEight, false).ok());
  constexpr std::uint64_t kLarge = 1u << 30;
  LowerFileSizeLimit limit(kLarge);
  auto device = Open(path);
  limit.Lower(kEmulatedHeaderBytes);
  const Status status = device->Finish(ZoneId(1));
  limit.Lower(kLarge);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code(), Code::kIo);
  EXPECT_EQ(status.error().os_errno(), EFBIG);
  for (const Status& later :
       {device->Flush(), device->Write(DeviceOffset(0), Pattern(kPageBytes, 1).View())}) {
    ASSERT_FALSE(later.ok());
    EXPECT_THAT(later.error().text(), HasSubstr("gone until it is opened again"));
  }
  device.reset();
  device = Open(path);
  EXPECT_EQ(ReportOf(*device, ZoneId(1)).condition, ZoneCondition::kEmpty);
  EXPECT_TRUE(device->Finish(ZoneId(1)).ok());
}

TEST(EmulatedFileModeTest, OnlyItsUserMayReadANewDevice) {
  const TempDirectory directory;
  const std::string path = directory.File("a.img");
  const mode_t umask_before = ::umask(0);
  ASSERT_TRUE(CreateEmulatedFile(path, kEight, false).ok());
  ::umask(umask_before);
  EXPECT_EQ(ModeOf(path), 0600u);
  ASSERT_EQ(::chmod(path.c_str(), 0640), 0);
  ASSERT_TRUE(CreateEmulatedFile(path, kEight, true).ok());
  EXPECT_EQ(ModeOf(path), 0640u) << "a file that is replaced keeps its permissions";
}

TEST(ManyZonesTest, ImageThatClaimsMoreThanADriveHasIsRefused) {
  const TempDirectory directory;
  const std::string path = directory.File("a.img");
  ASSERT_TRUE(CreateEmulatedFile(path, {.zones = 8, .zone_size = 512, .block_size = 512}, false).ok());
  ChangeHeader(path, [](EmulatedFileHeader& header) { header.zones = 1u << 24; });
  const auto device = OpenEmulatedFile(path, OpenMode::kReadOnly);
  ASSERT_FALSE(device);
  EXPECT_EQ(device.error().code(), Code::kCorruption);
  EXPECT_THAT(device.error().text(), HasSubstr("16777216 zones: an emulated device has 1 to 1048576"));
}

}  // namespace
}  // namespace zenfs
