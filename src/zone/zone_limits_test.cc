#include "zone/zone_limits.h"

#include <gtest/gtest.h>

#include <array>

namespace zenfs::zone_limits_test {
namespace {

Result<SlotPlan> Plan(std::uint32_t max_open, std::uint32_t max_active) {
  Geometry geometry;
  geometry.max_open = max_open;
  geometry.max_active = max_active;
  return PlanSlots(geometry, "dev");
}

TEST(SlotPlanTest, NoLimitGivesDataItsMaximum) {
  EXPECT_EQ(Plan(0, 0).value(), (SlotPlan{.data = kUnlimitedDataSlots, .open_data = kUnlimitedDataSlots}));
}

TEST(SlotPlanTest, LimitsOfSixOrMoreReserveFourSlots) {
  EXPECT_EQ(Plan(14, 14).value(), (SlotPlan{.data = 10, .open_data = 10}));
  EXPECT_EQ(Plan(6, 6).value(), (SlotPlan{.data = 2, .open_data = 2}));
}

TEST(SlotPlanTest, ASecondCopyOfTheMetadataTakesTwoSlots) {
  const auto plan = [](std::uint32_t limit, std::uint64_t area) {
    return PlanSlots({.max_open = limit, .max_active = limit, .random_area_bytes = area}, "dev", 2).value();
  };
  EXPECT_EQ(plan(14, 0), (SlotPlan{.data = 8, .open_data = 8}));
  EXPECT_EQ(plan(8, 0), (SlotPlan{.data = 2, .open_data = 2}));
  EXPECT_EQ(plan(8, 65536), (SlotPlan{.data = 2, .open_data = 2}));
  EXPECT_EQ(plan(9, 65536), (SlotPlan{.data = 2, .open_data = 2, .sync_zone = true}));
}

TEST(SlotPlanTest, SwitchAndReclaimShareASlotWithLimitsFourAndFive) {
  EXPECT_EQ(Plan(5, 5).value(), (SlotPlan{.data = 2, .open_data = 2, .switch_and_reclaim_share = true}));
  EXPECT_EQ(Plan(4, 4).value(), (SlotPlan{.data = 1, .open_data = 1, .switch_and_reclaim_share = true}));
}

// R7 of docs/internals/failures.md.
TEST(SlotPlanTest, LimitsBelowFourAreRefused) {
  for (const auto& plan : {Plan(3, 14), Plan(14, 3), Plan(3, 3), Plan(2, 2), Plan(1, 0), Plan(0, 1)}) {
    ASSERT_FALSE(plan);
    EXPECT_EQ(plan.error().code(), Code::kNotSupported);
  }
  EXPECT_EQ(
      Plan(3, 0).error().text(),
      "dev: the device allows 3 open and 0 active zones at once (0: no limit), and ZenFS needs at least 4 "
      "of each");
}

TEST(SlotPlanTest, RandomAreasTakeOneMoreSlotIfDataKeepsTwo) {
  const auto plan = [](std::uint32_t limit) {
    return PlanSlots({.max_open = limit, .max_active = limit, .random_area_bytes = 65536}, "dev").value();
  };
  EXPECT_EQ(plan(14), (SlotPlan{.data = 9, .open_data = 9, .sync_zone = true}));
  EXPECT_EQ(plan(7), (SlotPlan{.data = 2, .open_data = 2, .sync_zone = true}));
  EXPECT_EQ(plan(6), (SlotPlan{.data = 2, .open_data = 2}));
  EXPECT_TRUE(plan(0).sync_zone);
}

// The log's slots are those of its own device.
TEST(SlotPlanTest, OfTwoDevicesDataHasTheLogsShare) {
  const auto plan = [](std::uint32_t limit, std::uint32_t areas) {
    return PlanSlots({.zone_count = 20,
                      .max_open = limit,
                      .max_active = limit,
                      .log_zones = 8,
                      .random_area_bytes = areas * 65536},
                     "dev")
        .value();
  };
  EXPECT_EQ(plan(14, 0), (SlotPlan{.data = 11, .open_data = 11}));
  EXPECT_EQ(plan(14, 1), (SlotPlan{.data = 11, .open_data = 11, .sync_zone = true}));
  EXPECT_EQ(plan(5, 0), (SlotPlan{.data = 2, .open_data = 2}));
  EXPECT_EQ(plan(4, 1),
            (SlotPlan{.data = 2, .open_data = 2, .switch_and_reclaim_share = true, .sync_zone = true}));
}

TEST(SlotPlanTest, ZonesThatComeBackFromTheLogHaveWhatTheLogDoesNotWrite) {
  const auto returned = [](std::uint32_t limit, std::uint64_t areas) {
    return PlanReturnedLogSlots({.log_max_open = limit, .log_max_active = limit, .random_area_bytes = areas})
        .data;
  };
  EXPECT_EQ(returned(4, 0), 3U);
  EXPECT_EQ(returned(4, 65536), 2U);
  EXPECT_EQ(returned(0, 0), kUnlimitedDataSlots);
}

TEST(SlotPlanTest, LowerOpenLimitBoundsWritersNotActiveZones) {
  EXPECT_EQ(Plan(6, 14).value(), (SlotPlan{.data = 10, .open_data = 2}));
  EXPECT_EQ(Plan(128, 0).value(), (SlotPlan{.data = 124, .open_data = 124}));
  EXPECT_EQ(Plan(0, 8).value(), (SlotPlan{.data = 4, .open_data = 4}));
}

TEST(SlotBudgetTest, CopiesHaveOneMoreSlotThanData) {
  SlotBudget slots({.data = 1, .open_data = 1});
  std::array<ZoneState, 3> zones;
  slots.Hold(zones[0]);
  slots.BeginWriter();
  EXPECT_FALSE(slots.MayActivate(WritePurpose::kData));
  EXPECT_FALSE(slots.MayWrite(WritePurpose::kData));
  EXPECT_TRUE(slots.MayActivate(WritePurpose::kReclaim));
  EXPECT_TRUE(slots.MayWrite(WritePurpose::kReclaim));
  slots.Hold(zones[1]);
  EXPECT_FALSE(slots.MayActivate(WritePurpose::kReclaim));
  EXPECT_FALSE(slots.exceeded());
  slots.Hold(zones[2]);
  EXPECT_TRUE(slots.exceeded());
}

TEST(SlotBudgetTest, CopiesOfASmallDeviceShareTheSlotsOfData) {
  SlotBudget slots({.data = 1, .open_data = 1, .switch_and_reclaim_share = true});
  ZoneState zone;
  slots.Hold(zone);
  EXPECT_FALSE(slots.MayActivate(WritePurpose::kReclaim));
}

TEST(SlotBudgetTest, AZoneHoldsAtMostOneSlot) {
  SlotBudget slots({.data = 2, .open_data = 2});
  ZoneState zone;
  slots.Hold(zone);
  slots.Hold(zone);
  EXPECT_EQ(slots.used(), 1U);
  slots.Release(zone);
  slots.Release(zone);
  EXPECT_EQ(slots.used(), 0U);
}

}  // namespace
}  // namespace zenfs::zone_limits_test
