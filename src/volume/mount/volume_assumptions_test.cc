// A volume on devices that break what ZenFS does not assume (docs/internals/device-assumptions.md). The numbers are those of
// that page.
#include <algorithm>
#include <atomic>
#include <set>

#include "base/thread.h"
#include "testing/empty_zone.h"
#include "volume/volume_device_test_rig.h"

namespace zenfs {
namespace {

using VolumeAssumptions = VolumeOnADevice;

// 4: zones become full while they are being written.
TEST_F(VolumeAssumptions, ZonesThatTurnFullUnderTheirWritersCostNothing) {
  auto log = volume_->Create("1.log");
  auto table = volume_->Create("2.sst");
  ASSERT_TRUE(IsOk(log));
  ASSERT_TRUE(IsOk(table));
  std::string in_log;
  std::string in_table;
  for (int i = 0; i < 12; ++i) {
    const std::string piece = RandomBytes(20'000, i);
    ASSERT_TRUE(IsOk((*log)->Append(AsBytes(piece))));
    ASSERT_TRUE(IsOk((*log)->Sync())) << i;
    in_log += piece;
    ASSERT_TRUE(IsOk((*table)->Append(AsBytes(piece))));
    ASSERT_TRUE(IsOk((*table)->Sync())) << i;
    in_table += piece;
    for (const ZoneStatus& zone : volume_->Zones()) {  // data, log and metadata zones alike
      const auto info = emulator_.ReportZone(zone.id);
      if (i % 3 == 0 && IsActive(info->condition)) {
        ASSERT_TRUE(IsOk(emulator_.SetCondition(zone.id, ZoneCondition::kFull)));
      }
    }
  }
  EXPECT_TRUE(IsOk(volume_->health()));
  EXPECT_EQ(Get("1.log"), in_log);
  EXPECT_EQ(Get("2.sst"), in_table);
  Remount();
  EXPECT_EQ(Get("1.log"), in_log);
  EXPECT_EQ(Get("2.sst"), in_table);
  ExpectSound();
}

// 4: read-only and offline zones cost at most their contents; other files are not affected.
TEST_F(VolumeAssumptions, ZonesThatFailUnderTheirWritersCostOnlyWhatIsInThem) {
  for (const ZoneCondition condition : {ZoneCondition::kReadOnly, ZoneCondition::kOffline}) {
    const std::string before = condition == ZoneCondition::kReadOnly ? "r" : "o";
    Put(before + ".sst", RandomBytes(30'000, 1));
    Put(before + ".log", RandomBytes(30'000, 2));
    const ZoneId table = ZoneOf(before + ".sst");
    const ZoneId log = ZoneOf(before + ".log");
    ASSERT_TRUE(IsOk(emulator_.SetCondition(table, condition)));
    ASSERT_TRUE(IsOk(emulator_.SetCondition(log, condition)));
    Put(before + "-behind.sst", RandomBytes(30'000, 3));
    Put(before + "-behind.log", RandomBytes(30'000, 4));
    const bool readable = condition == ZoneCondition::kReadOnly;
    EXPECT_EQ(TryGet(before + ".sst").has_value(), readable);
    EXPECT_EQ(TryGet(before + ".log").has_value(), readable);
    EXPECT_EQ(Get(before + "-behind.sst"), RandomBytes(30'000, 3));
    EXPECT_EQ(Get(before + "-behind.log"), RandomBytes(30'000, 4));
  }
  EXPECT_TRUE(IsOk(volume_->health()));
  Remount();
  EXPECT_EQ(Get("r.sst"), RandomBytes(30'000, 1));
  EXPECT_EQ(Get("r.log"), RandomBytes(30'000, 2));
  EXPECT_EQ(Get("o-behind.log"), RandomBytes(30'000, 4));
  EXPECT_FALSE(TryGet("o.sst"));
}

// Without limits, because the emulator would still count zones that are full at the smaller capacity as active.
class ZonesThatShrink : public VolumeOnADevice {
 protected:
  static EmulatorGeometry Shape() {
    EmulatorGeometry geometry = SmallGeometry();
    geometry.max_open = geometry.max_active = 0;
    return geometry;
  }
  ZonesThatShrink() : VolumeOnADevice(Shape()) {}
};

// 4: from its next reset on, a zone has only half of its capacity.
TEST_F(ZonesThatShrink, AtAResetAreFilledToWhatTheyHold) {
  Mutex mutex;
  std::set<ZoneId> small;
  const Geometry& geometry = emulator_.geometry();
  const std::uint64_t half = 384 << 10;
  const WatchedDevice::Watch watch(
      device_, {.reported =
                    [&](std::vector<ZoneInfo>& zones) {
                      MutexLock lock(mutex);
                      for (ZoneInfo& zone : zones) {
                        if (!small.contains(zone.id)) continue;
                        zone.capacity = half;
                        if (IsActive(zone.condition) && zone.write_pointer - zone.start >= half)
                          zone.condition = ZoneCondition::kFull;
                      }
                    },
                .before_write = [&](DeviceOffset offset, std::size_t bytes) -> Status {
                  MutexLock lock(mutex);
                  const ZoneId zone = geometry.ZoneOf(offset);
                  if (!small.contains(zone) || offset + bytes - geometry.ZoneStart(zone) <= half) return {};
                  return Fail(Code::kZoneFull, "behind the capacity");
                },
                .before_reset = [&](ZoneId zone) -> Status {
                  MutexLock lock(mutex);
                  small.insert(zone);
                  return {};
                }});
  for (int round = 0; round < 4; ++round) {
    for (int i = 0; i < 8; ++i) Put("f" + std::to_string(i) + ".sst", RandomBytes(600'000, 8 * round + i));
    Put("w" + std::to_string(round) + ".log", RandomBytes(700'000, round));
    if (round > 0) {
      ASSERT_TRUE(IsOk(volume_->Unlink("w" + std::to_string(round - 1) + ".log")));
    }
  }
  EXPECT_TRUE(Await([&] {
    MutexLock lock(mutex);
    return small.size() > 5;
  }));
  EXPECT_TRUE(Await([&] { return volume_->Space().total < 37u * (768 << 10); }));
  for (int i = 0; i < 8; ++i)
    EXPECT_EQ(Get("f" + std::to_string(i) + ".sst"), RandomBytes(600'000, 24 + i)) << i;
  Remount();
  for (int i = 0; i < 8; ++i)
    EXPECT_EQ(Get("f" + std::to_string(i) + ".sst"), RandomBytes(600'000, 24 + i)) << i;
  EXPECT_EQ(Get("w3.log"), RandomBytes(700'000, 3));
}

// 5: writes of frames, data and metadata that are reported as failed although they were carried out.
TEST_F(VolumeAssumptions, AWriteThatLandedAndIsReportedAsFailedLeavesItsBytesOnce) {
  auto log = volume_->Create("1.log");
  ASSERT_TRUE(IsOk(log));
  std::string expected;
  for (int i = 0; i < 12; ++i) {
    const std::string piece = RandomBytes(5'000, i);
    if (i % 4 == 1) {
      // Afterwards a frame with the same sequence is in two zones. Other zones do not fail, so no background commit does.
      const ZoneId zone = emulator_.geometry().ZoneOf(volume_->Layout("1.log")->frames.back().place);
      faults_.Inject(
          {.command = Command::kWrite, .zone = zone, .code = Code::kUnknownOutcome, .when = When::kAfter});
    }
    ASSERT_TRUE(IsOk((*log)->Append(AsBytes(piece))));
    ASSERT_TRUE(IsOk((*log)->Sync())) << i;
    expected += piece;
  }
  Put("first.sst", RandomBytes(30'000, 49));
  const ZoneId zone = ZoneOf("first.sst");
  const std::uint64_t failed = volume_->Space().lost;
  faults_.Inject(
      {.command = Command::kWrite, .zone = zone, .code = Code::kUnknownOutcome, .when = When::kAfter});
  Put("2.sst", RandomBytes(200'000, 50));
  EXPECT_GT(volume_->Space().lost, failed) << "no data write has failed";
  EXPECT_EQ(Get("1.log"), expected);
  EXPECT_EQ(Get("2.sst"), RandomBytes(200'000, 50));
  Remount();
  EXPECT_EQ(Get("1.log"), expected);
  EXPECT_EQ(Get("2.sst"), RandomBytes(200'000, 50));
  ExpectSound();
}

// 5: resets and finishes that are reported as failed although they were carried out.
TEST_F(VolumeAssumptions, AResetThatWasDoneAndIsReportedAsFailedCostsNoSpace) {
  const std::uint64_t free = volume_->Space().free;
  for (int i = 0; i < 8; ++i) Put(std::to_string(i) + ".sst", RandomBytes(768 << 10, i));
  faults_.Inject(
      {.command = Command::kReset, .times = 100, .code = Code::kUnknownOutcome, .when = When::kAfter});
  for (int i = 0; i < 8; ++i) ASSERT_TRUE(IsOk(volume_->Unlink(std::to_string(i) + ".sst")));
  EXPECT_TRUE(Await([&] { return volume_->Space().free + (2u << 20) > free; }));
  EXPECT_EQ(volume_->Space().lost, 0u);
}

// 6, D11: a WAL fills its zones to the last block, and the device reports arbitrary write pointers for full zones.
TEST_F(VolumeAssumptions, WritePointersOfFullZonesMayBeAnything) {
  const Geometry& geometry = emulator_.geometry();
  enum class Says { kEndOfZone, kBeyondTheZone, kStart, kNonsense };
  Says says = Says::kEndOfZone;
  std::atomic<int> full = 0;
  const WatchedDevice::Watch watch(device_, {.reported = [&](std::vector<ZoneInfo>& zones) {
                                     for (ZoneInfo& zone : zones) {
                                       if (zone.condition != ZoneCondition::kFull) continue;
                                       ++full;
                                       switch (says) {
                                         case Says::kEndOfZone:
                                           zone.write_pointer = zone.start + geometry.zone_size;
                                           break;
                                         case Says::kBeyondTheZone:
                                           zone.write_pointer = zone.start + 3 * geometry.zone_size;
                                           break;
                                         case Says::kStart: zone.write_pointer = zone.start; break;
                                         case Says::kNonsense:
                                           zone.write_pointer = DeviceOffset(~0ull);
                                           break;
                                       }
                                     }
                                   }});
  std::string expected;
  for (const Says each : {Says::kEndOfZone, Says::kBeyondTheZone, Says::kStart, Says::kNonsense}) {
    says = each;
    full = 0;
    {
      auto log = volume_->OpenForAppend("1.log", true);
      ASSERT_TRUE(IsOk(log));
      for (int i = 0; i < 15; ++i) {  // more than a zone
        const std::string piece = RandomBytes(60'000, i);
        ASSERT_TRUE(IsOk((*log)->Append(AsBytes(piece))));
        ASSERT_TRUE(IsOk((*log)->Sync()));
        expected += piece;
      }
      Put("2.sst", RandomBytes(1 << 20, static_cast<int>(each)));
    }
    DieAndMount();
    EXPECT_GT(full, 1);
    EXPECT_TRUE(volume_->notices().empty());
    EXPECT_EQ(Get("1.log"), expected);
    EXPECT_EQ(Get("2.sst"), RandomBytes(1 << 20, static_cast<int>(each)));
  }
  ExpectSound();
}

// 7: no read of a volume goes beyond the write pointer or crosses the end of a zone.
TEST_F(VolumeAssumptions, NoReadGoesBeyondAWritePointerOrOverTheEndOfAZone) {
  const Geometry& geometry = emulator_.geometry();
  std::atomic<std::uint64_t> reads = 0;
  const WatchedDevice::Watch watch(
      device_, {.before_read = [&](DeviceOffset offset, std::size_t bytes) -> Status {
        ++reads;
        const auto info = emulator_.ReportZone(geometry.ZoneOf(offset));
        const std::uint64_t end = offset - geometry.ZoneStart(geometry.ZoneOf(offset)) + bytes;
        EXPECT_LE(end, info->WrittenBytes()) << "of zone " << geometry.ZoneOf(offset).value;
        return {};
      }});
  for (int round = 0; round < 3; ++round) {
    for (int i = 0; i < 6; ++i) {
      Put(std::to_string(i) + ".sst", RandomBytes(300'001 + 777 * i, i));
      Put(std::to_string(i) + ".log", RandomBytes(200'001 + 777 * i, i));
      EXPECT_EQ(Get(std::to_string(i) + ".sst").size(), 300'001u + 777 * i);
      EXPECT_EQ(Get(std::to_string(i) + ".log").size(), 200'001u + 777 * i);
    }
    for (int i = 0; i < 6; i += 2) ASSERT_TRUE(IsOk(volume_->Unlink(std::to_string(i) + ".sst")));
    for (const ZoneStatus& zone : volume_->Zones()) {
      if (zone.phase == ZonePhase::kFull) IgnoreError(EmptyZone(*volume_, zone.id));
    }
    Remount();
    const auto report = CheckVolume(device_, {.read_data = true, .progress = {}});
    ASSERT_TRUE(IsOk(report));
  }
  EXPECT_GT(reads, 100u);
}

// 8: other users of the device take its open zones and give them back.
TEST_F(VolumeAssumptions, SlotsThatOthersTakeAreWaitedForOrDoneWithout) {
  const std::vector<ZoneId> metadata = volume_->info().superblock.metadata_zones;
  std::atomic<int> taken = 0;
  std::atomic<int> refused = 0;
  const WatchedDevice::Watch watch(
      device_, {.before_write = [&](DeviceOffset offset, std::size_t) -> Status {
        if (std::ranges::find(metadata, emulator_.geometry().ZoneOf(offset)) != metadata.end() ||
            taken-- <= 0)
          return {};
        ++refused;
        return Fail(Code::kBusy, "as many zones are open as can be");
      }});
  for (int round = 0; round < 5; ++round) {
    taken = 4;
    Put(std::to_string(round) + ".sst", RandomBytes(100'000, round));
    taken = 4;
    Put(std::to_string(round) + ".log", RandomBytes(10'000, round));
  }
  taken = 0;
  EXPECT_EQ(refused, 40);
  for (const ZoneStatus& zone : volume_->Zones()) EXPECT_NE(zone.phase, ZonePhase::kRetired) << zone.id.value;
  Remount();
  for (int round = 0; round < 5; ++round)
    EXPECT_EQ(Get(std::to_string(round) + ".sst"), RandomBytes(100'000, round));
}

class FewerOpenThanActive : public VolumeOnADevice {
 protected:
  static EmulatorGeometry Shape() {
    EmulatorGeometry geometry = SmallGeometry();
    geometry.max_open = 4;
    geometry.max_active = 9;
    return geometry;
  }
  FewerOpenThanActive() : VolumeOnADevice(Shape()) {}
};

TEST_F(FewerOpenThanActive, ManyFilesAreWrittenInTurns) {
  std::vector<std::unique_ptr<FileHandle>> files;
  std::vector<std::string> expected(12);
  for (int i = 0; i < 12; ++i) {
    auto file =
        volume_->Create(std::to_string(i) + (i % 3 == 0 ? ".log" : ".sst"), static_cast<Lifetime>(i % 5));
    ASSERT_TRUE(IsOk(file));
    files.push_back(*std::move(file));
  }
  for (int round = 0; round < 5; ++round) {
    for (int i = 0; i < 12; ++i) {
      const std::string piece = RandomBytes(40'000, 12 * round + i);
      ASSERT_TRUE(IsOk(files[i]->Append(AsBytes(piece))));
      ASSERT_TRUE(IsOk(files[i]->Sync())) << round << " " << i;
      expected[i] += piece;
    }
  }
  files.clear();
  Remount();
  for (int i = 0; i < 12; ++i)
    EXPECT_EQ(Get(std::to_string(i) + (i % 3 == 0 ? ".log" : ".sst")), expected[i]);
}

// 10: a write and then a reset that take very long delay only the threads that wait for them.
TEST_F(VolumeAssumptions, ACommandThatTakesVeryLongHoldsUpNobodyElse) {
  Put("read.sst", RandomBytes(100'000, 1));
  Put("warm-up.log", "x");
  const auto others_go_on = [&](int round) {
    const std::string name = std::to_string(round);
    Put(name + ".log", RandomBytes(5'000, round));
    EXPECT_EQ(Get("read.sst"), RandomBytes(100'000, 1));
    EXPECT_TRUE(IsOk(volume_->Rename(name + ".log", name + "-renamed.log")));
    EXPECT_EQ(Get(name + "-renamed.log"), RandomBytes(5'000, round));
    Put(name + ".sst", RandomBytes(5'000, round));
  };
  {
    auto slow = volume_->Create("slow.sst", Lifetime::kExtreme);
    ASSERT_TRUE(IsOk(slow));
    ASSERT_TRUE(IsOk((*slow)->Append(AsBytes(RandomBytes(10'000, 2)))));
    ASSERT_TRUE(IsOk((*slow)->Sync()));
    ASSERT_TRUE(IsOk((*slow)->Append(AsBytes(RandomBytes(10'000, 3)))));
    faults_.Hold(Command::kWrite, ZoneOf("slow.sst"));
    Status synced = Fail(Code::kIo, "not yet");
    Thread writer("writer", [&] { synced = (*slow)->Sync(); });
    ASSERT_TRUE(faults_.WaitUntilHeld(1, Soon()));
    others_go_on(1);
    faults_.Release();
    writer.Join();
    EXPECT_TRUE(IsOk(synced));
  }
  Put("dead.sst", RandomBytes(3 * (768 << 10), 4));
  faults_.Hold(Command::kReset);
  ASSERT_TRUE(IsOk(volume_->Unlink("dead.sst")));
  ASSERT_TRUE(faults_.WaitUntilHeld(1, Soon()));
  others_go_on(2);
  faults_.Release();
  EXPECT_EQ(Get("slow.sst"), RandomBytes(10'000, 2) + RandomBytes(10'000, 3));
}

// 11: an SMR disk: conventional zones first, many open zones, no limit of active zones, and flushes of 10 ms.
class SmrDisk : public VolumeOnADevice {
 protected:
  static EmulatorGeometry Shape() {
    EmulatorGeometry geometry = SmallGeometry();
    geometry.max_open = 128;
    geometry.max_active = 0;
    geometry.conventional = 3;
    return geometry;
  }
  SmrDisk() : VolumeOnADevice(Shape(), {.flush_us = 10'000}) {}
};

TEST_F(SmrDisk, ConventionalZonesAreLeftAloneAndSyncsOfManyThreadsShareAFlush) {
  constexpr int kThreads = 8;
  constexpr int kSyncs = 10;
  Put("0.log", "x");
  const WatchedDevice::Watch watch(device_, {.before_write = [&](DeviceOffset offset, std::size_t) -> Status {
                                     EXPECT_GE(emulator_.geometry().ZoneOf(offset).value, 3u)
                                         << "a conventional zone";
                                     return {};
                                   }});
  std::vector<std::unique_ptr<FileHandle>> logs;
  for (int i = 0; i < kThreads; ++i) {
    auto log = volume_->Create(std::to_string(i + 1) + ".log");
    ASSERT_TRUE(IsOk(log));
    logs.push_back(*std::move(log));
    ASSERT_TRUE(IsOk(logs.back()->Append(AsBytes("x"))));
    ASSERT_TRUE(IsOk(logs.back()->Sync()));
  }
  const std::uint64_t before = faults_.count(Command::kFlush);
  {
    std::vector<Thread> threads;
    for (auto& log : logs) {
      threads.emplace_back("writer", [&log] {
        for (int i = 0; i < kSyncs; ++i) {
          EXPECT_TRUE(log->Append(AsBytes("record")).ok());
          EXPECT_TRUE(log->Sync().ok());
        }
      });
    }
  }
  EXPECT_LT(faults_.count(Command::kFlush) - before, kThreads * kSyncs / 2);
  Remount();
  for (int i = 0; i < kThreads; ++i) EXPECT_EQ(Get(std::to_string(i + 1) + ".log").size(), 1u + 6 * kSyncs);
  ExpectSound();
}

}  // namespace
}  // namespace zenfs

// Two hosts that mount one device, which nothing prevents (docs/internals/device-assumptions.md, 9).

namespace zenfs {
namespace {

// The work of a host that assumes it is alone. The result is undefined.
void Work(Volume& host, int round) {
  const auto file = host.Create(std::to_string(round) + (round % 2 == 0 ? ".log" : ".sst"));
  if (!file || !(*file)->Append(AsBytes(RandomBytes(5'000, round))).ok() || !(*file)->Sync().ok()) return;
  IgnoreError((*file)->Close());
  if (round % 8 == 7) IgnoreError(host.Unlink(std::to_string(round - 7) + ".log"));
}

// 9: nothing prevents this, and it may destroy the volume. Neither host hangs, and a volume that passes a check is sound.
TEST_F(VolumeOnADevice, TwoHostsThatWriteDoNotHangAndWhatIsLeftCanBeLookedAt) {
  Put("1.sst", RandomBytes(30'000, 1));
  {
    auto second = Volume::Mount(Borrow(emulator_), {});
    // The first host may have committed the allocation of a log zone in between.
    for (int tries = 0; !second && tries < 100; ++tries) second = Volume::Mount(Borrow(emulator_), {});
    ASSERT_TRUE(IsOk(second)) << "a host does not see the mount of another host";
    for (int round = 0; round < 40; ++round) {
      Work(*volume_, round);
      Work(**second, round);
    }
    IgnoreError((*second)->Unmount());
  }
  IgnoreError(volume_->Unmount());
  volume_.reset();
  const auto report = CheckVolume(emulator_, {.read_data = true, .progress = {}});
  if (!report || !report->clean()) return;
  Mount();
  const auto entries = volume_->List("");
  ASSERT_TRUE(IsOk(entries));
  for (const DirectoryEntry& entry : *entries) EXPECT_TRUE(TryGet(entry.name)) << entry.name;
}

}  // namespace
}  // namespace zenfs
