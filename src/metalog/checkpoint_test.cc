// The log switch: its state as waiting threads see it, without a device; then log switches of a log.
#include "metalog/checkpoint.h"

#include <gmock/gmock.h>

#include <atomic>

#include "base/mutex.h"
#include "base/sync_point.h"
#include "base/thread.h"
#include "metalog/metalog_test_util.h"
#include "testing/faulty_device.h"
#include "testing/sim_scheduler.h"

namespace zenfs::checkpoint_test {
namespace {

// --- the state as waiting threads see it ---

// Each run ends with kBusy and the number of the run.
class LogSwitchTest : public testing::Test {
 protected:
  LogSwitchTest()
      : log_switch_([this] {
          MutexLock lock(mutex_);
          EXPECT_TRUE(log_switch_.running());
          log_switch_.End(Fail(Code::kBusy, std::to_string(++runs_)));
        }) {}
  ~LogSwitchTest() override {
    Thread::SetRefusal(nullptr);
    log_switch_.TakeThread().Join();
  }

  Mutex mutex_{LockRank::kMetalog};
  int runs_ = 0;
  LogSwitch log_switch_;
};

TEST_F(LogSwitchTest, AWaitReturnsTheResultOfItsSwitch) {
  MutexLock lock(mutex_);
  EXPECT_EQ(log_switch_.StartAndWait(mutex_, 10).error().text(), "1");
  EXPECT_EQ(log_switch_.need(), 10u);
  EXPECT_EQ(log_switch_.StartAndWait(mutex_, 0).error().text(), "2");
  EXPECT_FALSE(log_switch_.running());
}

TEST_F(LogSwitchTest, AWaitJoinsTheRunningSwitch) {
  MutexLock lock(mutex_);
  ASSERT_TRUE(log_switch_.Start(10).ok());
  EXPECT_TRUE(log_switch_.running());
  EXPECT_EQ(log_switch_.StartAndWait(mutex_, 0).error().text(), "1");
  log_switch_.AwaitEnd(mutex_);
  EXPECT_EQ(runs_, 1);
}

TEST_F(LogSwitchTest, RunsInTheWaitingThreadIfNoThreadCanBeStarted) {
  Thread::SetRefusal([](const char*) { return true; });
  MutexLock lock(mutex_);
  EXPECT_FALSE(log_switch_.Start(0).ok());
  EXPECT_FALSE(log_switch_.running());
  EXPECT_EQ(log_switch_.StartAndWait(mutex_, 10).error().text(), "1");
}

// --- log switches of a log ---

using ::testing::HasSubstr;

constexpr std::uint32_t kZones = 3;

// Two threads run one log switch each, and the second switch fails. In many thread orders it ends before the first thread
// wakes up.
TEST(MetalogSwitch, EachCallerGetsTheOutcomeOfItsOwnSwitch) {
  for (std::uint64_t seed = 1; seed <= 32; ++seed) {
    FaultyDevice device(CreateMemoryDevice(SmallGeometry(256 << 10)));
    ZENFS_ASSERT_OK(Formatted(device, kZones));
    std::atomic<int> failed = 0;
    SimScheduler({.seed = seed, .switch_one_in = 1000}).Run([&] {
      const auto log = MustOpen(device, kZones);
      std::atomic<int> snapshots = 0;
      const SyncPoint::Scope during([&](std::string_view name) {
        if (name == "Metalog::Checkpoint::Try:snapshot-written" && ++snapshots == 2)
          device.Inject({.times = FaultyDevice::kForEver});
      });
      const auto switch_now = [&] { failed += log->Switch().ok() ? 0 : 1; };
      const Thread first("first", switch_now);
      const Thread second("second", switch_now);
    });
    EXPECT_EQ(failed, 1) << "seed " << seed;
  }
}

TEST(MetalogSwitch, StateSurvivesManySwitches) {
  const auto device = CreateMemoryDevice(SmallGeometry(1 << 20));
  ZENFS_ASSERT_OK(Formatted(*device, kZones));
  auto log = MustOpen(*device, kZones);
  for (std::uint64_t i = 0; i < 12; ++i) {
    ZENFS_ASSERT_OK(log->Commit(CreateNamed(kFirstTestId + i)));
    ZENFS_ASSERT_OK(log->Switch());
  }
  EXPECT_EQ(log->stats().generation, 13u);
  log.reset();
  log = MustOpen(*device, kZones);
  EXPECT_EQ(log->recovered().files().size(), 12u);
  EXPECT_EQ(log->stats().generation, 13u);
  EXPECT_EQ(log->stats().sequence, 12u);
}

TEST(MetalogSwitch, FullZoneSwitchesByItself) {
  for (const std::uint64_t zone_bytes : {64u << 10, 256u << 10, 1u << 20}) {
    const auto device = CreateMemoryDevice(SmallGeometry(zone_bytes));
    ZENFS_ASSERT_OK(Formatted(*device, kZones));
    {
      const auto log = MustOpen(*device, kZones);
      for (std::uint64_t i = 0; i < 1000; ++i) {
        ZENFS_ASSERT_OK(log->Commit(CreateNamed(kFirstTestId + i)));
        if (i >= 10) ZENFS_ASSERT_OK(log->Commit(UnlinkNamed(kFirstTestId + i - 10)));
      }
      EXPECT_GT(log->stats().switches, 2u);
    }
    EXPECT_EQ(MustOpen(*device, kZones)->recovered().files().size(), 10u);
  }
}

// D1: extents appended by one thread while another switches the log are logged.
TEST(MetalogSwitch, CommitsMadeWhileTheSnapshotIsWrittenAreKept) {
  const auto device = CreateMemoryDevice(SmallGeometry(1 << 20));
  ZENFS_ASSERT_OK(Formatted(*device, kZones));
  {
    const auto log = MustOpen(*device, kZones);
    ZENFS_ASSERT_OK(log->Commit(CreateNamed(kFirstTestId)));
    std::uint64_t id = kFirstTestId;
    SyncPoint::Scope scope([&](std::string_view name) {
      if (name != "Metalog::Checkpoint::Try:snapshot-written" &&
          name != "Metalog::Checkpoint::CatchUp:caught-up")
        return;
      for (int i = 0; i < 5; ++i) EXPECT_TRUE(log->Commit(CreateNamed(++id)).ok());
    });
    ZENFS_ASSERT_OK(log->Switch());
    ZENFS_ASSERT_OK(log->Commit(CreateNamed(++id)));
    EXPECT_EQ(id, kFirstTestId + 11);
  }
  const auto log = MustOpen(*device, kZones);
  EXPECT_EQ(log->recovered().files().size(), 12u);
  EXPECT_EQ(log->stats().sequence, 12u);
}

// D5: a snapshot larger than a metadata zone.
TEST(MetalogSwitch, SnapshotLargerThanAZoneBecomesAChain) {
  constexpr std::uint32_t kManyZones = 12;
  const auto device = CreateMemoryDevice(SmallGeometry(64 << 10, 16));
  ZENFS_ASSERT_OK(Formatted(*device, kManyZones));
  constexpr std::uint64_t kFiles = 2500;  // about 90 KiB of snapshot
  {
    const auto log = MustOpen(*device, kManyZones);
    for (std::uint64_t i = 0; i < kFiles; ++i) ZENFS_ASSERT_OK(log->Commit(CreateNamed(kFirstTestId + i)));
    ZENFS_ASSERT_OK(log->Switch());
    ZENFS_ASSERT_OK(log->Commit(UnlinkNamed(kFirstTestId)));
    ZENFS_ASSERT_OK(log->Switch());
  }
  const auto log = MustOpen(*device, kManyZones);
  EXPECT_EQ(log->recovered().files().size(), kFiles - 1);
  std::uint32_t in_use = 0;
  const auto report = device->Report(ZoneId(0), kManyZones);
  for (const ZoneInfo& info : *report) in_use += info.condition != ZoneCondition::kEmpty;
  EXPECT_GT(in_use, 2u);
}

TEST(MetalogSwitch, AtMostTwoMetadataZonesAreActive) {
  constexpr std::uint32_t kManyZones = 8;
  EmulatorGeometry geometry = SmallGeometry(64 << 10, 10);
  geometry.max_active = geometry.max_open = 4;
  const auto device = CreateMemoryDevice(geometry);
  ZENFS_ASSERT_OK(Formatted(*device, kManyZones));
  const auto log = MustOpen(*device, kManyZones);
  Mutex mutex;  // committing threads and the log switch pass points at the same time
  std::uint32_t most = 0;
  SyncPoint::Scope scope([&](std::string_view name) {
    if (name == "Metalog::Commit:queued") return;
    MutexLock lock(mutex);
    std::uint32_t active = 0;
    const auto report = device->Report(ZoneId(0), kManyZones);
    for (const ZoneInfo& info : *report) active += IsActive(info.condition);
    most = std::max(most, active);
  });
  for (std::uint64_t i = 0; i < 500; ++i) ZENFS_ASSERT_OK(log->Commit(CreateNamed(kFirstTestId + i)));
  // The switches so far may have begun with a full old zone. The second switch here leaves a zone that has room.
  ZENFS_ASSERT_OK(log->Switch());
  ZENFS_ASSERT_OK(log->Switch());
  log->Stop();
  EXPECT_EQ(most, 2u);
}

TEST(MetalogSwitch, FullMetadataIsNoSpaceAndDeletingMakesRoom) {
  const auto device = CreateMemoryDevice(SmallGeometry(64 << 10));
  ZENFS_ASSERT_OK(Formatted(*device, kZones));
  std::uint64_t created = 0;
  {
    const auto log = MustOpen(*device, kZones);
    Status status;
    while (status.ok() && created < 100'000) {
      status = log->Commit(CreateNamed(kFirstTestId + created));
      if (status.ok()) ++created;
    }
    ASSERT_FALSE(status.ok());
    EXPECT_EQ(status.error().code(), Code::kNoSpace);
    EXPECT_THAT(status.error().text(), HasSubstr("metadata zones are full"));
    EXPECT_GT(created, 100u);
    ZENFS_ASSERT_OK(log->Switch());                 // a snapshot of all accepted commits fits
    ZENFS_ASSERT_OK(log->Commit({BeginEpoch{1}}));  // a full volume can still be mounted
    for (std::uint64_t i = 0; i < created; ++i) ZENFS_ASSERT_OK(log->Commit(UnlinkNamed(kFirstTestId + i)));
    for (std::uint64_t i = 0; i < 100; ++i)
      ZENFS_ASSERT_OK(log->Commit(CreateNamed(kFirstTestId + 200'000 + i)));
  }
  const auto log = MustOpen(*device, kZones);
  EXPECT_EQ(log->recovered().files().size(), 100u);
}

TEST(MetalogSwitch, CommitTooLargeForAnyZoneIsRefusedAndTheLogGoesOn) {
  const auto device = CreateMemoryDevice(SmallGeometry(64 << 10));
  ZENFS_ASSERT_OK(Formatted(*device, kZones));
  const auto log = MustOpen(*device, kZones);
  ZENFS_ASSERT_OK(log->Commit(CreateNamed(kFirstTestId)));
  SetExtents large{.id = FileId(kFirstTestId)};
  for (std::uint64_t i = 0; i < 20'000; ++i) {
    large.extents.push_back({.file_offset = i * 4096, .place = DeviceOffset(i * 8192), .length = 4096});
    large.size += 4096;
  }
  EXPECT_EQ(log->Commit({large}).error().code(), Code::kNoSpace);
  ZENFS_ASSERT_OK(log->Commit(CreateNamed(kFirstTestId + 1)));
}

TEST(MetalogSwitch, SnapshotDoesNotStallCommits) {
  auto owned = std::make_unique<FaultyDevice>(CreateMemoryDevice(SmallGeometry(1 << 20)));
  FaultyDevice& device = *owned;
  ZENFS_ASSERT_OK(Formatted(device, kZones));
  const auto log = MustOpen(device, kZones);
  ZENFS_ASSERT_OK(log->Commit(CreateNamed(kFirstTestId)));
  device.Hold(FaultyDevice::Command::kWrite, ZoneId(1));  // where the next generation goes
  Thread switcher("switcher", [&log] { EXPECT_TRUE(log->Switch().ok()); });
  ASSERT_TRUE(device.WaitUntilHeld(1, Deadline::After(std::chrono::seconds(30))));
  for (std::uint64_t i = 1; i < 20; ++i) ZENFS_ASSERT_OK(log->Commit(CreateNamed(kFirstTestId + i)));
  device.Release();
  switcher.Join();
  log->Stop();
  EXPECT_EQ(MustOpen(device, kZones)->recovered().files().size(), 20u);
}

}  // namespace
}  // namespace zenfs::checkpoint_test
