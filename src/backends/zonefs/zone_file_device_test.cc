#include "backends/zonefs/zone_file_device.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "testing/device_data.h"
#include "testing/lower_file_size_limit.h"
#include "testing/plain_zone_files.h"
#include "testing/temp_directory.h"

namespace zenfs::zone_file_device_test {
namespace {

using enum ZoneCondition;
using testing::HasSubstr;

constexpr std::uint64_t kBlock = 4096;
constexpr std::uint64_t kCapacity = 64 * kBlock;

// On plain files. tests/conformance checks the same device against the contract of all devices.
class ZoneFileDeviceTest : public testing::Test {
 protected:
  ZoneFileDeviceTest() {
    Open(OpenMode::kExclusive, device);
    files = latest_;
  }
  void Open(OpenMode mode, std::unique_ptr<ZonedDevice>& into) { into = TryOpen(mode).value(); }
  Result<std::unique_ptr<ZonedDevice>> TryOpen(OpenMode mode) {
    auto plain = std::make_unique<PlainZoneFiles>(
        directory.path(), PlainZoneFiles::Shape{.zones = 4, .capacity = kCapacity, .max_open = 2});
    latest_ = plain.get();
    ZoneFileDevice::Parts parts;
    parts.name = "zonefs:/z";
    parts.mode = mode;
    parts.files = std::move(plain);
    parts.limits = {.open = 2, .active = 3};
    return ZoneFileDevice::Create(std::move(parts));
  }
  DeviceOffset At(std::uint32_t zone, std::uint64_t block = 0) const {
    return DeviceOffset(zone * kCapacity + block * kBlock);
  }
  Status Write(std::uint32_t zone, std::uint64_t block, std::uint64_t blocks, std::uint64_t seed = 1) {
    return device->Write(At(zone, block), Pattern(blocks * kBlock, seed).View());
  }
  // Puts bytes into the file of a zone without the device's knowledge.
  void Land(std::uint32_t zone, const AlignedBuffer& bytes) {
    std::ofstream(files->Path(ZoneId(zone)), std::ios::app | std::ios::binary)
        .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  }
  void SetMode(std::uint32_t zone, mode_t mode) { ::chmod(files->Path(ZoneId(zone)).c_str(), mode); }
  static Code CodeOf(const Status& status) { return status.ok() ? Code::kExists : status.error().code(); }
  ZoneCondition Condition(std::uint32_t zone) { return ReportOf(*device, ZoneId(zone)).condition; }

  TempDirectory directory;
  std::unique_ptr<ZonedDevice> device;
  PlainZoneFiles* files = nullptr;

 private:
  PlainZoneFiles* latest_ = nullptr;
};

// zonefs would end the process at the first write beyond the limit.
TEST_F(ZoneFileDeviceTest, ALimitOfFileSizesBelowAZoneRefusesWritersOnly) {
  LowerFileSizeLimit limit(kCapacity);
  EXPECT_TRUE(TryOpen(OpenMode::kExclusive));
  limit.Lower(kCapacity - 1);
  const auto refused = TryOpen(OpenMode::kExclusive);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().ToString(), testing::AllOf(HasSubstr("zonefs:/z"), HasSubstr("ulimit -f")));
  EXPECT_TRUE(TryOpen(OpenMode::kReadOnly));
}

TEST_F(ZoneFileDeviceTest, GeometryIsThatOfTheFiles) {
  EXPECT_EQ(device->geometry().zone_size, kCapacity);
  EXPECT_EQ(device->geometry().zone_count, 4u);
  EXPECT_EQ(device->geometry().block_size, kBlock);
  EXPECT_EQ(device->geometry().max_append_bytes, 0u);
}

TEST_F(ZoneFileDeviceTest, ZoneThatIsReadIsFilledInsteadOfTruncated) {
  ASSERT_TRUE(Write(1, 0, 3, 5).ok());
  ASSERT_TRUE(ReadBack(*device, At(1), kBlock));
  ASSERT_TRUE(device->Finish(ZoneId(1)).ok());
  EXPECT_EQ(files->truncates, 0);
  EXPECT_EQ(Condition(1), kFull);
  EXPECT_EQ(files->OpenForWriting(), "");
  EXPECT_TRUE(SameBytes(ReadBack(*device, At(1), 3 * kBlock)->View(), Pattern(3 * kBlock, 5).View()));
  EXPECT_TRUE(SameBytes(ReadBack(*device, At(1, 3), kBlock)->View(), std::vector<std::byte>(kBlock)));
}

TEST_F(ZoneFileDeviceTest, ZoneThatNobodyReadsIsTruncated) {
  ASSERT_TRUE(Write(1, 0, 3).ok());
  ASSERT_TRUE(Write(2, 0, 3).ok());
  ASSERT_TRUE(ReadBack(*device, At(2), kBlock));
  ASSERT_TRUE(device->Finish(ZoneId(1)).ok());
  EXPECT_EQ(files->truncates, 1);
  EXPECT_FALSE(ReadBack(*device, At(3), kBlock));
  ASSERT_TRUE(device->Finish(ZoneId(3)).ok()) << "empty, and a read of it found nothing";
  EXPECT_EQ(files->truncates, 2);
}

TEST_F(ZoneFileDeviceTest, ZoneThatCanNotBeOpenedForFillingIsTruncated) {
  ASSERT_TRUE(Write(1, 0, 3).ok());
  ASSERT_TRUE(device->Open(ZoneId(2)).ok());
  ASSERT_TRUE(device->Open(ZoneId(3)).ok());
  ASSERT_TRUE(ReadBack(*device, At(1), kBlock));
  EXPECT_TRUE(device->Finish(ZoneId(1)).ok());
  EXPECT_EQ(files->truncates, 1);
  EXPECT_EQ(Condition(1), kFull);
}

TEST_F(ZoneFileDeviceTest, FailedWriteWithoutWrittenBytesLeavesTheZoneUsable) {
  files->writes_fail = true;
  const Status failed = Write(1, 0, 2);
  EXPECT_EQ(CodeOf(failed), Code::kIo);
  EXPECT_THAT(failed.error().text(), HasSubstr("nothing of it was written"));
  EXPECT_EQ(Condition(1), kEmpty);
  files->writes_fail = false;
  EXPECT_TRUE(Write(1, 0, 2).ok());
}

TEST_F(ZoneFileDeviceTest, FailedWriteThatIsThereAfterAllIsASuccess) {
  files->writes_fail = true;
  Land(1, Pattern(2 * kBlock, 7));
  EXPECT_TRUE(Write(1, 0, 2, 7).ok()) << "the driver repeated it, and the second time was an error";
  EXPECT_EQ(ReportOf(*device, ZoneId(1)).WrittenBytes(), 2 * kBlock);
  Land(2, Pattern(2 * kBlock, 8));
  const Status other = Write(2, 0, 2, 9);
  EXPECT_EQ(CodeOf(other), Code::kIo) << "other bytes";
  Land(3, Pattern(kBlock, 9));
  EXPECT_EQ(CodeOf(Write(3, 0, 2, 9)), Code::kIo) << "a part of it";
}

TEST_F(ZoneFileDeviceTest, ErrorOfAFailedWriteReflectsTheZonesCondition) {
  ASSERT_TRUE(Write(1, 0, 1).ok());
  ASSERT_TRUE(device->Close(ZoneId(1)).ok());
  files->writes_fail = true;
  Land(1, Pattern(kCapacity - kBlock, 1));
  EXPECT_EQ(CodeOf(Write(1, 1, 2)), Code::kZoneFull);
  SetMode(2, 0440);
  EXPECT_EQ(CodeOf(Write(2, 0, 2)), Code::kReadOnly);
  EXPECT_EQ(CodeOf(Write(2, 0, 2)), Code::kReadOnly) << "now without asking the file";
  SetMode(3, 0);
  EXPECT_EQ(CodeOf(Write(3, 0, 2)), Code::kNotFound);
  EXPECT_EQ(files->OpenForWriting(), "");
}

TEST_F(ZoneFileDeviceTest, MountThatWentReadOnlyIsNamedWithItsCure) {
  files->writes_fail = true;
  files->mounted_read_only = true;
  const Status failed = Write(1, 0, 2);
  EXPECT_EQ(CodeOf(failed), Code::kIo);
  EXPECT_THAT(failed.error().ToString(), HasSubstr("errors=repair"));
}

TEST_F(ZoneFileDeviceTest, ReadOnlyZoneIsReadAndBeyondItsDataAreZeros) {
  ASSERT_TRUE(Write(1, 0, 2, 4).ok());
  SetMode(1, 0440);
  EXPECT_EQ(Condition(1), kReadOnly);
  const auto found = ReadBack(*device, At(1), 3 * kBlock);
  ASSERT_TRUE(found);
  EXPECT_TRUE(SameBytes(found->View(0, 2 * kBlock), Pattern(2 * kBlock, 4).View()));
  EXPECT_TRUE(SameBytes(found->View(2 * kBlock, kBlock), std::vector<std::byte>(kBlock)));
}

TEST_F(ZoneFileDeviceTest, ReaderSeesTheProgressOfAWriterElsewhere) {
  std::unique_ptr<ZonedDevice> reader;
  Open(OpenMode::kReadOnly, reader);
  EXPECT_FALSE(ReadBack(*reader, At(1), kBlock));
  ASSERT_TRUE(Write(1, 0, 2, 4).ok());
  EXPECT_TRUE(SameBytes(ReadBack(*reader, At(1), 2 * kBlock)->View(), Pattern(2 * kBlock, 4).View()));
  EXPECT_EQ(ReportOf(*reader, ZoneId(1)).write_pointer, At(1, 2));
  ASSERT_TRUE(device->Reset(ZoneId(1)).ok());
  EXPECT_FALSE(ReadBack(*reader, At(1), kBlock));
}

TEST_F(ZoneFileDeviceTest, FlushGoesThroughAFileThatTakesIt) {
  EXPECT_TRUE(device->Flush().ok());
  SetMode(0, 0440);
  ASSERT_TRUE(Write(1, 0, 1).ok());
  EXPECT_TRUE(device->Flush().ok());
}

TEST_F(ZoneFileDeviceTest, QueuedWriteFreesItsZoneBeforeItIsReaped) {
  const AlignedBuffer data = Pattern(kCapacity, 3);
  std::vector<IoRequest> writes(3);
  std::vector<IoRequest*> done;
  const auto queue = device->CreateQueue(4);
  for (std::uint32_t i = 0; i < 3; ++i) {
    writes[i] = {.kind = IoRequest::Kind::kWrite, .offset = At(i), .write_from = data.View()};
    queue->Submit(&writes[i]);
    queue->Reap(1, done);
    EXPECT_TRUE(writes[i].status.ok()) << writes[i].status.error().ToString();
  }
  EXPECT_EQ(files->OpenForWriting(), "");
  EXPECT_EQ(done.size(), 3u);
}

TEST_F(ZoneFileDeviceTest, FlushThatTheKernelRefusesFails) {
  files->flushes_fail = true;
  EXPECT_FALSE(device->Flush().ok());
}

TEST_F(ZoneFileDeviceTest, ZoneContinuesAfterThePartOfAFailedWrite) {
  files->writes_fail = true;
  Land(1, Pattern(2 * kBlock, 1));
  const Status failed = Write(1, 0, 4);
  EXPECT_EQ(CodeOf(failed), Code::kIo);
  files->writes_fail = false;
  EXPECT_EQ(ReportOf(*device, ZoneId(1)).write_pointer, At(1, 2));
  ASSERT_TRUE(device->Close(ZoneId(1)).ok());
  EXPECT_EQ(CodeOf(Write(1, 0, 4)), Code::kInvalidArgument);
  EXPECT_TRUE(Write(1, 2, 2).ok());
}

TEST_F(ZoneFileDeviceTest, WriteOfUnknownOutcomeDoesNotBlockItsZone) {
  files->writes_fail = true;
  std::filesystem::rename(files->Path(ZoneId(1)), directory.File("away"));
  EXPECT_EQ(CodeOf(Write(1, 0, 4)), Code::kUnknownOutcome);
  std::filesystem::rename(directory.File("away"), files->Path(ZoneId(1)));
  files->writes_fail = false;
  ASSERT_TRUE(device->Reset(ZoneId(1)).ok());
  EXPECT_TRUE(Write(1, 0, 4).ok());
}

TEST_F(ZoneFileDeviceTest, ZoneWhoseResetFailedAndWasCarriedOutIsWrittenFromItsStart) {
  ASSERT_TRUE(Write(1, 0, 4).ok());
  files->truncates_lie = true;
  EXPECT_EQ(CodeOf(device->Reset(ZoneId(1))), Code::kIo);
  EXPECT_EQ(Condition(1), kEmpty);
  EXPECT_TRUE(Write(1, 0, 2).ok());
}

TEST_F(ZoneFileDeviceTest, WriteTakesTheDescriptorsOfReadersWhenTheProcessHasNoneLeft) {
  ZoneFileDevice::Parts parts;
  parts.name = "zonefs:/z";
  parts.mode = OpenMode::kExclusive;
  parts.files = std::make_unique<PlainZoneFiles>(directory.path(),
                                                 PlainZoneFiles::Shape{.zones = 4, .capacity = kCapacity});
  parts.io_uring = false;
  device = ZoneFileDevice::Create(std::move(parts)).value();
  ASSERT_TRUE(Write(0, 0, 1).ok());
  ASSERT_TRUE(ReadBack(*device, At(0), kBlock));
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit few{.rlim_cur = 64, .rlim_max = before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &few), 0);
  std::vector<UniqueFd> rest;
  for (UniqueFd fd(::open("/dev/null", O_RDONLY)); fd.valid(); fd = UniqueFd(::open("/dev/null", O_RDONLY))) {
    rest.push_back(std::move(fd));
  }
  const Status written = Write(1, 0, 1);
  const Status none_left = Write(2, 0, 1);
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_TRUE(written.ok()) << written.error().ToString();
  ASSERT_FALSE(none_left.ok());
  EXPECT_EQ(none_left.error().os_errno(), EMFILE);
  EXPECT_TRUE(Write(2, 0, 1).ok()) << "the zone is as it was";
}

TEST(RecentReadsTest, ReadCountsForASecond) {
  RecentReads reads(4);
  EXPECT_FALSE(reads.Lately(ZoneId(1)));
  const SteadyTime before = SteadyNow();
  reads.Note(ZoneId(1));
  EXPECT_TRUE(reads.Lately(ZoneId(1)));
  EXPECT_TRUE(reads.Lately(ZoneId(1), before + std::chrono::milliseconds(900)));
  EXPECT_FALSE(reads.Lately(ZoneId(1), SteadyNow() + std::chrono::milliseconds(1200)));
}

TEST(RecentReadsTest, ZonesAreApart) {
  RecentReads reads(4);
  reads.Note(ZoneId(2));
  EXPECT_FALSE(reads.Lately(ZoneId(1)));
  EXPECT_FALSE(reads.Lately(ZoneId(3)));
}

}  // namespace
}  // namespace zenfs::zone_file_device_test
