#include "backends/host/io_scheduler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "backends/host/plain_io.h"
#include "testing/temp_directory.h"
#include "testing/unprivileged.h"

namespace zenfs {
namespace {

using testing::AllOf;
using testing::HasSubstr;

constexpr char kOld[] = "6.1.0-56-amd64";
constexpr char kNew[] = "6.12.117+deb12-amd64";

BlockFacts DiskWith(std::optional<std::string> scheduler) {
  BlockFacts facts;
  facts.name = "nvme0n1";
  if (scheduler) facts.schedulers = {"none", "mq-deadline", "kyber", "bfq"};
  facts.scheduler = std::move(scheduler);
  return facts;
}

TEST(SchedulerTest, OldKernelsKeepWritesInOrderOnlyWithMqDeadline) {
  EXPECT_TRUE(KeepsWritesInOrder(DiskWith("mq-deadline"), kOld));
  EXPECT_FALSE(KeepsWritesInOrder(DiskWith("none"), kOld));
  EXPECT_FALSE(KeepsWritesInOrder(DiskWith("bfq"), kOld));
}

TEST(SchedulerTest, KernelsThatPlugZoneWritesNeedNone) {
  EXPECT_TRUE(KeepsWritesInOrder(DiskWith("none"), kNew));
  EXPECT_TRUE(KeepsWritesInOrder(DiskWith("kyber"), kNew));
}

TEST(SchedulerTest, DevicesWithoutSchedulerHaveNothingToSet) {
  EXPECT_TRUE(KeepsWritesInOrder(DiskWith(std::nullopt), kOld));
  BlockFacts mapped = DiskWith("none");
  mapped.schedulers = {"none"};  // like device mapper on Linux 6.1
  EXPECT_TRUE(KeepsWritesInOrder(mapped, kOld));
}

BlockFacts WithScheduler(std::optional<std::string> scheduler) {
  BlockFacts facts;
  facts.name = "nvme0n1";
  if (scheduler) facts.schedulers = {"none", "mq-deadline"};
  facts.scheduler = std::move(scheduler);
  facts.longest_command = 33 * 4096 + 512;
  return facts;
}

TEST(WriteOrderTest, OldKernelsNeedMqDeadline) {
  EXPECT_TRUE(CheckWriteOrder("dev:x", WithScheduler("mq-deadline"), "6.1.0").ok());
  const Status none = CheckWriteOrder("dev:x", WithScheduler("none"), "6.1.0");
  ASSERT_FALSE(none.ok());
  EXPECT_EQ(none.error().code(), Code::kInvalidArgument);
  EXPECT_THAT(none.error().text(), AllOf(HasSubstr("dev:x"), HasSubstr("'none'"),
                                         HasSubstr("echo mq-deadline > /sys/block/nvme0n1/queue/scheduler")));
}

TEST(WriteOrderTest, KernelsThatPlugZoneWritesTakeAnyScheduler) {
  EXPECT_TRUE(CheckWriteOrder("dev:x", WithScheduler("none"), "6.10.0").ok());
  EXPECT_EQ(LongestWrite(WithScheduler(std::nullopt), "6.10.0"), kLongestCall);
}

TEST(WriteOrderTest, WithoutASchedulerWritesAreNoLongerThanACommand) {
  EXPECT_TRUE(CheckWriteOrder("dev:x", WithScheduler(std::nullopt), "6.1.0").ok());
  EXPECT_EQ(LongestWrite(WithScheduler(std::nullopt), "6.1.0"), 33u * 4096);
  EXPECT_EQ(LongestWrite(WithScheduler("mq-deadline"), "6.1.0"), kLongestCall);
  BlockFacts mapped = WithScheduler("none");
  mapped.schedulers = {"none"};
  EXPECT_TRUE(CheckWriteOrder("dev:x", mapped, "6.1.0").ok());
  EXPECT_EQ(LongestWrite(mapped, "6.1.0"), 33u * 4096);
}

TEST(WriteOrderTest, WritesAreNoShorterThanABlock) {
  BlockFacts mapped = WithScheduler(std::nullopt);
  mapped.write_granularity = 64 << 20;
  EXPECT_EQ(LongestWrite(mapped, "6.1.0"), 64u << 20) << "none could be sent";
}

TEST(WriteOrderTest, UnknownLengthOfCommandsIsNoLimit) {
  EXPECT_EQ(LongestWrite(BlockFacts{}, "6.1.0"), kLongestCall);
}

class SetSchedulerTest : public testing::Test {
 protected:
  void SetUp() override {
    std::filesystem::create_directories(directory_.File("block/sda/queue"));
    std::filesystem::create_directories(directory_.File("block/dm-0/queue"));
    std::ofstream(file_).close();
  }

  TempDirectory directory_;
  const std::string file_ = directory_.File("block/sda/queue/scheduler");
};

TEST_F(SetSchedulerTest, IsWrittenToTheQueue) {
  const Status set = SetScheduler("sda", kOrderedScheduler, directory_.path());
  ASSERT_TRUE(set.ok()) << set.error().ToString();
  std::string text;
  std::getline(std::ifstream(file_), text);
  EXPECT_EQ(text, "mq-deadline");
}

TEST_F(SetSchedulerTest, WhereThereIsNoneIsNotFound) {
  const Status set = SetScheduler("dm-0", kOrderedScheduler, directory_.path());
  ASSERT_FALSE(set.ok());
  EXPECT_EQ(set.error().code(), Code::kNotFound);
  EXPECT_THAT(set.error().text(), HasSubstr("dm-0 has no scheduler"));
}

TEST_F(SetSchedulerTest, WithoutPermissionTheLineHasTheCommand) {
  std::filesystem::permissions(directory_.path(), std::filesystem::perms(0755));
  std::filesystem::permissions(file_, std::filesystem::perms(0444));
  Status set;
  {
    const Unprivileged nobody;
    set = SetScheduler("sda", kOrderedScheduler, directory_.path());
  }
  ASSERT_FALSE(set.ok());
  EXPECT_EQ(set.error().code(), Code::kPermission);
  EXPECT_THAT(set.error().ToString(), HasSubstr("echo mq-deadline > /sys/block/sda/queue/scheduler"));
}

}  // namespace
}  // namespace zenfs
