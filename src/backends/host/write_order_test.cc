#include "backends/host/write_order.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "backends/host/io_outcome.h"

namespace zenfs {
namespace {

using testing::AllOf;
using testing::HasSubstr;

BlockFacts WithScheduler(std::optional<std::string> scheduler) {
  BlockFacts facts;
  facts.name = "nvme0n1";
  if (scheduler) facts.schedulers = {"none", "mq-deadline"};
  facts.scheduler = std::move(scheduler);
  facts.longest_command = 33 * 4096 + 512;
  return facts;
}

TEST(WriteOrderTest, OldKernelsNeedMqDeadline) {
  EXPECT_TRUE(CheckWriteOrder("dev:x", WithScheduler("mq-deadline"), "6.1.0"));
  const Status none = CheckWriteOrder("dev:x", WithScheduler("none"), "6.1.0");
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code(), Code::kInvalidArgument);
  EXPECT_THAT(none.error().text(), AllOf(HasSubstr("dev:x"), HasSubstr("'none'"),
                                         HasSubstr("echo mq-deadline > /sys/block/nvme0n1/queue/scheduler")));
}

TEST(WriteOrderTest, KernelsThatPlugZoneWritesTakeAnyScheduler) {
  EXPECT_TRUE(CheckWriteOrder("dev:x", WithScheduler("none"), "6.10.0"));
  EXPECT_EQ(LongestWrite(WithScheduler(std::nullopt), "6.10.0"), kLongestCall);
}

TEST(WriteOrderTest, WithoutASchedulerWritesAreNoLongerThanACommand) {
  EXPECT_TRUE(CheckWriteOrder("dev:x", WithScheduler(std::nullopt), "6.1.0"));
  EXPECT_EQ(LongestWrite(WithScheduler(std::nullopt), "6.1.0"), 33u * 4096);
  EXPECT_EQ(LongestWrite(WithScheduler("mq-deadline"), "6.1.0"), kLongestCall);
  BlockFacts mapped = WithScheduler("none");
  mapped.schedulers = {"none"};
  EXPECT_TRUE(CheckWriteOrder("dev:x", mapped, "6.1.0"));
  EXPECT_EQ(LongestWrite(mapped, "6.1.0"), 33u * 4096);
}

TEST(WriteOrderTest, UnknownLengthOfCommandsIsNoLimit) {
  EXPECT_EQ(LongestWrite(BlockFacts{}, "6.1.0"), kLongestCall);
}

}  // namespace
}  // namespace zenfs
