#include "zone/slot_budget.h"

#include <gtest/gtest.h>

#include <array>

namespace zenfs::slot_budget_test {
namespace {

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
  slots.Free(zone);
  slots.Free(zone);
  EXPECT_EQ(slots.used(), 0U);
}

}  // namespace
}  // namespace zenfs::slot_budget_test
