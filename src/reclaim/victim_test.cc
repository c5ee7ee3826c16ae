#include "reclaim/victim.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "base/bytes.h"
#include "base/random.h"

namespace zenfs {
namespace {

constexpr std::uint64_t kCapacity = 1000;
constexpr std::uint32_t kUnit = 10;

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

std::optional<ZoneId> Choose(const std::vector<Victim>& victims, const ReclaimNeed& need,
                             const std::set<ZoneId>& skip = {}) {
  const auto victim = ChooseVictim(victims, need, skip, kUnit);
  return victim ? std::optional(victim->zone) : std::nullopt;
}
std::optional<ZoneId> ChooseOf(const std::vector<ZoneStatus>& zones, const ReclaimNeed& need,
                               const std::set<ZoneId>& skip = {}) {
  return Choose(DataVictims(zones), need, skip);
}

TEST(Victim, TheZoneWithMostGarbageIsChosen) {
  EXPECT_EQ(ChooseOf({Full(0, 400), Full(1, 100), Full(2, 300)}, kLow), ZoneId(1));
}

TEST(Victim, TheOldestZoneIsChosenForEqualGarbage) {
  EXPECT_EQ(ChooseOf({Full(0, 400, 1), Full(1, 400, 9), Full(2, 400, 3)}, kLow), ZoneId(1));
}

TEST(Victim, ZonesMoreThanHalfLiveAreChosenOnlyIfUrgent) {
  const std::vector<ZoneStatus> zones{Full(0, 501), Full(1, 980)};
  EXPECT_EQ(ChooseOf(zones, kLow), std::nullopt);
  EXPECT_EQ(ChooseOf(zones, kUrgent), ZoneId(0));
}

TEST(Victim, AZoneWithLittleGarbageIsTheLastChoice) {
  const ZoneStatus little = Full(1, kCapacity - kUnit, 99);
  EXPECT_EQ(ChooseOf({Full(0, kCapacity), little, Full(2, 900)}, kUrgent), ZoneId(2));
  EXPECT_EQ(ChooseOf({Full(0, kCapacity), little}, kUrgent), ZoneId(1));
  EXPECT_EQ(ChooseOf({Full(0, kCapacity), Full(1, kCapacity - kUnit + 1)}, kUrgent), std::nullopt);
}

TEST(Victim, LiveBytesMustFitTheRoom) {
  const std::vector<ZoneStatus> zones{Full(0, 300), Full(1, 200)};
  EXPECT_EQ(ChooseOf(zones, {ReclaimUrgency::kUrgent, 199}), std::nullopt);
  EXPECT_EQ(ChooseOf(zones, {ReclaimUrgency::kUrgent, 200}), ZoneId(1));
}

TEST(Victim, ZonesWithoutLiveOrWithUncommittedBytesAreNotChosen) {
  std::vector<ZoneStatus> zones{Full(0, 300), Full(1, 100), Full(2, 0), Full(3, 50)};
  zones[3].uncommitted = 1;
  EXPECT_EQ(ChooseOf(zones, kUrgent, {ZoneId(1)}), ZoneId(0));
}

TEST(Victim, TheRoomOfAnActiveZoneCountsAsGivenUp) {
  ZoneStatus active = Full(0, 100);
  active.phase = ZonePhase::kActive;
  active.written = 400;
  EXPECT_EQ(ChooseOf({active}, kLow), std::nullopt);
  EXPECT_EQ(ChooseOf({active}, kUrgent), ZoneId(0));
  EXPECT_EQ(ChooseOf({active}, {ReclaimUrgency::kUrgent, 699}), std::nullopt) << "100 live, 600 given up";
  EXPECT_EQ(ChooseOf({active}, {ReclaimUrgency::kUrgent, 700}), ZoneId(0));
  active.live = 400;
  EXPECT_EQ(ChooseOf({active}, kUrgent), std::nullopt) << "no bytes are dead";
}

// An unfinished victim has the fewest copies left, so it fits the room that it took from the headroom.
TEST(Victim, TheFewestCopiesComeFirstIfTheHeadroomIsNotWhole) {
  const std::vector<ZoneStatus> zones{Full(0, 200, 99), Full(1, 150)};
  EXPECT_EQ(ChooseOf(zones, {ReclaimUrgency::kUrgent, kCapacity, kCapacity}), ZoneId(0));
  EXPECT_EQ(ChooseOf(zones, {ReclaimUrgency::kUrgent, kCapacity - 1, kCapacity}), ZoneId(1));
}

// A file with very many extents: its commits would write more than the share of the gain that is worth it at leisure.
TEST(Victim, AZoneWhoseMoveRestatesMuchIsLeftUnlessSpaceIsShort) {
  std::vector<Victim> victims = DataVictims(std::vector<ZoneStatus>{Full(0, 10)});
  const auto need = [](ReclaimUrgency urgency) { return ReclaimNeed{urgency, kCapacity}; };
  for (const std::uint64_t restated : {15, 16}) {
    victims.front().restated = restated;
    const bool cheap = restated == 15;  // of a gain of 990
    EXPECT_EQ(Choose(victims, need(ReclaimUrgency::kTidy)).has_value(), cheap);
    EXPECT_EQ(Choose(victims, need(ReclaimUrgency::kLow)).has_value(), cheap);
    EXPECT_TRUE(Choose(victims, need(ReclaimUrgency::kAhead)));
    EXPECT_TRUE(Choose(victims, need(ReclaimUrgency::kUrgent)));
  }
  victims.front().copies = 50;
  EXPECT_TRUE(Choose(victims, need(ReclaimUrgency::kTidy))) << "as much is copied";
  victims.front().restated = 1'000'000;
  EXPECT_TRUE(Choose(victims, need(ReclaimUrgency::kUrgent))) << "progress is never refused";
}

TEST(Victim, TheZoneWithLessToRestateIsChosen) {
  std::vector<Victim> victims = DataVictims(std::vector<ZoneStatus>{Full(0, 100), Full(1, 110)});
  EXPECT_EQ(Choose(victims, kUrgent), ZoneId(0));
  victims[0].restated = 500;
  EXPECT_EQ(Choose(victims, kUrgent), ZoneId(1));
  victims[1].copies = 100;
  const ReclaimNeed not_whole{ReclaimUrgency::kUrgent, kCapacity - 1, kCapacity};
  EXPECT_EQ(Choose(victims, not_whole), ZoneId(1));
  victims[0].copies = 99;
  EXPECT_EQ(Choose(victims, not_whole), ZoneId(0)) << "the copies decide which victim fits";
}

class LogVictim : public ::testing::Test {
 protected:
  // Adds a log zone that is younger than all before.
  LogZoneStatus& Add(std::uint64_t payload, std::uint64_t device_bytes) {
    const auto id = static_cast<std::uint32_t>(log_.size());
    zones_.push_back({.id = ZoneId(id), .phase = ZonePhase::kLog, .capacity = kCapacity});
    log_.push_back({.zone = ZoneId(id),
                    .generation = 7 + id,
                    .capacity = kCapacity,
                    .written = kCapacity,
                    .live = {.device_bytes = device_bytes, .payload = payload},
                    .closed = true});
    return log_.back();
  }
  std::vector<Victim> Victims() const { return LogVictims(log_, files_, zones_, kUnit); }

  std::vector<ZoneStatus> zones_;
  std::vector<LogZoneStatus> log_;
  std::vector<FramesOfFile> files_;
};

TEST_F(LogVictim, OlderFramesOfTheSameFileAreCopiedAndTheirZonesCount) {
  Add(300, 1000);
  Add(200, 1000);
  files_ = {{{ZoneId(0), {1000, 300}}, {ZoneId(1), {1000, 200}}}};
  const std::vector<Victim> victims = Victims();
  ASSERT_EQ(victims.size(), 2u);
  EXPECT_EQ(victims[0].copies, 300u + kUnit);
  EXPECT_EQ(victims[0].capacity, kCapacity);
  EXPECT_EQ(victims[1].copies, 500u + kUnit);
  EXPECT_EQ(victims[1].capacity, 2 * kCapacity);
}

TEST_F(LogVictim, AnOlderZoneWithFramesOfAnotherFileDoesNotCount) {
  Add(300, 1000);
  Add(200, 1000);
  files_ = {{{ZoneId(0), {500, 100}}, {ZoneId(1), {1000, 200}}}, {{ZoneId(0), {500, 200}}}};
  const std::vector<Victim> victims = Victims();
  EXPECT_EQ(victims[1].copies, 300u + kUnit);
  EXPECT_EQ(victims[1].capacity, kCapacity);
}

TEST_F(LogVictim, OpenHeldAndDeadZonesAreNoVictims) {
  Add(100, 100).closed = false;
  Add(100, 100).held = true;
  Add(0, 0);
  files_ = {{{ZoneId(0), {100, 100}}}};
  EXPECT_TRUE(Victims().empty());
}

TEST_F(LogVictim, AYoungZoneComesLast) {
  Add(300, 1000).young = true;
  Add(600, 1000);
  files_ = {{{ZoneId(0), {1000, 300}}}, {{ZoneId(1), {1000, 600}}}};
  EXPECT_EQ(Choose(Victims(), kUrgent), ZoneId(1));
  EXPECT_EQ(Choose(Victims(), kUrgent, {ZoneId(1)}), ZoneId(0));
}

// A log with very many windows.
TEST_F(LogVictim, AZoneWhoseMoveRestatesMuchIsLeftUnlessSpaceIsShort) {
  Add(100, 1000);
  files_ = {{{ZoneId(0), {1000, 100}}}};
  std::vector<Victim> victims = Victims();
  for (const bool cheap : {true, false}) {
    victims.front().restated = victims.front().copies + (cheap ? 0 : 1);
    for (const ReclaimUrgency urgency : {ReclaimUrgency::kTidy, ReclaimUrgency::kLow})
      EXPECT_EQ(Choose(victims, {urgency, kCapacity}).has_value(), cheap);
    for (const ReclaimUrgency urgency : {ReclaimUrgency::kAhead, ReclaimUrgency::kUrgent})
      EXPECT_TRUE(Choose(victims, {urgency, kCapacity}));
  }
}

TEST_F(LogVictim, ANearlyDeadZoneIsChosenForTidying) {
  Add(300, 1000);
  Add(100, 200);
  files_ = {{{ZoneId(0), {1000, 300}}}, {{ZoneId(1), {200, 100}}}};
  EXPECT_EQ(Choose(Victims(), {ReclaimUrgency::kTidy, kCapacity}), ZoneId(1));
}

// Of two joined devices, a log zone is worth its copies even if they need more room than it returns.
TEST_F(LogVictim, OfTwoDevicesOnlyVictimsOfTheNeedsDeviceCount) {
  Add(995, 1000);
  files_ = {{{ZoneId(0), {1000, 995}}}};
  std::vector<Victim> both = Victims();
  const std::vector<Victim> data = DataVictims(std::vector<ZoneStatus>{Full(7, 500)});
  both.push_back(data.front());
  const auto need = [](VictimZones victims) {
    return ReclaimNeed{.urgency = ReclaimUrgency::kUrgent, .room = 2 * kCapacity, .victims = victims};
  };
  EXPECT_EQ(Choose(both, need(VictimZones::kAll)), ZoneId(7));
  EXPECT_EQ(Choose(both, need(VictimZones::kData)), ZoneId(7));
  EXPECT_EQ(Choose(both, need(VictimZones::kLog)), ZoneId(0));
  EXPECT_EQ(Choose(data, need(VictimZones::kLog)), std::nullopt);
}

// The second zone is nearly dead, but a whole zone of live frames of the same file must move before it.
TEST_F(LogVictim, AnOlderZoneIsChosenIfItBlocksGarbage) {
  Add(990, 1000);
  Add(20, 30);
  files_ = {{{ZoneId(0), {1000, 990}}, {ZoneId(1), {30, 20}}}};
  EXPECT_EQ(Choose(Victims(), kUrgent), ZoneId(0)) << "the copies of both do not fit";
  log_[1].live = {.device_bytes = 1000, .payload = 995};
  files_ = {{{ZoneId(0), {1000, 990}}, {ZoneId(1), {1000, 995}}}};
  EXPECT_EQ(Choose(Victims(), kUrgent), std::nullopt) << "no zone has garbage";
}

// The zones that are emptied together with `zone`.
std::vector<LogZoneStatus> GroupOf(const LogZoneStatus& zone, std::span<const LogZoneStatus> log) {
  const auto can_be_emptied = [](const LogZoneStatus& z) {
    return z.closed && !z.held && z.live.device_bytes != 0;
  };
  if (!can_be_emptied(zone)) return {zone};
  std::vector<LogZoneStatus> group;
  std::ranges::copy_if(log, std::back_inserter(group), [&](const LogZoneStatus& other) {
    return can_be_emptied(other) && other.generation == zone.generation;
  });
  return group;
}

// The definition, zone by zone and file by file.
Victim Defined(std::size_t i, std::span<const LogZoneStatus> log, std::span<const FramesOfFile> files) {
  Victim victim;
  const std::vector<LogZoneStatus> group = GroupOf(log[i], log);
  const auto has = [](const FramesOfFile& file, const std::vector<LogZoneStatus>& zones) {
    return std::ranges::any_of(zones, [&](const LogZoneStatus& zone) { return file.contains(zone.zone); });
  };
  for (const FramesOfFile& file : files) {
    if (!has(file, group)) continue;
    std::uint64_t payload = 0;
    for (const auto& [id, frames] : file) {
      const auto zone = std::ranges::find(log, id, &LogZoneStatus::zone);
      if (zone == log.end() || zone->generation <= log[i].generation) payload += frames.payload;
    }
    victim.copies += RoundUp(payload, kUnit) + kUnit;
  }
  for (const LogZoneStatus& other : log) {
    const bool with = other.closed && !other.held && other.live.device_bytes != 0 &&
                      other.generation <= log[i].generation &&
                      std::ranges::all_of(files, [&](const FramesOfFile& file) {
                        return !has(file, GroupOf(other, log)) || has(file, group);
                      });
    const bool in_group = std::ranges::count(group, other.zone, &LogZoneStatus::zone) != 0;
    if (with || in_group) victim.capacity += other.capacity;
  }
  return victim;
}

TEST_F(LogVictim, CopiesAndEmptiedZonesAreThoseOfTheDefinition) {
  Random random(1);
  for (int round = 0; round < 300; ++round) {
    zones_.clear();
    log_.clear();
    files_.assign(random.Below(7), {});
    for (std::uint64_t i = random.Below(12); i != 0; --i) {
      LogZoneStatus& zone = Add(500, random.OneIn(8) ? 0 : 1000);
      zone.closed = !random.OneIn(6);
      zone.held = random.OneIn(9);
      zone.capacity = kCapacity - random.Below(3);
      zone.generation = random.OneIn(2) ? zone.generation : 7 + random.Below(6);
    }
    for (FramesOfFile& file : files_) {
      // One zone more than there are: its frames are of a zone that is no log zone any more.
      for (std::uint32_t zone = 0; zone <= log_.size(); ++zone) {
        if (random.OneIn(3)) file[ZoneId(zone)] = {100, random.Below(300)};
      }
    }
    for (const Victim& victim : Victims()) {
      const Victim defined = Defined(victim.zone.value, log_, files_);
      const auto of_group = std::ranges::count(Victims(), victim.generation, &Victim::generation);
      ASSERT_EQ(of_group, 1) << "round " << round << ", zone " << victim.zone.value;
      ASSERT_EQ(victim.copies, defined.copies) << "round " << round << ", zone " << victim.zone.value;
      ASSERT_EQ(victim.capacity, defined.capacity) << "round " << round << ", zone " << victim.zone.value;
    }
  }
}

// Zones compared with zones for each file would take minutes, for which an unmount waits.
TEST_F(LogVictim, ThousandsOfZonesAndLogsAreLookedAtOnce) {
  constexpr std::uint32_t kZones = 8000, kFiles = 2000;
  files_.resize(kFiles);
  for (std::uint32_t i = 0; i < kZones; ++i) {
    Add(500, 1000);
    files_[2 * i % kFiles][ZoneId(i)] = {500, 250};
    files_[(2 * i + 1) % kFiles][ZoneId(i)] = {500, 250};
  }
  const std::vector<Victim> victims = Victims();
  ASSERT_EQ(victims.size(), kZones);
  EXPECT_EQ(victims.back().capacity, kCapacity * kZones * 2 / kFiles);
}

}  // namespace
}  // namespace zenfs
