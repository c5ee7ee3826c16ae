#include "backends/zonefs/zone_writers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/thread.h"
#include "testing/plain_zone_files.h"
#include "testing/temp_directory.h"

namespace zenfs::zone_writers_test {
namespace {

using testing::HasSubstr;
using enum ZoneCondition;

constexpr std::uint64_t kLedgerCapacity = 48 * 4096;
constexpr ZoneId kZone{2};

class ZoneLedgerTest : public testing::Test {
 protected:
  // Zones 0 and 1 are partly written, 5 is full, 6 read-only, 7 offline, all others empty.
  static ZoneLedger Make(std::uint32_t max_active = 0) {
    std::vector<ZoneFileState> zones(8, {.size = 0, .capacity = kLedgerCapacity});
    zones[0].size = zones[1].size = 4096;
    zones[5].size = kLedgerCapacity;
    zones[6] = {.size = 8192, .capacity = kLedgerCapacity, .access = ZoneAccess::kReadOnly};
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
  EXPECT_TRUE(ledger.CheckWrite(ZoneId(0), 4096, kLedgerCapacity - 4096).ok());
  EXPECT_EQ(CodeOf(ledger.CheckWrite(ZoneId(0), 0, 4096)), Code::kInvalidArgument);
  EXPECT_EQ(CodeOf(ledger.CheckWrite(ZoneId(0), 8192, 4096)), Code::kInvalidArgument);
  EXPECT_EQ(CodeOf(ledger.CheckWrite(ZoneId(0), 4096, 0)), Code::kInvalidArgument);
  EXPECT_EQ(CodeOf(ledger.CheckWrite(ZoneId(0), 4096, kLedgerCapacity)), Code::kZoneFull);
  EXPECT_EQ(CodeOf(ledger.CheckWrite(ZoneId(5), kLedgerCapacity, 4096)), Code::kZoneFull);
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
  limited.SetSize(ZoneId(1), kLedgerCapacity);
  EXPECT_TRUE(limited.CheckHold(ZoneId(3)).ok());
  limited.Hold(ZoneId(3));
  EXPECT_EQ(CodeOf(limited.CheckHold(ZoneId(4))), Code::kBusy);
  limited.SetSize(ZoneId(0), 0);
  EXPECT_TRUE(limited.CheckHold(ZoneId(4)).ok());
}

TEST_F(ZoneLedgerTest, ZoneThatDiesIsActiveNoMore) {
  ledger.SetState(ZoneId(0), {.size = 4096, .capacity = kLedgerCapacity, .access = ZoneAccess::kReadOnly});
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
  EXPECT_EQ(ledger.ConditionOf(ZoneId(0), {.size = kLedgerCapacity, .capacity = kLedgerCapacity}), kFull);
}

constexpr std::uint64_t kCapacity = 8 * 4096;

class ZoneWritersTest : public testing::Test {
 protected:
  static std::vector<ZoneFileState> LookAtAll(const ZoneFiles& files) {
    std::vector<ZoneFileState> zones;
    for (std::uint32_t i = 0; i < files.count(); ++i) zones.push_back(files.Look(ZoneId(i)).value());
    return zones;
  }
  // Writes `blocks` at the write pointer, as the device would.
  Status Write(std::uint32_t zone, std::uint64_t blocks = 1) {
    const std::uint64_t at = writers.Known(ZoneId(zone)).size;
    ZENFS_ASSIGN_OR_RETURN(const int fd, writers.BeginWrite(ZoneId(zone), at, blocks * 4096));
    const std::string data(blocks * 4096, 'd');
    EXPECT_EQ(::pwrite(fd, data.data(), data.size(), static_cast<off_t>(at)),
              static_cast<ssize_t>(data.size()));
    writers.EndWrite(ZoneId(zone), at + data.size());
    return {};
  }
  ZoneCondition Condition(std::uint32_t zone) {
    return writers.Info(ZoneId(zone), DeviceOffset(0), kCapacity, files.Look(ZoneId(zone)).value()).condition;
  }
  static Code CodeOf(const Status& status) { return status.ok() ? Code::kExists : status.error().code(); }

  TempDirectory directory;
  PlainZoneFiles files{directory.path(), {.zones = 8, .capacity = kCapacity, .max_open = 3}};
  ZoneWriters writers{"zonefs:/z", files, {.open = 3, .active = 5}, LookAtAll(files)};
};

TEST_F(ZoneWritersTest, WritingOneZoneTooManyClosesTheOneWrittenLongestAgo) {
  for (std::uint32_t zone : {0, 1, 2, 0, 3}) ASSERT_TRUE(Write(zone).ok());
  EXPECT_EQ(files.OpenForWriting(), "0 2 3");
  EXPECT_EQ(Condition(1), kClosed);
  EXPECT_EQ(Condition(0), kImplicitlyOpen);
  ASSERT_TRUE(Write(1).ok());
  EXPECT_EQ(files.OpenForWriting(), "0 1 3");
}

TEST_F(ZoneWritersTest, ZoneThatIsBeingWrittenKeepsItsDescriptor) {
  ASSERT_TRUE(writers.BeginWrite(ZoneId(0), 0, 4096));
  ASSERT_TRUE(writers.BeginWrite(ZoneId(1), 0, 4096));
  ASSERT_TRUE(Write(2).ok());
  ASSERT_TRUE(Write(3).ok());
  EXPECT_EQ(files.OpenForWriting(), "0 1 3");
  ASSERT_TRUE(writers.BeginWrite(ZoneId(3), 4096, 4096));
  EXPECT_EQ(CodeOf(Write(4)), Code::kBusy) << "all three are being written";
  writers.EndWrite(ZoneId(1), 4096);
  EXPECT_TRUE(Write(4).ok());
  EXPECT_EQ(files.OpenForWriting(), "0 3 4");
}

TEST_F(ZoneWritersTest, ZonesOpenedExplicitlyStayOpen) {
  for (std::uint32_t zone : {0, 1, 2}) ASSERT_TRUE(writers.Open(ZoneId(zone)).ok());
  EXPECT_EQ(CodeOf(Write(3)), Code::kBusy);
  EXPECT_EQ(CodeOf(writers.Open(ZoneId(3))), Code::kBusy);
  ASSERT_TRUE(writers.Close(ZoneId(1)).ok());
  EXPECT_EQ(Condition(1), kEmpty);
  EXPECT_TRUE(Write(3).ok());
  EXPECT_EQ(files.OpenForWriting(), "0 2 3");
}

TEST_F(ZoneWritersTest, LimitOfActiveZonesHoldsBeforeAFileIsOpened) {
  for (std::uint32_t zone = 0; zone < 5; ++zone) ASSERT_TRUE(Write(zone).ok());
  EXPECT_EQ(CodeOf(Write(5)), Code::kBusy);
  EXPECT_EQ(CodeOf(writers.Open(ZoneId(5))), Code::kBusy);
  EXPECT_EQ(files.OpenForWriting(), "2 3 4") << "nothing was closed in vain";
  ASSERT_TRUE(writers.Finish(ZoneId(0)).ok());
  EXPECT_TRUE(Write(5).ok());
}

TEST_F(ZoneWritersTest, FullZoneIsLetGoOf) {
  ASSERT_TRUE(Write(0, 7).ok());
  EXPECT_EQ(files.OpenForWriting(), "0");
  ASSERT_TRUE(Write(0).ok());
  EXPECT_EQ(files.OpenForWriting(), "");
  EXPECT_EQ(Condition(0), kFull);
}

TEST_F(ZoneWritersTest, ResetAndFinishLetGoAndSetTheSize) {
  ASSERT_TRUE(Write(0).ok());
  ASSERT_TRUE(Write(1).ok());
  ASSERT_TRUE(writers.Reset(ZoneId(0)).ok());
  ASSERT_TRUE(writers.Finish(ZoneId(1)).ok());
  EXPECT_EQ(files.OpenForWriting(), "");
  EXPECT_EQ(files.Look(ZoneId(0))->size, 0u);
  EXPECT_EQ(files.Look(ZoneId(1))->size, kCapacity);
  EXPECT_TRUE(writers.Finish(ZoneId(1)).ok()) << "once more";
  EXPECT_EQ(files.truncates, 2);
  EXPECT_TRUE(Write(0).ok());
}

TEST_F(ZoneWritersTest, FinishThatNeedsAnOpenZoneGetsOne) {
  for (std::uint32_t zone : {0, 1, 2, 3}) ASSERT_TRUE(Write(zone).ok());
  files.finish_opens = true;
  EXPECT_TRUE(writers.Finish(ZoneId(0)).ok());
  EXPECT_EQ(files.OpenForWriting(), "2 3");
  ASSERT_TRUE(Write(4).ok());
  ASSERT_TRUE(writers.Open(ZoneId(2)).ok());
  ASSERT_TRUE(writers.Open(ZoneId(3)).ok());
  ASSERT_TRUE(writers.Open(ZoneId(4)).ok());
  EXPECT_EQ(CodeOf(writers.Finish(ZoneId(1))), Code::kBusy) << "nothing else can be closed";
}

TEST_F(ZoneWritersTest, LimitOfOthersIsMetByClosingOwnZones) {
  const auto strangers = files.OpenToWrite(ZoneId(7));
  ASSERT_TRUE(strangers);
  for (std::uint32_t zone : {0, 1, 2}) ASSERT_TRUE(Write(zone).ok());
  EXPECT_EQ(files.OpenForWriting(), "1 2 7");
  ASSERT_TRUE(writers.Open(ZoneId(1)).ok());
  ASSERT_TRUE(writers.Open(ZoneId(2)).ok());
  EXPECT_EQ(CodeOf(Write(0)), Code::kBusy);
}

TEST_F(ZoneWritersTest, FailedFirstWriteLeavesTheZoneEmptyAndClosed) {
  ASSERT_TRUE(writers.BeginWrite(ZoneId(0), 0, 4096));
  writers.FailWrite(ZoneId(0), files.Look(ZoneId(0)).value());
  EXPECT_EQ(files.OpenForWriting(), "");
  EXPECT_EQ(Condition(0), kEmpty);
  ASSERT_TRUE(writers.Open(ZoneId(0)).ok());
  ASSERT_TRUE(writers.BeginWrite(ZoneId(0), 0, 4096));
  writers.FailWrite(ZoneId(0), files.Look(ZoneId(0)).value());
  EXPECT_EQ(Condition(0), kExplicitlyOpen) << "that was asked for";
}

TEST_F(ZoneWritersTest, FailedCommandTellsOfADeadZoneAndOfAMountThatWentReadOnly) {
  files.truncates_fail = true;
  ASSERT_TRUE(Write(0).ok());
  EXPECT_EQ(CodeOf(writers.Reset(ZoneId(0))), Code::kIo);
  EXPECT_EQ(writers.Known(ZoneId(0)).size, 4096u);
  files.mounted_read_only = true;
  const Status mount = writers.Finish(ZoneId(0));
  EXPECT_EQ(CodeOf(mount), Code::kReadOnly);
  EXPECT_THAT(mount.error().text(), HasSubstr("errors=repair"));
  ::chmod(files.Path(ZoneId(0)).c_str(), 0440);
  EXPECT_EQ(CodeOf(writers.Reset(ZoneId(0))), Code::kReadOnly);
  EXPECT_EQ(Condition(0), kReadOnly);
  ::chmod(files.Path(ZoneId(1)).c_str(), 0);
  EXPECT_EQ(CodeOf(writers.Reset(ZoneId(1))), Code::kNotFound);
  EXPECT_EQ(CodeOf(writers.Open(ZoneId(1))), Code::kNotFound) << "and that is remembered";
}

TEST_F(ZoneWritersTest, ManyWritersNeverHoldMoreThanTheLimit) {
  std::vector<Thread> threads;
  std::atomic<int> written{0};
  for (std::uint32_t t = 0; t < 3; ++t) {
    threads.emplace_back("writer", [&, t] {
      for (std::uint32_t i = 0; i < 40; ++i) {
        // Distributes five zones so that no two threads use the same one. Any zone may lose its
        // descriptor to another.
        const std::uint32_t zone = t == 2 ? 4 : 2 * t + i % 2;
        if (writers.Known(ZoneId(zone)).size == kCapacity) {
          ASSERT_TRUE(writers.Reset(ZoneId(zone)).ok());
        }
        const Status status = Write(zone);
        ASSERT_TRUE(status.ok()) << status.error().ToString();
        ++written;
      }
    });
  }
  threads.clear();
  EXPECT_EQ(written, 120);
}

}  // namespace
}  // namespace zenfs::zone_writers_test
