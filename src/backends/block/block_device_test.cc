// Tests how a block device handles the answers of a simulated kernel. open_block_device_test.cc tests its opening; the
// conformance suite tests the rest on real kernels.
#include "backends/block/block_device_impl.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "backends/block/zone_control.h"
#include "backends/host/data_path.h"
#include "base/unique_fd.h"
#include "testing/device_data.h"
#include "testing/temp_directory.h"

namespace zenfs::block_device_test {
namespace {

using enum ZoneCondition;
using testing::ElementsAre;
using testing::IsEmpty;

// A simulated kernel: the data of the device is a file, and the test sets its zones. A device whose writes fail has that file
// open for reading only.

constexpr std::uint64_t kBlock = 4096;
constexpr std::uint64_t kZone = 16 * kBlock;
constexpr std::uint64_t kCapacity = 12 * kBlock;
constexpr std::uint64_t kRunt = 4 * kBlock;  // length of the last zone

// The zones that a test sets. Commands are recorded as text: "reset 65536+65536".
struct FakeKernel {
  std::vector<ReportedZone> zones;
  std::vector<std::string> commands;
  int report_error = 0;
  int command_error = 0;
};

class FakeControl final : public ZoneControl {
 public:
  FakeControl(FakeKernel& kernel, UniqueFd fd) : kernel_(kernel), fd_(std::move(fd)) {}

  int fd() const override { return fd_.get(); }
  CommandResult Report(std::uint64_t start, std::span<ReportedZone> zones, std::size_t& count) override {
    if (kernel_.report_error != 0) return {.os_errno = kernel_.report_error};
    // One zone per answer: the kernel may return fewer than requested.
    zones[0] = kernel_.zones.at(start / kZone);
    count = 1;
    return {};
  }
  CommandResult Send(Command command, std::uint64_t start, std::uint64_t length) override {
    static constexpr const char* kNames[] = {"reset", "finish", "open", "close"};
    return Note(kNames[static_cast<std::size_t>(command)], start, length);
  }
  CommandResult OpenRandom(std::uint64_t start) override { return Note("open random", start, 0); }
  CommandResult CommitRandom(std::uint64_t to) override { return Note("commit", to, 0); }

 private:
  CommandResult Note(const std::string& what, std::uint64_t start, std::uint64_t length) {
    kernel_.commands.push_back(fmt::format("{} {}+{}", what, start, length));
    return {.os_errno = kernel_.command_error};
  }

  FakeKernel& kernel_;
  const UniqueFd fd_;
};

// Refuses the next writes as a kernel does whose own write pointer of the zone is stale.
class RefusingPath final : public DataPath {
 public:
  RefusingPath(std::unique_ptr<DataPath> path, int& refusals) : path_(std::move(path)), refusals_(refusals) {}

  IoOutcome Read(std::uint64_t offset, ByteSpan into) const override { return path_->Read(offset, into); }
  IoOutcome Write(std::uint64_t offset, std::span<const ByteView> pieces) const override {
    if (refusals_ == 0) return path_->Write(offset, pieces);
    --refusals_;
    return {.bytes = 0, .os_errno = EIO};
  }
  CommandResult Flush() const override { return path_->Flush(); }
  IoPlace Place(std::uint64_t offset) const override { return path_->Place(offset); }

 private:
  const std::unique_ptr<DataPath> path_;
  int& refusals_;
};

// The way of a drive's commands. Copies are recorded as the other commands are; they move nothing.
class DrivePath final : public DataPath {
 public:
  DrivePath(std::unique_ptr<DataPath> path, FakeKernel& kernel) : path_(std::move(path)), kernel_(kernel) {}

  IoOutcome Read(std::uint64_t offset, ByteSpan into) const override { return path_->Read(offset, into); }
  IoOutcome Write(std::uint64_t offset, std::span<const ByteView> pieces) const override {
    return path_->Write(offset, pieces);
  }
  CommandResult Flush() const override { return path_->Flush(); }
  CommandResult Copy(std::uint64_t from, std::uint64_t to, std::uint64_t length) const override {
    kernel_.commands.push_back(fmt::format("copy {} to {}+{}", from, to, length));
    return {.os_errno = kernel_.command_error};
  }
  IoPlace Place(std::uint64_t offset) const override { return path_->Place(offset); }

 private:
  const std::unique_ptr<DataPath> path_;
  FakeKernel& kernel_;
};

ReportedZone Sequential(std::uint32_t zone, ZoneCondition condition, std::uint64_t blocks_written) {
  const DeviceOffset start(zone * kZone);
  return {.info = {.condition = condition,
                   .start = start,
                   .capacity = kCapacity,
                   .write_pointer = start + blocks_written * kBlock},
          .length = kZone};
}

// Zones 0 and 2 are conventional, zone 1 has 2 written blocks, zone 3 none, and zone 4 is the short
// last one.
class BlockCommandTest : public testing::Test {
 protected:
  BlockCommandTest() {
    for (std::uint32_t i = 0; i < 5; ++i) kernel.zones.push_back(Sequential(i, ZoneCondition::kEmpty, 0));
    for (const std::uint32_t i : {0u, 2u}) {
      kernel.zones[i].info.type = ZoneType::kConventional;
      kernel.zones[i].info.condition = ZoneCondition::kNotWritePointer;
      kernel.zones[i].info.capacity = kZone;
    }
    kernel.zones[1] = Sequential(1, ZoneCondition::kClosed, 2);
    kernel.zones[4].length = kernel.zones[4].info.capacity = kRunt;
  }
  void Open(int access, OpenMode mode = OpenMode::kExclusive) {
    UniqueFd fd(::open(directory.File("disk").c_str(), access | O_CREAT, 0600));
    BlockDevice::Parts parts;
    parts.name = "dev:x";
    parts.geometry = {.block_size = kBlock, .zone_size = kZone, .zone_count = 5};
    if (random_areas) {
      parts.geometry.random_area_bytes = 4 * kBlock;
      parts.geometry.random_area_unit = 2 * kBlock;
      parts.geometry.random_area_zones = 1;
    }
    if (commands) parts.geometry.max_copy_bytes = 8 * kBlock;
    parts.mode = mode;
    parts.zones = std::make_unique<ZoneFacts>(kernel.zones);
    parts.data = std::make_shared<RefusingPath>(PathOfNode(fd.get(), kLongestCall), refusals);
    if (commands) {
      commands_fd = UniqueFd(::open(directory.File("disk").c_str(), O_RDWR | O_CREAT, 0600));
      parts.commands = std::make_shared<DrivePath>(PathOfNode(commands_fd.get(), kLongestCall), kernel);
    }
    parts.kernel_pointers = kernel_pointers;
    parts.control = std::make_unique<FakeControl>(kernel, std::move(fd));
    device = std::make_unique<BlockDevice>(std::move(parts));
  }
  void OpenFailing() { Open(O_RDONLY); }
  void Land(DeviceOffset at, const AlignedBuffer& bytes) {
    const UniqueFd fd(::open(directory.File("disk").c_str(), O_RDWR | O_CREAT, 0600));
    ASSERT_EQ(::pwrite(fd.get(), bytes.data(), bytes.size(), static_cast<off_t>(at.value)),
              static_cast<ssize_t>(bytes.size()));
  }
  static DeviceOffset At(std::uint32_t zone, std::uint64_t block) {
    return DeviceOffset(zone * kZone + block * kBlock);
  }
  static Code CodeOf(const Status& status) { return status.ok() ? Code::kExists : status.error().code(); }

  TempDirectory directory;
  FakeKernel kernel;
  int refusals = 0;              // of the next writes
  bool kernel_pointers = false;  // BlockDevice::Parts
  bool random_areas = false;     // of 4 blocks, with commits of 2
  bool commands = false;         // BlockDevice::Parts; they can write whatever `access` is
  UniqueFd commands_fd;
  std::unique_ptr<ZonedDevice> device;
};

class BlockSettleTest : public BlockCommandTest, public testing::WithParamInterface<bool> {
 protected:
  // Writes through a queue or directly. Both have the same result.
  Status Write(DeviceOffset at, const AlignedBuffer& bytes) {
    if (!GetParam()) return device->Write(at, bytes.View());
    IoRequest request{.kind = IoRequest::Kind::kWrite, .offset = at, .write_from = bytes.View()};
    const auto queue = device->CreateQueue(1);
    queue->Submit(&request);
    std::vector<IoRequest*> done;
    queue->Reap(1, done);
    return request.status;
  }
};

TEST_P(BlockSettleTest, FailedWriteSucceedsIfItsBytesAreOnTheDevice) {
  OpenFailing();
  const AlignedBuffer data = Pattern(4 * kBlock, 1);
  Land(At(1, 2), data);
  kernel.zones[1] = Sequential(1, kImplicitlyOpen, 6);
  EXPECT_TRUE(Write(At(1, 2), data).ok());
  kernel.zones[1] = Sequential(1, kFull, 16);
  Land(At(1, 6), Pattern(6 * kBlock, 2));
  EXPECT_TRUE(Write(At(1, 6), Pattern(6 * kBlock, 2)).ok()) << "and filled the zone";
}

TEST_P(BlockSettleTest, FailedWriteWithOtherBytesInItsPlaceFails) {
  OpenFailing();
  AlignedBuffer data = Pattern(4 * kBlock, 1);
  Land(At(1, 2), data);
  data.data()[4 * kBlock - 1] ^= std::byte{1};
  kernel.zones[1] = Sequential(1, kImplicitlyOpen, 6);
  EXPECT_EQ(CodeOf(Write(At(1, 2), data)), Code::kIo);
}

TEST_P(BlockSettleTest, BytesOfAnEarlierWriteAreNotTakenForThoseOfALaterOne) {
  OpenFailing();
  const AlignedBuffer data = Pattern(2 * kBlock, 1);
  Land(At(1, 0), data);
  EXPECT_EQ(CodeOf(Write(At(1, 0), data)), Code::kInvalidArgument) << "not at the write pointer";
}

TEST_P(BlockSettleTest, FailedFirstWriteAfterAResetMayHaveLanded) {
  OpenFailing();
  ASSERT_TRUE(device->Reset(ZoneId(1)).ok());
  const AlignedBuffer data = Pattern(2 * kBlock, 1);
  Land(At(1, 0), data);
  EXPECT_TRUE(Write(At(1, 0), data).ok());
}

TEST_P(BlockSettleTest, FailedWriteWithoutAReportHasAnUnknownOutcome) {
  OpenFailing();
  kernel.report_error = ENODEV;
  const Status status = Write(At(1, 2), Pattern(kBlock, 1));
  ASSERT_EQ(CodeOf(status), Code::kUnknownOutcome);
  EXPECT_EQ(status.error().os_errno(), EBADF);
}

TEST_P(BlockSettleTest, WriteBeyondTheCapacityIsRefusedBeforeItIsSent) {
  Open(O_RDWR);
  EXPECT_TRUE(Write(At(1, 2), Pattern(10 * kBlock, 1)).ok());
  EXPECT_EQ(CodeOf(Write(At(3, 0), Pattern(kCapacity + kBlock, 1))), Code::kZoneFull);
  EXPECT_EQ(CodeOf(Write(At(1, 12), Pattern(kBlock, 1))), Code::kZoneFull);
  EXPECT_EQ(CodeOf(Write(At(1, 13), Pattern(kBlock, 1))), Code::kZoneFull);
  EXPECT_EQ(CodeOf(Write(At(4, 3), Pattern(2 * kBlock, 1))), Code::kZoneFull);
  EXPECT_EQ(std::filesystem::file_size(directory.File("disk")), At(1, 12).value);
}

TEST_P(BlockSettleTest, CapacityIsThatOfTheLatestReport) {
  Open(O_RDWR);
  kernel.zones[3].info.capacity = 3 * kBlock;  // changed by a reset
  ASSERT_TRUE(device->Reset(ZoneId(3)).ok());
  ASSERT_TRUE(device->Report(ZoneId(3), 1));
  EXPECT_EQ(CodeOf(Write(At(3, 0), Pattern(4 * kBlock, 1))), Code::kZoneFull);
  kernel.zones[3].info.capacity = 14 * kBlock;
  ASSERT_TRUE(device->Report(ZoneId(3), 1));
  EXPECT_TRUE(Write(At(3, 0), Pattern(14 * kBlock, 1)).ok());
}

INSTANTIATE_TEST_SUITE_P(By, BlockSettleTest, testing::Bool(),
                         [](const auto& queued) { return queued.param ? "Queue" : "Call"; });

TEST_F(BlockCommandTest, AWriteThatTheKernelRefusesForItsStalePointerIsRepeatedOnce) {
  kernel_pointers = true;
  Open(O_RDWR);
  refusals = 1;
  EXPECT_TRUE(device->Write(At(1, 2), Pattern(kBlock, 1).View()).ok());
  refusals = 2;
  EXPECT_EQ(CodeOf(device->Write(At(1, 2), Pattern(kBlock, 1).View())), Code::kIo);
  EXPECT_EQ(refusals, 0);
}

TEST_F(BlockCommandTest, AKernelWithoutPointersIsNotAskedTwice) {
  Open(O_RDWR);
  refusals = 1;
  EXPECT_EQ(CodeOf(device->Write(At(1, 2), Pattern(kBlock, 1).View())), Code::kIo);
}

TEST_F(BlockCommandTest, RandomWriteAreasAreOpenedAndCommittedByTheDrive) {
  random_areas = true;
  Open(O_RDWR);
  ASSERT_TRUE(device->OpenRandom(ZoneId(3)).ok());
  ASSERT_TRUE(device->CommitRandom(At(3, 2)).ok());
  EXPECT_THAT(kernel.commands, ElementsAre("open random 196608+0", "commit 204800+0"));
  EXPECT_EQ(CodeOf(device->CommitRandom(At(3, 3))), Code::kInvalidArgument) << "not by units";
  EXPECT_EQ(CodeOf(device->CommitRandom(At(1, 4))), Code::kInvalidArgument) << "has no area";
  EXPECT_EQ(CodeOf(device->OpenRandom(ZoneId(0))), Code::kInvalidArgument) << "conventional";
  EXPECT_EQ(kernel.commands.size(), 2u);
}

TEST_F(BlockCommandTest, RandomWriteAreasNeedCommandsOfTheDrive) {
  Open(O_RDWR);
  EXPECT_EQ(CodeOf(device->OpenRandom(ZoneId(3))), Code::kNotSupported);
  EXPECT_EQ(CodeOf(device->CommitRandom(At(3, 2))), Code::kNotSupported);
  EXPECT_THAT(kernel.commands, IsEmpty());
}

TEST_F(BlockCommandTest, RefusedRandomOpensHaveTheirReason) {
  random_areas = true;
  Open(O_RDWR);
  kernel.command_error = EBUSY;
  EXPECT_EQ(CodeOf(device->OpenRandom(ZoneId(3))), Code::kBusy);
  kernel.command_error = EIO;
  EXPECT_EQ(CodeOf(device->OpenRandom(ZoneId(3))), Code::kIo) << "the zone is empty";
  EXPECT_EQ(CodeOf(device->OpenRandom(ZoneId(1))), Code::kInvalidArgument) << "the zone is not empty";
}

TEST_P(BlockSettleTest, WritesIntoARandomWriteAreaGoAnywhere) {
  random_areas = true;
  Open(O_RDWR);
  ASSERT_TRUE(device->OpenRandom(ZoneId(3)).ok());
  for (const std::uint64_t block : {3, 1, 1}) EXPECT_TRUE(Write(At(3, block), Pattern(kBlock, block)).ok());
  EXPECT_TRUE(SameBytes(ReadBack(*device, At(3, 1), kBlock)->View(), Pattern(kBlock, 1).View()));
}

TEST_P(BlockSettleTest, ZoneThatTheKernelCannotWriteIsWrittenByCommandsUntilItsReset) {
  random_areas = commands = true;
  OpenFailing();
  ASSERT_TRUE(device->OpenRandom(ZoneId(3)).ok());
  EXPECT_TRUE(Write(At(3, 1), Pattern(kBlock, 1)).ok());
  EXPECT_FALSE(Write(At(1, 2), Pattern(kBlock, 1)).ok()) << "other zones are not";
  ASSERT_TRUE(device->Reset(ZoneId(3)).ok());
  EXPECT_FALSE(Write(At(3, 0), Pattern(2 * kBlock, 2)).ok());
}

TEST_P(BlockSettleTest, FailedWriteIntoARandomWriteAreaNeverSucceeds) {
  random_areas = true;
  kernel.zones[3].info.random_area = true;
  kernel.zones[3].info.condition = kClosed;
  OpenFailing();
  Land(At(3, 0), Pattern(kBlock, 1));
  EXPECT_FALSE(Write(At(3, 0), Pattern(kBlock, 1)).ok()) << "the block may be that of an earlier write";
  kernel.zones[3].info.write_pointer = At(3, 2);
  EXPECT_EQ(CodeOf(Write(At(3, 0), Pattern(kBlock, 1))), Code::kInvalidArgument) << "below the pointer";
  EXPECT_EQ(CodeOf(Write(At(3, 10), Pattern(kBlock, 1))), Code::kInvalidArgument) << "too far behind it";
  kernel.zones[3].info.condition = kFull;
  EXPECT_EQ(CodeOf(Write(At(3, 2), Pattern(kBlock, 1))), Code::kZoneFull);
  kernel.report_error = ENODEV;
  EXPECT_EQ(CodeOf(Write(At(3, 2), Pattern(kBlock, 1))), Code::kUnknownOutcome);
}

TEST_P(BlockSettleTest, ResetEndsTheRandomWriteArea) {
  random_areas = true;
  kernel.zones[3].info.random_area = true;
  kernel.zones[3].info.condition = kClosed;
  OpenFailing();
  ASSERT_TRUE(device->Reset(ZoneId(3)).ok());
  Land(At(3, 0), Pattern(kBlock, 1));
  kernel.zones[3] = Sequential(3, kImplicitlyOpen, 1);
  EXPECT_TRUE(Write(At(3, 0), Pattern(kBlock, 1)).ok()) << "settled as in other zones";
}

TEST_F(BlockCommandTest, LastZoneIsManagedAndReadToItsEnd) {
  Open(O_RDWR);
  ASSERT_TRUE(device->Reset(ZoneId(4)).ok());
  ASSERT_TRUE(device->Finish(ZoneId(1)).ok());
  EXPECT_THAT(kernel.commands, ElementsAre("reset 262144+16384", "finish 65536+65536"));
  Land(At(4, 0), Pattern(kRunt, 1));
  AlignedBuffer into = Pattern(kRunt + kBlock, 2);
  EXPECT_TRUE(device->Read(At(4, 0), into.Span().first(kRunt)).ok());
  EXPECT_EQ(CodeOf(device->Read(At(4, 0), into.Span())), Code::kInvalidArgument);
  EXPECT_EQ(CodeOf(device->Read(At(1, 15), into.Span())), Code::kInvalidArgument) << "into the next zone";
}

TEST_F(BlockCommandTest, ConventionalZonesAreNotManaged) {
  Open(O_RDWR);
  for (const std::uint32_t zone : {0u, 2u}) {
    EXPECT_EQ(CodeOf(device->Reset(ZoneId(zone))), Code::kInvalidArgument);
    EXPECT_EQ(CodeOf(device->Finish(ZoneId(zone))), Code::kInvalidArgument);
  }
  EXPECT_THAT(kernel.commands, IsEmpty());
}

TEST_F(BlockCommandTest, ReadOnlyDeviceRefusesAllChanges) {
  Open(O_RDWR, OpenMode::kReadOnly);
  EXPECT_EQ(CodeOf(device->Reset(ZoneId(1))), Code::kReadOnly);
  EXPECT_EQ(CodeOf(device->Write(At(1, 2), Pattern(kBlock, 1).View())), Code::kReadOnly);
  EXPECT_EQ(CodeOf(device->Flush()), Code::kReadOnly);
  EXPECT_THAT(kernel.commands, IsEmpty());
}

TEST_F(BlockCommandTest, FlushThatTheKernelRefusesFails) {
  std::filesystem::create_symlink("/dev/null", directory.File("disk"));  // does not support a flush
  Open(O_RDWR);
  EXPECT_FALSE(device->Flush().ok());
  std::filesystem::remove(directory.File("disk"));
  Open(O_RDWR);
  EXPECT_TRUE(device->Flush().ok());
}

TEST_F(BlockCommandTest, ErrorOfAFailedCommandReflectsTheZonesCondition) {
  Open(O_RDWR);
  kernel.command_error = ETOOMANYREFS;
  EXPECT_EQ(CodeOf(device->Open(ZoneId(1))), Code::kBusy);
  kernel.command_error = EIO;
  EXPECT_EQ(CodeOf(device->Finish(ZoneId(1))), Code::kIo);
  kernel.zones[1].info.condition = kReadOnly;
  EXPECT_EQ(CodeOf(device->Finish(ZoneId(1))), Code::kReadOnly);
  kernel.zones[1].info.condition = kOffline;
  EXPECT_EQ(CodeOf(device->Reset(ZoneId(1))), Code::kNotFound);
  kernel.report_error = ENODEV;
  EXPECT_EQ(CodeOf(device->Reset(ZoneId(1))), Code::kIo);
}

// Copies inside the device.

class BlockCopyTest : public BlockCommandTest {
 protected:
  BlockCopyTest() { commands = true; }
  // From the two blocks of zone 1.
  Status Copy(DeviceOffset to, std::uint64_t blocks = 2) {
    return device->Copy(At(1, 0), to, blocks * kBlock);
  }
};

TEST_F(BlockCopyTest, ZoneIsWrittenByCommandsAfterACopyUntilItsReset) {
  OpenFailing();
  ASSERT_TRUE(Copy(At(3, 0)).ok());
  EXPECT_THAT(kernel.commands, ElementsAre("copy 65536 to 196608+8192"));
  EXPECT_TRUE(device->Write(At(3, 2), Pattern(kBlock, 1).View()).ok());
  EXPECT_FALSE(device->Write(At(1, 2), Pattern(kBlock, 1).View()).ok()) << "the source is not";
  ASSERT_TRUE(device->Reset(ZoneId(3)).ok());
  EXPECT_FALSE(device->Write(At(3, 0), Pattern(kBlock, 1).View()).ok());
}

TEST_F(BlockCopyTest, ZoneOfAFailedCopyIsWrittenByCommands) {
  OpenFailing();
  kernel.command_error = EIO;
  ASSERT_EQ(CodeOf(Copy(At(3, 0))), Code::kIo);
  EXPECT_TRUE(device->Write(At(3, 0), Pattern(kBlock, 1).View()).ok());
}

TEST_F(BlockCopyTest, ReportOfTheZoneDecidesWhatAFailureMeans) {
  Open(O_RDWR);
  kernel.command_error = EIO;
  EXPECT_EQ(CodeOf(Copy(At(3, 0))), Code::kIo) << "nothing was written";
  kernel.zones[3] = Sequential(3, kImplicitlyOpen, 1);
  EXPECT_EQ(CodeOf(Copy(At(3, 0))), Code::kIo) << "a part was written";
  EXPECT_EQ(CodeOf(Copy(At(3, 0))), Code::kInvalidArgument) << "not at the write pointer";
  kernel.zones[3].info.condition = kFull;
  EXPECT_EQ(CodeOf(Copy(At(3, 1))), Code::kZoneFull);
  kernel.zones[3].info.condition = kReadOnly;
  EXPECT_EQ(CodeOf(Copy(At(3, 1))), Code::kReadOnly);
  kernel.zones[3].info.condition = kOffline;
  EXPECT_EQ(CodeOf(Copy(At(3, 1))), Code::kNotFound);
  kernel.command_error = EOVERFLOW;
  EXPECT_EQ(CodeOf(Copy(At(3, 1))), Code::kBusy);
  kernel.report_error = ENODEV;
  const Status unknown = Copy(At(3, 1));
  ASSERT_EQ(CodeOf(unknown), Code::kUnknownOutcome);
  EXPECT_EQ(unknown.error().os_errno(), EOVERFLOW);
}

TEST_F(BlockCopyTest, FailedCopySucceedsIfItsBytesAreOnTheDevice) {
  Open(O_RDWR);
  Land(At(1, 0), Pattern(2 * kBlock, 1));
  Land(At(3, 0), Pattern(2 * kBlock, 1));
  kernel.command_error = EIO;
  kernel.zones[3] = Sequential(3, kImplicitlyOpen, 2);
  EXPECT_TRUE(Copy(At(3, 0)).ok());
  Land(At(3, 2), Pattern(2 * kBlock, 2));
  kernel.zones[3] = Sequential(3, kImplicitlyOpen, 4);
  EXPECT_EQ(CodeOf(Copy(At(3, 2))), Code::kIo) << "other bytes are there";
}

TEST_F(BlockCopyTest, CopyThatNoZoneTakesIsNotSent) {
  random_areas = true;
  kernel.zones[1].info.random_area = true;
  Open(O_RDWR);
  EXPECT_EQ(CodeOf(Copy(At(0, 0))), Code::kInvalidArgument) << "conventional";
  EXPECT_EQ(CodeOf(Copy(At(1, 2))), Code::kInvalidArgument) << "has a random write area";
  EXPECT_EQ(CodeOf(Copy(At(3, 11))), Code::kZoneFull) << "beyond the capacity";
  EXPECT_EQ(CodeOf(Copy(At(3, 0), 9)), Code::kInvalidArgument) << "longer than the drive takes";
  Open(O_RDWR, OpenMode::kReadOnly);
  EXPECT_EQ(CodeOf(Copy(At(3, 0))), Code::kReadOnly);
  EXPECT_THAT(kernel.commands, IsEmpty());
}

TEST_F(BlockCommandTest, CopiesNeedCommandsOfTheDrive) {
  Open(O_RDWR);
  EXPECT_EQ(CodeOf(device->Copy(At(1, 0), At(3, 0), kBlock)), Code::kNotSupported);
  EXPECT_THAT(kernel.commands, IsEmpty());
}

// Who reads while another thread drops old bytes may find them.
TEST(ZoneFactsTest, TheCacheOfAZoneIsCurrentOnlyAfterTheDrop) {
  const std::array<ReportedZone, 2> zones;
  ZoneFacts facts(zones);
  EXPECT_FALSE(facts.cache_is_current(ZoneId(1)));
  EXPECT_TRUE(facts.TakeDrop(ZoneId(1)));
  EXPECT_FALSE(facts.TakeDrop(ZoneId(1)));
  EXPECT_FALSE(facts.cache_is_current(ZoneId(1)));
  facts.SetCacheCurrent(ZoneId(1));
  EXPECT_TRUE(facts.cache_is_current(ZoneId(1)));
  EXPECT_FALSE(facts.TakeDrop(ZoneId(1)));
  EXPECT_FALSE(facts.cache_is_current(ZoneId(0)));
}

}  // namespace
}  // namespace zenfs::block_device_test
