#include "cli/advise.h"

#include <gtest/gtest.h>

#include <charconv>
#include <map>

namespace zenfs {
namespace {

constexpr std::uint64_t kMiB = 1 << 20;
constexpr std::uint64_t kGiB = 1 << 30;

AdviceInput Shape(std::uint64_t capacity, std::uint32_t zones, std::uint32_t limit) {
  return {.device = "dev:x",
          .geometry = {.zone_size = capacity, .zone_count = zones, .max_open = limit, .max_active = limit},
          .zone_capacity = capacity,
          .zones = zones,
          .kept_zones = 6,
          .memory = 4 * kGiB,
          .jobs = 8};
}

// The numbers among the values, by name.
std::map<std::string, std::uint64_t> Numbers(const AdviceInput& input) {
  std::map<std::string, std::uint64_t> numbers;
  const auto options = Advise(input);
  EXPECT_TRUE(options) << options.error().ToString();
  for (const AdvisedOption& option : *options) {
    std::uint64_t number = 0;
    const char* const end = option.value.data() + option.value.size();
    if (std::from_chars(option.value.data(), end, number).ptr == end)
      numbers[std::string(option.name)] = number;
    EXPECT_FALSE(option.reason.empty());
  }
  return numbers;
}

// What files of this size, with 4 % for index and filter, leave of a zone.
double UnusedShare(std::uint64_t file, std::uint64_t capacity) {
  const std::uint64_t whole = file + file / 25;
  const std::uint64_t fit = capacity / whole;
  return fit == 0 ? 1.0 : 1.0 - static_cast<double>(fit * whole) / static_cast<double>(capacity);
}

TEST(AdviceTest, WholeTablesFillAZone) {
  for (const std::uint64_t capacity :
       {17 * kMiB, 64 * kMiB, 96 * kMiB, 256 * kMiB, 1077 * kMiB, 2048 * kMiB}) {
    auto numbers = Numbers(Shape(capacity, 900, 14));
    const std::uint64_t file = numbers["target_file_size_base"];
    EXPECT_LE(UnusedShare(file, capacity), 0.06) << capacity / kMiB << " MiB";
    EXPECT_LE(file, 128 * kMiB) << "no longer than compactions of one are short";
    EXPECT_EQ(numbers["write_buffer_size"], file) << "a flushed memtable is a table";
  }
}

TEST(AdviceTest, MemtablesFitTheMemory) {
  AdviceInput input = Shape(1077 * kMiB, 900, 14);
  input.memory = 64 * kMiB;
  auto numbers = Numbers(input);
  EXPECT_LE(numbers["write_buffer_size"] * numbers["max_write_buffer_number"], 32 * kMiB);
  EXPECT_GE(numbers["write_buffer_size"], kMiB);
}

TEST(AdviceTest, NoMoreJobsThanZonesThatMayBeWritten) {
  EXPECT_EQ(Numbers(Shape(64 * kMiB, 900, 6))["max_background_jobs"], 2U);
  EXPECT_EQ(Numbers(Shape(64 * kMiB, 900, 8))["max_background_jobs"], 4U);
  EXPECT_EQ(Numbers(Shape(64 * kMiB, 900, 0))["max_background_jobs"], 8U) << "as many as were asked for";
}

TEST(AdviceTest, ACompactionNeedsASmallPartOfTheDevice) {
  for (const std::uint32_t zones : {128U, 900U, 10000U}) {
    auto numbers = Numbers(Shape(64 * kMiB, zones, 14));
    EXPECT_LE(numbers["max_compaction_bytes"],
              std::max(zones * 64 * kMiB / 32, 4 * numbers["target_file_size_base"]));
    EXPECT_GE(numbers["max_compaction_bytes"], 4 * numbers["target_file_size_base"]);
  }
}

// RocksDB's own limits are 64 and 256 GiB.
TEST(AdviceTest, CompactionsLagBehindByASmallPartOfTheDevice) {
  for (const std::uint32_t zones : {32U, 256U, 900U, 100000U}) {
    auto numbers = Numbers(Shape(64 * kMiB, zones, 14));
    const std::uint64_t slow = numbers["soft_pending_compaction_bytes_limit"];
    EXPECT_LE(slow, std::max(zones * 64 * kMiB / 16, 16 * numbers["write_buffer_size"])) << zones;
    EXPECT_LE(slow, 64 * kGiB);
    EXPECT_GE(slow, 12 * numbers["write_buffer_size"]) << "a merge of level 0 slows nothing down";
    EXPECT_EQ(numbers["hard_pending_compaction_bytes_limit"], 2 * slow);
    EXPECT_LT(numbers["level0_file_num_compaction_trigger"], numbers["level0_slowdown_writes_trigger"]);
    EXPECT_LT(numbers["level0_slowdown_writes_trigger"], numbers["level0_stop_writes_trigger"]);
    EXPECT_LE(numbers["level0_stop_writes_trigger"], 12U);
  }
}

TEST(AdviceTest, ADeviceOnWhichNoVolumeFitsIsRefused) {
  EXPECT_EQ(Advise(Shape(64 * kMiB, 6, 14)).error().code(), Code::kNotSupported);
  EXPECT_EQ(Advise(Shape(64 * kMiB, 900, 3)).error().code(), Code::kNotSupported);
}

}  // namespace
}  // namespace zenfs
