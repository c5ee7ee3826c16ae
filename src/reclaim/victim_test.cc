#include "reclaim/victim.h"

#include <gtest/gtest.h>

#include <vector>

namespace zenfs {
namespace {

constexpr std::uint64_t kCapacity = 1000;

ZoneStatus Full(std::uint32_t id, std::uint64_t live, std::uint64_t age = 0) {
  return {.id = ZoneId(id),
          .phase = ZonePhase::kFull,
          .capacity = kCapacity,
          .written = kCapacity,
          .live = live,
          .age = age};
}

constexpr ReclaimNeed kLow{ReclaimUrgency::kLow, kCapacity};
constexpr ReclaimNeed kUrgent{ReclaimUrgency::kUrgent, kCapacity};

TEST(Victim, TheZoneWithMostGarbageIsChosen) {
  const std::vector<ZoneStatus> zones{Full(0, 400), Full(1, 100), Full(2, 300)};
  EXPECT_EQ(ChooseVictim(zones, kLow, {}), ZoneId(1));
}

TEST(Victim, OfTwoAlikeTheOlderIsChosen) {
  const std::vector<ZoneStatus> zones{Full(0, 400, 1), Full(1, 400, 9), Full(2, 400, 3)};
  EXPECT_EQ(ChooseVictim(zones, kLow, {}), ZoneId(1));
}

TEST(Victim, ZonesThatLiveByHalfAreMovedOnlyWhenWritersWait) {
  const std::vector<ZoneStatus> zones{Full(0, 501), Full(1, 980)};
  EXPECT_EQ(ChooseVictim(zones, kLow, {}), std::nullopt);
  EXPECT_EQ(ChooseVictim(zones, kUrgent, {}), ZoneId(0));
}

TEST(Victim, AZoneWithNextToNoGarbageIsNeverChosen) {
  const std::vector<ZoneStatus> zones{Full(0, kCapacity), Full(1, kCapacity - kCapacity / 64 + 1)};
  EXPECT_EQ(ChooseVictim(zones, kUrgent, {}), std::nullopt);
}

TEST(Victim, WhatLivesMustFitTheRoomThatThereIs) {
  const std::vector<ZoneStatus> zones{Full(0, 300), Full(1, 200)};
  EXPECT_EQ(ChooseVictim(zones, {ReclaimUrgency::kUrgent, 199}, {}), std::nullopt);
  EXPECT_EQ(ChooseVictim(zones, {ReclaimUrgency::kUrgent, 200}, {}), ZoneId(1));
}

TEST(Victim, OnlyFullZonesThatAreNotSkippedAreChosen) {
  std::vector<ZoneStatus> zones{Full(0, 300), Full(1, 200), Full(2, 100), Full(3, 0), Full(4, 50)};
  zones[1].phase = ZonePhase::kActive;
  zones[4].uncommitted = 1;
  EXPECT_EQ(ChooseVictim(zones, kUrgent, {ZoneId(2)}), ZoneId(0));
}

}  // namespace
}  // namespace zenfs
