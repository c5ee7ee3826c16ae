#include "wal/log_tails.h"

#include "base/bytes.h"
#include "wal/wal_test_rig.h"

namespace zenfs {
namespace {

std::string Text(std::size_t size, char c) { return std::string(size, c); }

class LogTailsTest : public testing::Test {
 protected:
  LogTailsTest() : tails_(rig_.device, rig_.volume) { rig_.Mount(); }

  std::shared_ptr<const ReplayedLog> Look(FileId id) {
    const State now = rig_.state();
    EXPECT_TRUE(Update(now).ok());
    return tails_.Log(now.FindFile(id), now.epoch());
  }
  Status Update(const State& state) {
    if (state.log_zones() != zones_) ++version_;
    zones_ = state.log_zones();
    return tails_.Update(state, version_);
  }
  static void Write(FramedFile& file, const std::string& text) {
    ASSERT_TRUE(file.Append(AsBytes(text)).ok());
    ASSERT_TRUE(file.Sync().ok());
  }

  WalRig rig_{TestGeometry(40, 64)};
  LogTails tails_;
  std::map<ZoneId, LogZone> zones_;
  std::uint64_t version_ = 0;
};

TEST_F(LogTailsTest, GrowsWithTheFileAndReadsOnlyWhatIsNew) {
  const auto file = rig_.NewFile();
  std::uint64_t size = 0;
  for (int i = 0; i < 20; ++i) {
    Write(*file, Text(3000, 'a'));
    size += 3000;
    const std::uint64_t before = rig_.Count(FaultyDevice::Command::kRead);
    const auto log = Look(file->id());
    EXPECT_EQ(log->index.end(), size);
    EXPECT_TRUE(log->damage.empty());
    EXPECT_EQ(rig_.Count(FaultyDevice::Command::kRead), before + 1);
  }
}

TEST_F(LogTailsTest, NothingNewIsTheSameObjectAndNoRead) {
  const auto file = rig_.NewFile();
  Write(*file, "bytes");
  const State now = rig_.state();
  ASSERT_TRUE(Update(now).ok());
  const auto record = now.FindFile(file->id());
  const auto log = tails_.Log(record, now.epoch());
  const std::uint64_t before = rig_.Count(FaultyDevice::Command::kRead);
  ASSERT_TRUE(Update(now).ok());
  EXPECT_EQ(tails_.Log(record, now.epoch()), log);
  EXPECT_EQ(rig_.Count(FaultyDevice::Command::kRead), before);
}

// A log may have a million windows and no frame: its replay must not be repeated for each read.
TEST_F(LogTailsTest, ALogWithoutFramesIsTheSameObjectUntilItsRecordChanges) {
  const auto file = rig_.NewFile();
  const State now = rig_.state();
  ASSERT_TRUE(Update(now).ok());
  const auto record = now.FindFile(file->id());
  std::weak_ptr<const ReplayedLog> log = tails_.Log(record, now.epoch());
  ASSERT_TRUE(Update(now).ok());
  EXPECT_EQ(tails_.Log(record, now.epoch()), log.lock());
  EXPECT_EQ(tails_.Log(record, now.epoch(), LogTails::Evidence::kOlder), log.lock());
  State changed = now;
  ASSERT_TRUE(changed.Apply(std::vector<Edit>{SetLifetime{file->id(), Lifetime::kShort}}).ok());
  ASSERT_TRUE(Update(changed).ok());
  EXPECT_NE(tails_.Log(changed.FindFile(file->id()), now.epoch()), nullptr);
  EXPECT_TRUE(log.expired());
}

TEST_F(LogTailsTest, LogsOfDeletedFilesAreNotKept) {
  State now = rig_.state();
  std::vector<Edit> made{RaiseCounters{2000, 0}};
  std::vector<Edit> deleted;
  for (std::uint64_t id = 1000; id < 1100; ++id) {
    const std::string name = std::to_string(id);
    made.insert(made.end(), {CreateFile{.id = FileId(id), .shape = FileShape::kFramed},
                             LinkFile{kRootDirectory, name, FileId(id)}});
    deleted.push_back(UnlinkFile{kRootDirectory, name});
  }
  ASSERT_TRUE(now.Apply(made).ok());
  ASSERT_TRUE(Update(now).ok());
  std::vector<std::weak_ptr<const ReplayedLog>> logs;
  for (std::uint64_t id = 1000; id < 1100; ++id)
    logs.push_back(tails_.Log(now.FindFile(FileId(id)), now.epoch()));
  ASSERT_TRUE(now.Apply(deleted).ok());
  ASSERT_TRUE(Update(now).ok());
  EXPECT_TRUE(std::ranges::all_of(logs, [](const auto& log) { return log.expired(); }));
}

TEST_F(LogTailsTest, WithoutNewFramesOlderEvidenceIsTheSameObject) {
  const auto file = rig_.NewFile();
  Write(*file, "bytes");
  const auto log = Look(file->id());
  const State now = rig_.state();
  const auto record = now.FindFile(file->id());
  EXPECT_NE(tails_.Log(record, now.epoch(), LogTails::Evidence::kOlder), log);
  ASSERT_TRUE(Update(now).ok());
  const auto again = tails_.Log(record, now.epoch());
  EXPECT_EQ(tails_.Log(record, now.epoch(), LogTails::Evidence::kOlder), again);
}

TEST_F(LogTailsTest, AReleasedZoneTakesItsFramesAlong) {
  auto file = rig_.NewFile();
  Write(*file, Text(5000, 'x'));
  EXPECT_EQ(Look(file->id())->index.end(), 5000u);
  const FileId id = file->id();
  State without = rig_.state();
  const auto record = without.FindFile(id);
  std::vector<ZoneId> zones;
  for (const auto& [zone, allocated] : without.log_zones()) zones.push_back(zone);
  const std::vector<Edit> release{ReleaseLogZones{zones}};
  ASSERT_TRUE(without.Apply(release).ok());
  ASSERT_TRUE(Update(without).ok());
  EXPECT_EQ(tails_.Log(record, without.epoch())->index.end(), 0u);
  EXPECT_EQ(Look(id)->index.end(), 5000u);  // allocated again in the state: scanned again
}

TEST_F(LogTailsTest, AFrameThatCouldNotBeReadYetIsLookedAtAgain) {
  const auto file = rig_.NewFile();
  Write(*file, Text(100, 'a'));
  rig_.device.Inject({.command = FaultyDevice::Command::kRead, .times = 1000});
  EXPECT_EQ(Look(file->id())->index.end(), 0u);
  rig_.device.ClearFaults();
  EXPECT_EQ(Look(file->id())->index.end(), 100u);
}

// As with two zone appends in flight: the second one is complete, the first one is not.
TEST_F(LogTailsTest, AFrameThatCouldNotBeReadYetInFrontOfAnotherIsLookedAtAgain) {
  const auto first = rig_.NewFile();
  const auto second = rig_.NewFile();
  Write(*first, Text(100, 'a'));
  Write(*second, Text(100, 'b'));
  const DeviceOffset at(RoundDown(first->Pieces().front().place.value, kTestBlock));
  rig_.device.Inject({.command = FaultyDevice::Command::kRead,
                      .times = 1000,
                      .bytes = FaultyDevice::Bytes{at, at + kTestBlock}});
  EXPECT_EQ(Look(first->id())->index.end(), 0u);
  EXPECT_EQ(Look(second->id())->index.end(), 100u);
  Write(*second, Text(100, 'c'));
  EXPECT_EQ(Look(second->id())->index.end(), 200u);
  rig_.device.ClearFaults();
  EXPECT_EQ(Look(first->id())->index.end(), 100u);
  EXPECT_EQ(Look(second->id())->index.end(), 200u);
  const std::uint64_t before = rig_.Count(FaultyDevice::Command::kRead);
  EXPECT_EQ(Look(first->id())->index.end(), 100u);
  EXPECT_EQ(rig_.Count(FaultyDevice::Command::kRead), before) << "nothing is missing any more";
}

// The zone of the first frame is reported before the frame is written, the zone of the second frame after
// that.
TEST_F(LogTailsTest, AGapThatComesFromReportsAtDifferentTimesIsNoLoss) {
  const auto file = rig_.NewFile();
  std::uint64_t size = 0;
  for (int i = 0; i < 200; ++i) {
    Write(*file, Text(9000, static_cast<char>('a' + i % 26)));
    size += 9000;
  }
  const State now = rig_.state();
  ASSERT_GE(now.log_zones().size(), 2u);
  const auto record = now.FindFile(file->id());
  // Scan only the zones from the second on, as if the first was reported too early.
  State later = now;
  const std::vector<Edit> hide{ReleaseLogZones{{rig_.ZoneOf(file->Pieces().front().place)}}};
  ASSERT_TRUE(later.Apply(hide).ok());
  ASSERT_TRUE(Update(later).ok());
  EXPECT_FALSE(tails_.Log(record, now.epoch())->damage.empty());
  EXPECT_TRUE(tails_.Log(record, now.epoch(), LogTails::Evidence::kOlder)->damage.empty());
  ASSERT_TRUE(Update(later).ok());
  EXPECT_FALSE(tails_.Log(record, now.epoch(), LogTails::Evidence::kOlder)->damage.empty()) << "it is lost";
  ASSERT_TRUE(Update(now).ok());
  const auto log = tails_.Log(record, now.epoch());
  EXPECT_TRUE(log->damage.empty());
  EXPECT_EQ(log->index.end(), size);
}

}  // namespace
}  // namespace zenfs
