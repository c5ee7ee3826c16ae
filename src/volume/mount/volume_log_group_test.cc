// Volumes on drives of small zones, whose logs are written to groups of zones (LogGroup in zone/spread.h).
#include <fmt/format.h>

#include <set>

#include "base/random.h"
#include "testing/empty_zone.h"
#include "volume/mount/volume_reclaim_test_rig.h"
#include "zone/spread.h"

namespace zenfs {
namespace {

constexpr std::uint32_t kGroup = 4;
constexpr std::uint64_t kZone = 128 << 10;

EmulatorGeometry SmallZones() {
  return {.zones = 64 * kGroup, .zone_size = kZone, .max_open = 128, .max_active = 128};
}

// Files in one zone at a time: this is about logs.
MountOptions OneZoneAFile() { return *ParseMountOptions({{"spread", "1"}}); }

class VolumeLogGroupTest : public Reclaim {
 protected:
  VolumeLogGroupTest() : Reclaim(SmallZones()) {
    EXPECT_EQ(LogGroup(device_->geometry()), kGroup);
    MountAgain();
  }
  void MountAgain() {
    EXPECT_TRUE(IsOk(volume_->Unmount()));
    volume_.reset();
    Mount(OneZoneAFile());
  }
  std::unique_ptr<FileHandle> Log(const std::string& name) {
    return std::move(*volume_->OpenForAppend(name, true));
  }
  // Appends a synced record. `remember`: the log's content is compared later.
  testing::AssertionResult Record(const std::string& name, FileHandle& log, std::size_t bytes) {
    const std::string record = RandomBytes(bytes, ++seed_);
    if (auto appended = IsOk(log.Append(AsBytes(record))); !appended) return appended;
    if (auto synced = IsOk(log.Sync()); !synced) return synced;
    files_[name] += record;
    return testing::AssertionSuccess();
  }
  // Writes tables until there is no space. Returns their number.
  int FillWithTables(const std::string& prefix) {
    int tables = 0;
    while (Write(fmt::format("{}{}.sst", prefix, tables), 60'000, Lifetime::kLong)) ++tables;
    IgnoreError(volume_->Unlink(fmt::format("{}{}.sst", prefix, tables)));
    return tables;
  }
  // The log zones with frames.
  std::set<std::uint32_t> LogZones() {
    std::set<std::uint32_t> zones;
    for (const ZoneStatus& zone : volume_->Zones())
      if (zone.phase == ZonePhase::kLog && device_->ReportZone(zone.id)->WrittenBytes() != 0)
        zones.insert(zone.id.value);
    return zones;
  }
};

// What tests call to clean the log: it forgot the generation of the groups, and so cleaned nothing.
TEST_F(VolumeLogGroupTest, CleaningAllLogZonesLeavesNoFrameInAClosedOne) {
  const auto log = Log("a.log");
  for (int i = 0; i < 40; ++i) ASSERT_TRUE(Record("a.log", *log, 40'000));
  ASSERT_TRUE(IsOk(CleanLogZones(*volume_)));
  ZoneMover& mover = dynamic_cast<const MountedVolume&>(*volume_).mount().parts().mover;
  for (const LogZoneStatus& zone : mover.LookAtLog().zones) {
    if (!zone.closed) continue;
    EXPECT_EQ(zone.live.device_bytes, 0u) << zone.zone.value;
  }
  EXPECT_GE(volume_->counters().written.cleaned, kGroup * kZone / 2);
}

TEST_F(VolumeLogGroupTest, ALogIsWrittenToAGroupAndReadAfterAMount) {
  for (int mounts = 0; mounts < 3; ++mounts) {
    auto log = Log("1.log");
    for (int i = 0; i < 30; ++i) ASSERT_TRUE(Record("1.log", *log, 1 + i * 991 % 20'000));
    log.reset();
    EXPECT_GE(LogZones().size(), kGroup);
    MountAgain();
    ExpectAllThere();
  }
}

TEST_F(VolumeLogGroupTest, MkfsAMountAndAReaderAgreeOnTheFreeSpace) {
  EXPECT_TRUE(IsOk(volume_->Unmount()));
  volume_.reset();
  const auto formatted = FormatVolume(*device_, {.force = true});
  ASSERT_TRUE(IsOk(formatted));
  Mount(OneZoneAFile());
  const std::uint64_t free = formatted->free_bytes;
  EXPECT_TRUE(Await([&] { return volume_->Space().free == free; })) << volume_->Space().free << " " << free;
  const auto looked = [&] {
    auto reader = Volume::Mount(MakeReadOnlyView(*device_), {.read_only = true});
    EXPECT_TRUE(IsOk(reader));
    return (*reader)->Space();
  };
  auto log = Log("1.log");
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(Record("1.log", *log, 5000));
    // The group that is written was kept for the log before; the next one is ready, and data would get it.
    EXPECT_TRUE(Await([&] { return volume_->Space().free == free; })) << volume_->Space().free << " " << free;
    EXPECT_TRUE(Await([&] { return looked().free == free; })) << looked().free << " " << free;
    EXPECT_EQ(volume_->Space().reclaim, kGroup * kZone);
    EXPECT_EQ(looked().reclaim, kGroup * kZone);
  }
  EXPECT_TRUE(IsOk(volume_->Unmount()));
  volume_.reset();
  EXPECT_EQ(looked().free, free);
  EXPECT_EQ(looked().reclaim, kGroup * kZone);
  Mount(OneZoneAFile());
}

// A log of which half of each group is live, and the rest dead. With a headroom of a zone the collector copied that full, from
// all zones of the group, and none of them was released.
TEST_F(VolumeLogGroupTest, ALiveLogAmongDeadOnesIsMovedWhenSpaceIsShort) {
  constexpr std::size_t kRecord = 30'000;
  constexpr int kGroups = 6;
  auto lives = Log("1.log");
  auto dies = Log("2.log");
  for (std::uint64_t bytes = 0; bytes < kGroups * kGroup * kZone; bytes += 2 * kRecord) {
    ASSERT_TRUE(Record("1.log", *lives, kRecord));
    ASSERT_TRUE(Record("2.log", *dies, kRecord));
  }
  const int tables = FillWithTables("a");
  EXPECT_GT(tables, 100);
  dies.reset();
  Delete("2.log");
  const int more = FillWithTables("b");
  // All but what belongs to the log, and what has no room for a whole table.
  EXPECT_GE(more * 60'000, static_cast<int>((kGroups - 2) * kGroup * kZone / 2 - 5 * 60'000));
  ASSERT_TRUE(Record("1.log", *lives, kRecord));
  lives.reset();
  ExpectAllThere();
  MountAgain();
  ExpectAllThere();
}

// The same, nine tenths live, with mounts between the steps.
TEST_F(VolumeLogGroupTest, ALogThatIsNearlyAllLiveIsMovedAcrossMounts) {
  constexpr std::size_t kRecord = 27'000;
  for (std::uint64_t bytes = 0; bytes < 4 * kGroup * kZone; bytes += kRecord + 3000) {
    auto lives = Log("1.log");
    auto dies = Log("2.log");
    ASSERT_TRUE(Record("1.log", *lives, kRecord));
    ASSERT_TRUE(Record("2.log", *dies, 3000));
  }
  const int tables = FillWithTables("a");
  MountAgain();
  Delete("2.log");
  MountAgain();
  for (int i = 0; i < 4; ++i) {
    Delete(fmt::format("a{}.sst", i));
    auto lives = Log("1.log");
    ASSERT_TRUE(Record("1.log", *lives, kRecord)) << i << " of " << tables;
  }
  ExpectAllThere();
}

// The front of a frame kept all zones of the group while its rest waited for another zone, and the write failed although the
// group was mostly garbage.
TEST_F(VolumeLogGroupTest, AGroupIsEmptiedWhileTheRestOfAFrameWaitsForTheNextOne) {
  auto lives = Log("1.log");
  auto dies = Log("2.log");
  ASSERT_TRUE(Record("1.log", *lives, 100));
  for (int i = 0; i < 7; ++i) ASSERT_TRUE(Record("2.log", *dies, 50'000));
  FillWithTables("a");
  dies.reset();
  Delete("2.log");
  ASSERT_TRUE(Record("1.log", *lives, 250'000)) << "100 KB more than the group has room for";
  lives.reset();
  ExpectAllThere();
}

// What data gets does not depend on how many zones the logs were written to.
TEST_F(VolumeLogGroupTest, DataGetsTheRoomOfDeadLogs) {
  const int before = FillWithTables("a");
  for (int i = 0; i < before; ++i) Delete(fmt::format("a{}.sst", i));
  for (int logs = 0; logs < 3; ++logs) {
    auto log = Log(fmt::format("{}.log", logs));
    for (int i = 0; i < 60; ++i) ASSERT_TRUE(Record(fmt::format("{}.log", logs), *log, 30'000));
    log.reset();
    Delete(fmt::format("{}.log", logs));
  }
  EXPECT_GE(FillWithTables("b"), before - static_cast<int>(kGroup * kZone / 60'000) - 1)
      << "less by what is written of a group at most";
}

TEST_F(VolumeLogGroupTest, ManyDatabasesGoOnWhileTheDeviceIsNearlyFull) {
  constexpr int kDatabases = 12;
  std::vector<std::unique_ptr<FileHandle>> wals, manifests;
  std::vector<int> numbers(kDatabases, 0);
  const auto wal_of = [&](int database) { return fmt::format("{}-{}.log", database, numbers[database]); };
  const auto open = [&] {
    for (int i = 0; i < kDatabases; ++i) {
      wals.push_back(Log(wal_of(i)));
      manifests.push_back(Log(fmt::format("MANIFEST-{:06}", i)));
    }
  };
  open();
  const std::uint64_t live = volume_->Space().free * 80 / 100;
  const auto tables = static_cast<int>(live / (60 << 10));
  for (int i = 0; i < tables; ++i)
    ASSERT_TRUE(Write(fmt::format("{}.sst", i), 60'000, Lifetime::kLong)) << i << " of " << tables;
  Random random(1);
  for (int i = 0; i < 3 * tables; ++i) {
    const auto database = static_cast<int>(random.Below(kDatabases));
    ASSERT_TRUE(Record(wal_of(database), *wals[database], 1 + random.Below(20'000))) << i;
    ASSERT_TRUE(Record(fmt::format("MANIFEST-{:06}", database), *manifests[database], 80)) << i;
    ASSERT_TRUE(Write(fmt::format("{}.sst", random.Below(tables)), 60'000, Lifetime::kLong)) << i;
    if (random.OneIn(8)) {
      const std::string old = wal_of(database);
      ++numbers[database];
      wals[database] = Log(wal_of(database));
      Delete(old);
    }
    if (i % 500 != 250) continue;
    wals.clear();
    manifests.clear();
    MountAgain();
    open();
  }
  wals.clear();
  manifests.clear();
  ExpectAllThere();
}

TEST_F(VolumeLogGroupTest, ZonesOfAGroupThatDieLeaveTheLogWritable) {
  for (const ZoneCondition condition : {ZoneCondition::kReadOnly, ZoneCondition::kOffline}) {
    auto log = Log("1.log");
    ASSERT_TRUE(Record("1.log", *log, 100));
    // Zones of the ready group or of the current one that have no frames.
    int dead = 0;
    for (const ZoneStatus& zone : volume_->Zones()) {
      if (dead == 2 || zone.phase != ZonePhase::kLog || device_->ReportZone(zone.id)->WrittenBytes() != 0)
        continue;
      ASSERT_TRUE(IsOk(device_->SetCondition(zone.id, condition)));
      ++dead;
    }
    EXPECT_EQ(dead, 2);
    for (int i = 0; i < 80; ++i) ASSERT_TRUE(Record("1.log", *log, 30'000)) << i;
    log.reset();
    ExpectAllThere();
    MountAgain();
    ExpectAllThere();
  }
}

TEST_F(VolumeLogGroupTest, WithoutTheCollectorLogsAreWrittenToOneZone) {
  EXPECT_TRUE(IsOk(volume_->Unmount()));
  volume_.reset();
  ASSERT_TRUE(IsOk(FormatVolume(*device_, {.force = true})));
  Mount(*ParseMountOptions({{"reclaim", "0"}}));
  auto log = Log("1.log");
  for (int i = 0; i < 4; ++i) ASSERT_TRUE(Record("1.log", *log, 20'000));
  EXPECT_EQ(LogZones().size(), 1U);
  ASSERT_TRUE(Record("1.log", *log, 200'000));
}

// The option is for files.
TEST_F(VolumeLogGroupTest, TheOptionSpreadDoesNotChangeTheHeadroom) {
  for (const char* spread : {"1", "8", "64"}) {
    EXPECT_TRUE(IsOk(volume_->Unmount()));
    volume_.reset();
    Mount(*ParseMountOptions({{"spread", spread}}));
    EXPECT_EQ(volume_->Space().reclaim, kGroup * kZone);
  }
}

}  // namespace
}  // namespace zenfs
