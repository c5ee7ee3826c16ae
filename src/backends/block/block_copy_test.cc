// Tests copies inside a block device on a simulated kernel.
#include <fcntl.h>
#include <gmock/gmock.h>

#include <cerrno>

#include "backends/block/block_command_test.h"

namespace zenfs {
namespace {

using enum ZoneCondition;
using testing::ElementsAre;
using testing::IsEmpty;

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

}  // namespace
}  // namespace zenfs
