#include "backends/zonefs/zone_ledger.h"

#include <gtest/gtest.h>

namespace zenfs::zone_ledger_test {
namespace {

constexpr std::uint64_t kCapacity = 48 * 4096;
constexpr ZoneId kZone{2};

class ZoneLedgerTest : public testing::Test {
 protected:
  // Zones 0 and 1 are partly written, 5 is full, 6 read-only, 7 offline, all others empty.
  static ZoneLedger Make(std::uint32_t max_active = 0) {
    std::vector<ZoneFileState> zones(8, {.size = 0, .capacity = kCapacity});
    zones[0].size = zones[1].size = 4096;
    zones[5].size = kCapacity;
    zones[6] = {.size = 8192, .capacity = kCapacity, .access = ZoneAccess::kReadOnly};
    zones[7].access = ZoneAccess::kOffline;
    return ZoneLedger("zonefs:/z", max_active, std::move(zones));
  }
  static Code CodeOf(const Status& status) { return status.ok() ? Code::kExists : status.error().code(); }

  ZoneLedger ledger = Make();
};

TEST_F(ZoneLedgerTest, WrittenZonesAreActiveFromTheStart) {
  EXPECT_EQ(ledger.active_count(), 2u);
  EXPECT_EQ(ledger.held_count(), 0u);
}

TEST_F(ZoneLedgerTest, WriteMustBeAtTheWritePointerAndFit) {
  EXPECT_TRUE(ledger.CheckWrite(ZoneId(0), 4096, kCapacity - 4096).ok());
  EXPECT_EQ(CodeOf(ledger.CheckWrite(ZoneId(0), 0, 4096)), Code::kInvalidArgument);
  EXPECT_EQ(CodeOf(ledger.CheckWrite(ZoneId(0), 8192, 4096)), Code::kInvalidArgument);
  EXPECT_EQ(CodeOf(ledger.CheckWrite(ZoneId(0), 4096, 0)), Code::kInvalidArgument);
  EXPECT_EQ(CodeOf(ledger.CheckWrite(ZoneId(0), 4096, kCapacity)), Code::kZoneFull);
  EXPECT_EQ(CodeOf(ledger.CheckWrite(ZoneId(5), kCapacity, 4096)), Code::kZoneFull);
}

TEST_F(ZoneLedgerTest, DeadZonesTakeNoCommand) {
  for (const char* command : {"reset of", "finish of"}) {
    EXPECT_EQ(CodeOf(ledger.CheckCommand(command, ZoneId(6))), Code::kReadOnly);
    EXPECT_EQ(CodeOf(ledger.CheckCommand(command, ZoneId(7))), Code::kNotFound);
  }
  EXPECT_EQ(CodeOf(ledger.CheckWrite(ZoneId(6), 8192, 4096)), Code::kReadOnly);
  EXPECT_EQ(CodeOf(ledger.CheckOpen(ZoneId(7))), Code::kNotFound);
}

TEST_F(ZoneLedgerTest, ZoneBeingWrittenTakesNoSecondWriteAndIsNotLetGoOf) {
  ledger.Hold(kZone);
  ledger.BeginWrite(kZone);
  EXPECT_EQ(CodeOf(ledger.CheckWrite(kZone, 0, 4096)), Code::kBusy);
  EXPECT_EQ(CodeOf(ledger.CheckCommand("reset of", kZone)), Code::kBusy);
  EXPECT_EQ(ledger.Dispensable(), std::nullopt);
  ledger.EndWrite(kZone);
  EXPECT_TRUE(ledger.CheckWrite(kZone, 0, 4096).ok());
  EXPECT_EQ(ledger.Dispensable(), kZone);
}

TEST_F(ZoneLedgerTest, TheZoneUsedLongestAgoIsDispensableUnlessOpenedExplicitly) {
  for (std::uint32_t i = 0; i < 3; ++i) ledger.Hold(ZoneId(i));
  ledger.BeginWrite(ZoneId(0));
  ledger.EndWrite(ZoneId(0));
  EXPECT_EQ(ledger.Dispensable(), ZoneId(1));
  ledger.SetExplicit(ZoneId(1));
  EXPECT_EQ(ledger.Dispensable(), ZoneId(2));
  ledger.LetGo(ZoneId(2));
  EXPECT_EQ(ledger.Dispensable(), ZoneId(0));
}

TEST_F(ZoneLedgerTest, HeldEmptyZoneIsActiveUntilItIsLetGoOf) {
  ledger.Hold(kZone);
  EXPECT_EQ(ledger.active_count(), 3u);
  ledger.LetGo(kZone);
  EXPECT_EQ(ledger.active_count(), 2u);
}

TEST_F(ZoneLedgerTest, LimitOfActiveZonesCountsOnlyNewOnes) {
  ZoneLedger limited = Make(3);
  limited.Hold(kZone);
  limited.SetSize(kZone, 4096);
  EXPECT_EQ(CodeOf(limited.CheckHold(ZoneId(3))), Code::kBusy);
  EXPECT_TRUE(limited.CheckHold(ZoneId(0)).ok()) << "it is active already";
  limited.SetSize(ZoneId(1), kCapacity);
  EXPECT_TRUE(limited.CheckHold(ZoneId(3)).ok());
  limited.Hold(ZoneId(3));
  EXPECT_EQ(CodeOf(limited.CheckHold(ZoneId(4))), Code::kBusy);
  limited.SetSize(ZoneId(0), 0);
  EXPECT_TRUE(limited.CheckHold(ZoneId(4)).ok());
}

TEST_F(ZoneLedgerTest, ZoneThatDiesIsActiveNoMore) {
  ledger.SetState(ZoneId(0), {.size = 4096, .capacity = kCapacity, .access = ZoneAccess::kReadOnly});
  EXPECT_EQ(ledger.active_count(), 1u);
}

TEST_F(ZoneLedgerTest, OnlyOpenOrWrittenZonesCanBeClosed) {
  EXPECT_TRUE(ledger.CheckClose(ZoneId(0)).ok());
  EXPECT_EQ(CodeOf(ledger.CheckClose(kZone)), Code::kInvalidArgument);
  EXPECT_EQ(CodeOf(ledger.CheckClose(ZoneId(5))), Code::kInvalidArgument);
  ledger.Hold(kZone);
  EXPECT_TRUE(ledger.CheckClose(kZone).ok());
  EXPECT_EQ(CodeOf(ledger.CheckOpen(ZoneId(5))), Code::kInvalidArgument);
}

TEST_F(ZoneLedgerTest, ConditionFollowsFromTheFileAndWhatIsHeld) {
  using enum ZoneCondition;
  const auto condition = [&](std::uint32_t zone) {
    return ledger.ConditionOf(ZoneId(zone), ledger.state(ZoneId(zone)));
  };
  EXPECT_EQ(condition(0), kClosed);
  EXPECT_EQ(condition(2), kEmpty);
  EXPECT_EQ(condition(5), kFull);
  EXPECT_EQ(condition(6), kReadOnly);
  EXPECT_EQ(condition(7), kOffline);
  ledger.Hold(ZoneId(0));
  EXPECT_EQ(condition(0), kImplicitlyOpen);
  ledger.Hold(kZone);
  EXPECT_EQ(condition(2), kEmpty) << "nothing is written yet";
  ledger.SetExplicit(kZone);
  EXPECT_EQ(condition(2), kExplicitlyOpen);
  ledger.LetGo(kZone);
  EXPECT_EQ(condition(2), kEmpty);
  EXPECT_EQ(ledger.ConditionOf(ZoneId(0), {.size = kCapacity, .capacity = kCapacity}), kFull);
}

}  // namespace
}  // namespace zenfs::zone_ledger_test
