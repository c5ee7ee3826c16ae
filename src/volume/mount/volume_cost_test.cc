// The cost of calls in commands and bytes. The programs in bench/ measure times.
#include <limits>
#include <tuple>

#include "testing/empty_zone.h"
#include "volume/mount/mounted_volume.h"
#include "volume/volume_device_test_rig.h"

namespace zenfs {
namespace {

class VolumeCost : public VolumeOnADevice {
 protected:
  explicit VolumeCost(std::uint32_t zones = 40) : VolumeOnADevice(Shape(zones)) {}
  static EmulatorGeometry Shape(std::uint32_t zones) {
    EmulatorGeometry geometry = SmallGeometry();
    geometry.zones = zones;
    return geometry;
  }
  std::uint64_t Reads() const { return faults_.count(Command::kRead); }
  std::uint64_t Writes() const { return faults_.count(Command::kWrite); }
  // Waits until the log's zones are committed, so that no background commit disturbs the test.
  void WaitForLogReserve() {
    Put("warm-up.log", "x");
    ASSERT_TRUE(Await([&] { return volume_->counters().metalog.commits >= 1 + 1 + 2; }));
  }
};

// P2: no call sends a zone report, whatever the number of zones. For the cost in memory, see
// ZonePoolTest.CostOfCreatingAndDeletingIsIndependentOfTheNumberOfZones.
class CostByZones : public VolumeCost, public testing::WithParamInterface<std::uint32_t> {
 protected:
  CostByZones() : VolumeCost(GetParam()) {}
};

// P2 of docs/internals/failures.md.
TEST_P(CostByZones, CreatingAndDeletingTakesTheSameCommandsHoweverManyZonesThereAre) {
  WaitForLogReserve();
  const std::uint64_t reports = faults_.count(Command::kReport);
  const std::uint64_t writes = Writes();
  constexpr int kFiles = 50;
  for (int i = 0; i < kFiles; ++i) {
    Put("file", "content");
    ASSERT_TRUE(IsOk(volume_->Unlink("file")));
  }
  EXPECT_EQ(faults_.count(Command::kReport), reports);
  EXPECT_EQ(Writes() - writes, 5u * kFiles) << "a block of data and two commits each, in two copies";
}

INSTANTIATE_TEST_SUITE_P(Zones, CostByZones, testing::Values(40u, 4000u));

// The number of committed extents that are visited to empty a zone with eight live files, on a volume with `others` more.
std::uint64_t ExtentsLookedAt(int others) {
  constexpr std::uint64_t kZone = 4 << 20;
  const auto device = CreateMemoryDevice({.zones = 64, .zone_size = kZone});
  EXPECT_TRUE(IsOk(FormatVolume(*device, {})));
  const std::shared_ptr<Volume> volume = *Volume::Mount(Borrow(*device), {});
  std::vector<Edit> edits;
  std::uint64_t id = std::uint64_t{1} << 32;
  edits.push_back(RaiseCounters{id + static_cast<std::uint64_t>(others), 0});
  const VolumeParts& parts = dynamic_cast<MountedVolume&>(*volume).mount().parts();
  for (int i = 0; i < others; ++i, ++id) {
    edits.push_back(CreateFile{.id = FileId(id)});
    edits.push_back(LinkFile{kRootDirectory, "other" + std::to_string(i), FileId(id)});
    if (edits.size() < 256 && i + 1 < others) continue;
    EXPECT_TRUE(IsOk(parts.metalog->Commit(std::move(edits), {})));
    edits.clear();
  }
  const std::string content(kZone / 8, 'x');
  for (int i = 0; i < 8; ++i) EXPECT_TRUE(IsOk(PutFile(*volume, "live" + std::to_string(i), content)));
  const ZoneId zone = device->geometry().ZoneOf(volume->Layout("live0")->extents.front().place);
  const std::uint64_t before = parts.catalog.extents_looked_at();
  EXPECT_TRUE(IsOk(EmptyZone(*volume, zone)));
  const std::uint64_t looked_at = parts.catalog.extents_looked_at() - before;
  EXPECT_EQ(volume->Zones()[zone.value].live, 0u);
  EXPECT_TRUE(IsOk(volume->Unmount()));
  return looked_at;
}

TEST(CostByFiles, EmptyingAZoneLooksAtTheSameExtentsHoweverManyFilesThereAre) {
  const std::uint64_t few = ExtentsLookedAt(200);
  EXPECT_GE(few, 8u);
  EXPECT_EQ(ExtentsLookedAt(20'000), few);
}

// Two files that were appended to in turns, so that each has an extent for each block.
TEST(CostByExtents, WhatAMoveRestatesIsKnownBeforeIt) {
  const auto device = CreateMemoryDevice({.zones = 40, .zone_size = 1 << 20, .zone_capacity = 1 << 20});
  ASSERT_TRUE(IsOk(FormatVolume(*device, {})));
  std::shared_ptr<Volume> volume = *Volume::Mount(Borrow(*device), {.reclaim = false});
  const std::string block = RandomBytes(4096, 1);
  for (int i = 0; i < 600; ++i) {
    auto file = volume->OpenForAppend(i % 2 == 0 ? "a.sst" : "b.sst", true);
    ASSERT_TRUE(IsOk(file));
    ASSERT_TRUE(IsOk((*file)->Append(AsBytes(block))));
    ASSERT_TRUE(IsOk((*file)->Close()));
  }
  ASSERT_EQ(volume->Layout("a.sst")->extents.size(), 300u);
  const VolumeParts& parts = dynamic_cast<MountedVolume&>(*volume).mount().parts();
  // The metadata log may switch meanwhile, which writes more: so the cheapest of three moves counts.
  std::uint64_t known = 0;
  std::uint64_t written = std::numeric_limits<std::uint64_t>::max();
  for (int move = 0; move < 3; ++move) {
    const ZoneId zone = device->geometry().ZoneOf(volume->Layout("a.sst")->extents.front().place);
    const std::uint64_t estimate = parts.mover.RestatedBytes({.zone = zone});
    const std::uint64_t before = volume->counters().written.metadata;
    ASSERT_TRUE(IsOk(EmptyZone(*volume, zone)));
    const std::uint64_t bytes = volume->counters().written.metadata - before;
    if (bytes < written) std::tie(known, written) = std::pair(estimate, bytes);
  }
  EXPECT_GE(known, written / 2);
  EXPECT_LE(known, written * 2);
  EXPECT_TRUE(IsOk(volume->Unmount()));
}

// Each truncation seals a window.
TEST(CostByWindows, WhatACleaningRestatesIsKnownBeforeIt) {
  const auto device = CreateMemoryDevice({.zones = 24, .zone_size = 8 << 20, .zone_capacity = 8 << 20});
  ASSERT_TRUE(IsOk(FormatVolume(*device, {})));
  const std::shared_ptr<Volume> volume = *Volume::Mount(Borrow(*device), {});
  const std::string record(3500, 'r');
  auto log = volume->OpenForAppend("a.log", true);
  ASSERT_TRUE(IsOk(log));
  for (int i = 0; i < 1500; ++i) {
    ASSERT_TRUE(IsOk((*log)->Append(AsBytes(record))));
    ASSERT_TRUE(IsOk((*log)->Truncate((i + 1) * (record.size() - 1))));
  }
  VolumeParts& parts = dynamic_cast<MountedVolume&>(*volume).mount().parts();
  const auto of_the_log = [&] { return parts.log.zones().Zones().front(); };
  auto other = volume->OpenForAppend("b.log", true);
  ASSERT_TRUE(IsOk(other));
  while (!of_the_log().closed) {
    ASSERT_TRUE(IsOk((*other)->Append(AsBytes(RandomBytes(100'000, 1)))));
    ASSERT_TRUE(IsOk((*other)->Sync()));
  }
  const Victim victim{
      .zone = of_the_log().zone, .kind = Victim::Kind::kLog, .generation = of_the_log().generation};
  const std::uint64_t known = parts.mover.RestatedBytes(victim);
  const std::uint64_t before = volume->counters().written.metadata;
  ASSERT_TRUE(IsOk(parts.mover.Empty(victim, {})));
  const std::uint64_t written = volume->counters().written.metadata - before;
  EXPECT_GE(known, written / 2);
  EXPECT_LE(known, written * 2);
  EXPECT_TRUE(IsOk((*log)->Close()));
  EXPECT_TRUE(IsOk((*other)->Close()));
  EXPECT_TRUE(IsOk(volume->Unmount()));
}

// P3: twenty thousand synced records.
// Five logs of 64 MiB in zones of a GiB, to scale: 320 KiB in all would fit in one zone of a MiB.
TEST(CostOfLogs, FiveOpenLogsHoldTwoZones) {
  const auto device = CreateMemoryDevice({.zones = 40, .zone_size = 1 << 20, .zone_capacity = 1 << 20});
  ASSERT_TRUE(IsOk(FormatVolume(*device, {})));
  const std::shared_ptr<Volume> volume = *Volume::Mount(Borrow(*device), {});
  std::vector<std::unique_ptr<FileHandle>> logs;
  for (int i = 0; i < 5; ++i) logs.push_back(*volume->Create(std::to_string(i) + ".log"));
  const std::string record(4 << 10, 'r');
  for (int n = 0; n < 16; ++n) {
    for (const auto& log : logs) {
      ASSERT_TRUE(IsOk(log->Append(AsBytes(record))));
      if (n % 4 == 3) {
        ASSERT_TRUE(IsOk(log->Sync()));
      }
    }
  }
  VolumeParts& parts = dynamic_cast<MountedVolume&>(*volume).mount().parts();
  EXPECT_LE(parts.log.zones().Zones().size(), 2U) << "one that is written, and one that is ready";
  logs.clear();
}

TEST_F(VolumeCost, ALogOfManySyncsClosesWithoutMetadataAndIsReadInLargePieces) {
  constexpr int kSyncs = 20'000;
  constexpr std::size_t kPiece = 32 << 10;
  const std::string record(1000, 'r');
  ASSERT_TRUE(IsOk(volume_->Unmount()));
  volume_.reset();
  const auto large = CreateMemoryDevice({.zones = 24, .zone_size = 16 << 20});
  ASSERT_TRUE(IsOk(FormatVolume(*large, {})));
  FaultyDevice counted(Borrow(*large));
  const std::shared_ptr<Volume> volume = *Volume::Mount(Borrow(counted), {});
  auto log = volume->Create("1.log");
  ASSERT_TRUE(IsOk(log));
  std::uint64_t commits = 0;
  std::uint64_t metadata = 0;
  for (int i = 0; i < kSyncs; ++i) {
    ASSERT_TRUE(IsOk((*log)->Append(AsBytes(record))));
    ASSERT_TRUE(IsOk((*log)->Sync()));
    if (i == kSyncs - 10) {  // all needed zones were allocated before
      commits = volume->counters().metalog.commits;
      metadata = volume->counters().written.metadata;
    }
  }
  ASSERT_TRUE(IsOk((*log)->Close()));
  EXPECT_LE(volume->counters().metalog.commits - commits, 1u);
  EXPECT_LE(volume->counters().written.metadata - metadata, 3u * 4096);
  EXPECT_LE(volume->Layout("1.log")->extents.size(), 24u) << "at most one extent per zone";

  const auto reader = volume->OpenForRead("1.log");
  ASSERT_TRUE(IsOk(reader));
  ASSERT_EQ((*reader)->size(), kSyncs * record.size());
  const std::uint64_t reads = counted.count(Command::kRead);
  std::string piece(kPiece, '\0');
  std::uint64_t pieces = 0;
  for (std::uint64_t offset = 0; offset < (*reader)->size(); offset += kPiece, ++pieces) {
    ASSERT_TRUE(IsOk((*reader)->Read(offset, std::as_writable_bytes(std::span(piece)))));
  }
  EXPECT_LE(counted.count(Command::kRead) - reads, 2 * pieces);
  EXPECT_TRUE(IsOk(volume->Unmount()));
}

// P4: a table from its creation to its deletion by RocksDB.
TEST_F(VolumeCost, TheLifeOfATableTakesThreeCommitsAtMost) {
  WaitForLogReserve();
  const std::uint64_t commits = volume_->counters().metalog.commits;
  constexpr int kFiles = 20;
  for (int i = 0; i < kFiles; ++i) {
    auto file = volume_->Create("000001.sst.tmp");
    ASSERT_TRUE(IsOk(file));
    ASSERT_TRUE(IsOk((*file)->Append(AsBytes(RandomBytes(100'000, i)))));
    ASSERT_TRUE(IsOk((*file)->Sync()));
    ASSERT_TRUE(IsOk((*file)->Close()));
    ASSERT_TRUE(IsOk(volume_->Rename("000001.sst.tmp", "000001.sst")));
    ASSERT_TRUE(IsOk(volume_->SyncDirectory("")));
    ASSERT_TRUE(IsOk(volume_->Unlink("000001.sst")));
  }
  EXPECT_LE(volume_->counters().metalog.commits - commits, 3u * kFiles);
}

// P4: a long commit does not delay lookups of names.
TEST_F(VolumeCost, NamesAreLookedUpWhileACommitIsUnderWay) {
  WaitForLogReserve();
  Put("there.sst", "content");
  faults_.Hold(Command::kFlush);
  Status synced = Fail(Code::kIo, "not yet");
  Thread writer("writer", [&] { synced = TryPut("new.sst", "new"); });
  ASSERT_TRUE(faults_.WaitUntilHeld(1, Soon()));
  EXPECT_EQ(volume_->Stat("there.sst")->size, 7u);
  EXPECT_GE(volume_->List("")->size(), 2u);
  EXPECT_EQ(Get("there.sst"), "content");
  const auto another = volume_->Create("another.sst");
  EXPECT_TRUE(IsOk(another));
  faults_.Release();
  writer.Join();
  EXPECT_TRUE(IsOk(synced));
}

// P4: a mount reads the metadata log in large pieces, not record by record.
TEST_F(VolumeCost, AMountReadsManyRecordsWithOneCommand) {
  constexpr int kFiles = 400;
  for (int i = 0; i < kFiles; ++i) Put("f" + std::to_string(i), "x");
  ASSERT_TRUE(IsOk(volume_->Unmount()));
  volume_.reset();
  const std::uint64_t before = Reads();
  Mount();
  EXPECT_LT(Reads() - before, kFiles / 8u);
  EXPECT_EQ(Get("f399"), "x");
}

}  // namespace
}  // namespace zenfs
