// The cost of bad zones, and of handles that are never closed.
#include <algorithm>
#include <atomic>

#include "metrics/metrics_snapshot.h"
#include "testing/empty_zone.h"
#include "volume/volume_device_test_rig.h"

namespace zenfs {
namespace {

using VolumeBadZones = VolumeOnADevice;

// R8: an offline zone with data.
TEST_F(VolumeBadZones, AnOfflineZoneCostsItsFilesAndNoMount) {
  Put("lost.sst", RandomBytes(100'000, 1));
  Put("lost.log", RandomBytes(100'000, 2));
  const ZoneId table = ZoneOf("lost.sst");
  const ZoneId log = ZoneOf("lost.log");
  ASSERT_TRUE(IsOk(emulator_.SetCondition(table, ZoneCondition::kFull)));
  Put("kept.sst", RandomBytes(100'000, 3));
  ASSERT_TRUE(IsOk(volume_->Unmount()));
  volume_.reset();
  ASSERT_TRUE(IsOk(emulator_.SetCondition(table, ZoneCondition::kOffline)));
  ASSERT_TRUE(IsOk(emulator_.SetCondition(log, ZoneCondition::kOffline)));
  {
    const auto beside = Volume::Mount(MakeReadOnlyView(emulator_), {.read_only = true});
    ASSERT_TRUE(IsOk(beside));
    EXPECT_EQ((*beside)->List("")->size(), 3u);
    const std::vector<std::string> notices = (*beside)->notices();
    ASSERT_EQ(notices.size(), 2u);
    EXPECT_NE(notices[0].find("log zone " + std::to_string(log.value) + " is offline"), std::string::npos)
        << notices[0];
    EXPECT_NE(notices[1].find("(/lost.log): bytes 0 to 100000 are lost"), std::string::npos) << notices[1];
  }
  Mount();
  EXPECT_EQ(Get("kept.sst"), RandomBytes(100'000, 3));
  EXPECT_FALSE(TryGet("lost.sst"));
  // The previous mount sealed the log at its end, so the loss is known and reported without the zone.
  EXPECT_EQ(volume_->Stat("lost.log")->size, 100'000u);
  EXPECT_FALSE(TryGet("lost.log"));
  std::string notices;
  for (const std::string& notice : volume_->notices()) notices += notice + "\n";
  EXPECT_NE(notices.find("log zone " + std::to_string(log.value) + " is offline"), std::string::npos)
      << notices;
  EXPECT_NE(notices.find("(/lost.log): bytes 0 to 100000 are lost"), std::string::npos) << notices;
  ASSERT_EQ(volume_->notices().size(), 2u) << notices;
  ASSERT_TRUE(IsOk(volume_->Unlink("lost.sst")));
  ASSERT_TRUE(IsOk(volume_->Unlink("lost.log")));
  Put("new.sst", RandomBytes(100'000, 4));
  Put("new.log", RandomBytes(100'000, 5));
  Remount();
  EXPECT_EQ(Get("kept.sst"), RandomBytes(100'000, 3));
  EXPECT_EQ(Get("new.sst"), RandomBytes(100'000, 4));
  EXPECT_EQ(Get("new.log"), RandomBytes(100'000, 5));
}

// R9: from some moment on, no zone can be reset.
TEST_F(VolumeBadZones, DeletesAndMountsSucceedThoughNoZoneCanBeReset) {
  for (int i = 0; i < 4; ++i) Put(std::to_string(i) + ".sst", RandomBytes(768 << 10, i));
  Put("kept.sst", RandomBytes(100'000, 9));
  faults_.Inject({.command = Command::kReset, .times = 1'000'000});
  for (int i = 0; i < 4; ++i) EXPECT_TRUE(IsOk(volume_->Unlink(std::to_string(i) + ".sst")));
  Remount();
  EXPECT_EQ(volume_->List("")->size(), 1u);
  EXPECT_EQ(Get("kept.sst"), RandomBytes(100'000, 9));
  Put("new.sst", RandomBytes(100'000, 10));
  Remount();
  EXPECT_EQ(Get("new.sst"), RandomBytes(100'000, 10));
  EXPECT_GT(faults_.count(Command::kReset), 0u);
  ExpectSound();
}

// D12: a handle is destroyed while its bytes can't be written.
TEST_F(VolumeBadZones, AnErrorOfAHandleThatNobodyClosedIsCountedAndToldOrMadeUpFor) {
  std::atomic<bool> failing = false;
  const auto metadata = volume_->info().superblock.metadata_zones;
  const WatchedDevice::Watch watch(
      device_, {.before_write = [&](DeviceOffset offset, std::size_t) -> Status {
        const bool is_data =
            std::ranges::find(metadata, emulator_.geometry().ZoneOf(offset)) == metadata.end();
        return failing && is_data ? Status(Fail(Code::kIo, "no data can be written")) : Status();
      }});
  for (const char* name : {"a.sst", "b.log"}) {
    auto dropped = volume_->Create(name);
    ASSERT_TRUE(IsOk(dropped));
    ASSERT_TRUE(IsOk((*dropped)->Append(AsBytes("synced"))));
    ASSERT_TRUE(IsOk((*dropped)->Sync()));
    auto other = volume_->OpenForAppend(name, false);
    ASSERT_TRUE(IsOk(other));
    ASSERT_TRUE(IsOk((*dropped)->Append(AsBytes(", not synced"))));
    const auto errors = [&] {
      return (*DecodeMetrics(volume_->counters().metrics_page))[Operation::kClose].errors;
    };
    const std::uint64_t before = errors();
    failing = true;
    dropped->reset();
    failing = false;
    EXPECT_EQ(errors(), before + 1);
    const bool made_up_for = (*other)->shape() == FileShape::kFramed;
    EXPECT_EQ((*other)->Sync().ok(), made_up_for) << name;
    EXPECT_EQ((*other)->Close().ok(), made_up_for) << name;
  }
  Remount();
  EXPECT_EQ(Get("b.log"), "synced, not synced");
}

// D14: a file that was synced within a block is read block by block, as direct readers do.
TEST_F(VolumeBadZones, AFileThatWasSyncedInMidBlockIsReadAtEveryBlock) {
  std::string expected;
  {
    auto file = volume_->Create("a.sst");
    ASSERT_TRUE(IsOk(file));
    for (int i = 0; i < 9; ++i) {
      const std::string piece = RandomBytes(4096 * (i % 3) + 17 + 1000 * i, i);
      ASSERT_TRUE(IsOk((*file)->Append(AsBytes(piece))));
      ASSERT_TRUE(IsOk((*file)->Sync()));
      expected += piece;
    }
  }
  for (int round = 0; round < 2; ++round) {
    const auto file = volume_->OpenForRead("a.sst");
    ASSERT_TRUE(IsOk(file));
    for (const std::size_t length : {4096u, 8192u, 32768u}) {
      for (std::uint64_t offset = 0; offset < expected.size(); offset += 4096) {
        AlignedBuffer block(length);
        const auto n = (*file)->Read(offset, block.Whole().first(length));
        ASSERT_TRUE(IsOk(n)) << offset;
        ASSERT_EQ(AsText(ByteView(block.Whole()).first(*n)), expected.substr(offset, length)) << offset;
      }
    }
    Remount();
  }
}

// D9: a copy that reads back differently is not used.
TEST_F(VolumeBadZones, ACopyThatReadsBackOtherwiseLeavesTheFileWhereItWas) {
  for (int i = 0; i < 6; ++i) Put(std::to_string(i) + ".sst", RandomBytes(250'000, i));
  const ZoneId zone = ZoneOf("0.sst");
  {
    const WatchedDevice::Watch watch(device_, {.was_read = [&](DeviceOffset offset, ByteSpan into) {
                                       if (emulator_.geometry().ZoneOf(offset) != zone)
                                         into.back() ^= std::byte{1};
                                     }});
    const Status emptied = EmptyZone(*volume_, zone);
    EXPECT_EQ(CodeOf(emptied), Code::kCorruption);
  }
  EXPECT_EQ(ZoneOf("0.sst"), zone);
  for (int i = 0; i < 6; ++i) EXPECT_EQ(Get(std::to_string(i) + ".sst"), RandomBytes(250'000, i)) << i;
}

}  // namespace
}  // namespace zenfs
