// A volume whose logs are on a second device.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <atomic>

#include "base/sync_point.h"
#include "base/thread.h"
#include "device/joined_device.h"
#include "testing/faulty_device.h"
#include "testing/random_bytes.h"
#include "volume/mkfs.h"
#include "volume/volume_test_util.h"

namespace zenfs::volume_log_device_test {
namespace {

using testing::HasSubstr;

constexpr ZoneId kFirstLogZone(2);
constexpr EmulatorGeometry kLogs = {.zones = 10, .zone_size = 256 << 10, .max_open = 5, .max_active = 5};

class LogDevice : public testing::Test {
 protected:
  explicit LogDevice(const EmulatorGeometry& logs = kLogs) : logs_(CreateMemoryDevice(logs)) {
    EXPECT_TRUE(IsOk(FormatTwoDevices(
        {.main = main_, .logs = logs_, .main_name = "emu:/main.img", .logs_name = "emu:/logs.img"}, {})));
    Mount();
  }
  ~LogDevice() override {
    if (volume_ != nullptr) {
      EXPECT_TRUE(IsOk(volume_->Unmount()));
    }
    ExpectSound(*Joined());
  }

  std::unique_ptr<ZonedDevice> Joined() {
    auto joined = JoinDevices(Borrow(main_), Borrow(logs_), kFirstLogZone);
    EXPECT_TRUE(IsOk(joined));
    return *std::move(joined);
  }
  void Mount() {
    auto volume = Volume::Mount(Joined(), {});
    ASSERT_TRUE(IsOk(volume));
    volume_ = *std::move(volume);
    EXPECT_TRUE(volume_->notices().empty());
  }
  void Remount() {
    ASSERT_TRUE(IsOk(volume_->Unmount()));
    volume_.reset();
    Mount();
  }
  std::uint64_t Written(ZonedDevice& device, std::uint32_t first = 0) {
    std::uint64_t bytes = 0;
    const auto zones = ReportAll(device);
    for (const ZoneInfo& zone : *zones) bytes += zone.id.value < first ? 0 : zone.WrittenBytes();
    return bytes;
  }
  std::uint64_t Flushes(FaultyDevice& device) { return device.count(FaultyDevice::Command::kFlush); }

  FaultyDevice main_{CreateMemoryDevice(SmallGeometry())};
  FaultyDevice logs_;
  std::shared_ptr<Volume> volume_;
};

TEST_F(LogDevice, HasTheFramesOfLogsAndNothingElse) {
  const std::uint64_t before = Written(logs_, kFirstLogZone.value);
  ASSERT_TRUE(IsOk(PutFile(*volume_, "table.sst", RandomBytes(500'000, 1))));
  EXPECT_EQ(Written(logs_, kFirstLogZone.value), before);
  const std::uint64_t main_before = Written(main_);
  ASSERT_TRUE(IsOk(PutFile(*volume_, "1.log", RandomBytes(100'000, 2))));
  EXPECT_GT(Written(logs_, kFirstLogZone.value), before + 100'000);
  EXPECT_LT(Written(main_), main_before + 50'000) << "commits only";
  Remount();
  EXPECT_EQ(*GetFile(*volume_, "1.log"), RandomBytes(100'000, 2));
  EXPECT_EQ(*GetFile(*volume_, "table.sst"), RandomBytes(500'000, 1));
}

TEST_F(LogDevice, ASyncOfALogFlushesOnlyItsDevice) {
  auto file = volume_->Create("1.log");
  ASSERT_TRUE(IsOk(file));
  ASSERT_TRUE(IsOk((*file)->Append(AsBytes("first"))));
  ASSERT_TRUE(IsOk((*file)->Sync()));
  WaitForCommits(*volume_, 4);  // of the mount, the file, and the log's first two zones
  const std::uint64_t main_before = Flushes(main_);
  const std::uint64_t logs_before = Flushes(logs_);
  for (int i = 0; i < 10; ++i) {
    ASSERT_TRUE(IsOk((*file)->Append(AsBytes("more"))));
    ASSERT_TRUE(IsOk((*file)->Sync()));
  }
  EXPECT_EQ(Flushes(main_), main_before);
  EXPECT_EQ(Flushes(logs_), logs_before + 10);
}

// As RocksDB does it: a log is deleted once its data is in a table. The manifest lives on, in ever older zones.
TEST_F(LogDevice, WritesManyTimesItsSizeInLogs) {
  auto manifest = volume_->Create("MANIFEST-000001");
  ASSERT_TRUE(IsOk(manifest));
  std::string edits;
  for (int i = 0; i < 60; ++i) {
    const std::string edit = RandomBytes(300, 1000 + i);
    edits += edit;
    ASSERT_TRUE(IsOk((*manifest)->Append(AsBytes(edit))));
    ASSERT_TRUE(IsOk((*manifest)->Sync()));
    ASSERT_TRUE(IsOk(PutFile(*volume_, fmt::format("{:06}.log", i), RandomBytes(400'000, i)))) << i;
    if (i >= 2) {
      ASSERT_TRUE(IsOk(volume_->Unlink(fmt::format("{:06}.log", i - 2))));
    }
  }
  ASSERT_TRUE(IsOk((*manifest)->Close()));
  Remount();
  EXPECT_EQ(*GetFile(*volume_, "MANIFEST-000001"), edits);
  for (int i = 58; i < 60; ++i)
    EXPECT_EQ(*GetFile(*volume_, fmt::format("{:06}.log", i)), RandomBytes(400'000, i));
}

TEST_F(LogDevice, LogsThatOutgrowItMoveToTheMainDevice) {
  constexpr int kFiles = 12;  // of 400 KB each, in eight zones of 256 KiB
  for (int i = 0; i < kFiles; ++i)
    ASSERT_TRUE(IsOk(PutFile(*volume_, fmt::format("{:06}.log", i), RandomBytes(400'000, i)))) << i;
  Remount();
  for (int i = 0; i < kFiles; ++i)
    EXPECT_EQ(*GetFile(*volume_, fmt::format("{:06}.log", i)), RandomBytes(400'000, i)) << i;
}

// A reader of a deleted log, such as a slow replica's, must not stop the writers.
TEST_F(LogDevice, DeletedLogsThatAreStillOpenMoveToTheMainDevice) {
  std::vector<std::unique_ptr<FileHandle>> open;
  for (int i = 0; i < 12; ++i) {  // of 400 KB each, in eight zones of 256 KiB
    const std::string name = fmt::format("{:06}.log", i);
    ASSERT_TRUE(IsOk(PutFile(*volume_, name, RandomBytes(400'000, i)))) << i;
    open.push_back(*volume_->OpenForRead(name));
    ASSERT_TRUE(IsOk(volume_->Unlink(name))) << i;
  }
  for (int i = 0; i < 12; ++i) EXPECT_EQ(*ContentOf(*open[i]), RandomBytes(400'000, i)) << i;
}

// The new bytes end where the copied ones did.
TEST_F(LogDevice, ADeletedLogThatIsCutAndContinuedWhileItMovesHasItsNewBytes) {
  auto deleted = *volume_->Create("deleted.log");
  const std::string old = RandomBytes(8000, 1);
  ASSERT_TRUE(IsOk(deleted->Append(AsBytes(old))));
  ASSERT_TRUE(IsOk(deleted->Sync()));
  ASSERT_TRUE(IsOk(volume_->Unlink("deleted.log")));
  // The rest of its zone is dead, so only this file is read from it.
  ASSERT_TRUE(IsOk(PutFile(*volume_, "filler.log", RandomBytes(300'000, 3))));
  logs_.Hold(FaultyDevice::Command::kRead, kFirstLogZone);  // before the collector tidies the zone
  ASSERT_TRUE(IsOk(volume_->Unlink("filler.log")));
  Thread writer("writer", [&] {
    for (int i = 0; i < 8; ++i)
      EXPECT_TRUE(IsOk(PutFile(*volume_, fmt::format("{}.log", i), RandomBytes(300'000, i))));
  });
  EXPECT_TRUE(logs_.WaitUntilHeld(1, Deadline::After(std::chrono::seconds(60))));
  std::atomic<bool> waits_or_is_done = false;
  const auto note = [&] {
    waits_or_is_done = true;
    waits_or_is_done.notify_all();
  };
  const SyncPoint::Scope scope([&](std::string_view name) {
    if (name == "Catalog::Begin:waits") note();
  });
  Thread owner("owner", [&] {
    EXPECT_TRUE(IsOk(deleted->Truncate(7900)));
    EXPECT_TRUE(IsOk(deleted->Append(AsBytes(RandomBytes(100, 2)))));
    note();
    EXPECT_TRUE(IsOk(deleted->Sync()));  // may need a zone that only the held collector can free
  });
  waits_or_is_done.wait(false);
  logs_.Release();
  owner.Join();
  writer.Join();
  EXPECT_EQ(*ContentOf(*deleted), old.substr(0, 7900) + RandomBytes(100, 2));
}

// A zone of an SMR disk takes seconds to clean.
TEST_F(LogDevice, ASyncWaitsForACollectorThatIsSlow) {
  std::atomic<int> slices = 0;
  const SyncPoint::Scope scope([&](std::string_view name) {
    if (name != "FrameWriter::NextZone") return;
    ++slices;
    slices.notify_all();
  });
  main_.Hold(FaultyDevice::Command::kRead);  // of a copy, to compare it
  Thread writer("writer", [&] {
    for (int i = 0; i < 12; ++i)
      EXPECT_TRUE(IsOk(PutFile(*volume_, fmt::format("{}.log", i), RandomBytes(300'000, i))));
  });
  for (int n = slices; n < 6; n = slices) slices.wait(n);
  main_.Release();
  writer.Join();
}

// Written through a handle whose file another one replaced before its first sync.
TEST_F(LogDevice, LogsThatNeverHadANameOnTheDeviceMoveToTheMainDeviceToo) {
  std::vector<std::unique_ptr<FileHandle>> open;
  for (int i = 0; i < 12; ++i) {
    open.push_back(*volume_->Create("replaced.log"));
    ASSERT_TRUE(IsOk(open.back()->Append(AsBytes(RandomBytes(400'000, i)))));
  }
  for (int i = 0; i < 12; ++i) EXPECT_EQ(*ContentOf(*open[i]), RandomBytes(400'000, i)) << i;
  EXPECT_TRUE(IsOk(PutFile(*volume_, "1.log", RandomBytes(400'000, 12))));
}

TEST_F(LogDevice, IsFullOnlyIfTheMainDeviceIs) {
  Status status;
  int files = 0;
  for (; status.ok() && files < 200; ++files) {
    // Synced early: the frames of a file that is not committed yet can't be moved.
    auto log = volume_->Create(fmt::format("{:06}.log", files));
    ASSERT_TRUE(IsOk(log));
    const std::string content = RandomBytes(400'000, files);
    status = (*log)->Append(AsBytes(content).first(1));
    if (status.ok()) status = (*log)->Sync();
    if (status.ok()) status = (*log)->Append(AsBytes(content).subspan(1));
    if (status.ok()) status = (*log)->Sync();
  }
  ASSERT_EQ(CodeOf(status), Code::kNoSpace);
  EXPECT_THAT(status.error().text(), HasSubstr("kept for the log (1 of its 8 zones empty"));
  EXPECT_GT(files, 60) << "of 400 KB each, on a main device of 28 MB and a log device of 2 MB";
  for (int i = 0; i < 20; ++i) ASSERT_TRUE(IsOk(volume_->Unlink(fmt::format("{:06}.log", i))));
  EXPECT_TRUE(Await([&] { return PutFile(*volume_, "again.log", RandomBytes(400'000, 1)).ok(); }));
  Remount();
  for (int i = 20; i < files - 1; ++i)
    ASSERT_EQ(*GetFile(*volume_, fmt::format("{:06}.log", i)), RandomBytes(400'000, i)) << i;
}

// Of a log zone that is larger than a zone of the main device, all live frames must move before it is free.
class LogDeviceWithLargeZones : public LogDevice {
 protected:
  LogDeviceWithLargeZones() : LogDevice({.zones = 7, .zone_size = 4 << 20, .max_open = 5, .max_active = 5}) {}
};

TEST_F(LogDeviceWithLargeZones, GarbageOfDataIsReclaimedBeforeTheLogIsFull) {
  const auto data = [](int i) { return fmt::format("{:06}.sst", i); };
  for (int i = 0; i < 60; ++i) ASSERT_TRUE(IsOk(PutFile(*volume_, data(i), RandomBytes(350'000, i))));
  for (int i = 0; i < 60; ++i) {
    if (i % 3 == 0) continue;  // no zone is dead as a whole
    ASSERT_TRUE(IsOk(volume_->Unlink(data(i))));
  }
  // 20 MB of logs for the 16 MB that the log may use; the rest must go where the dead tables were.
  for (int i = 0; i < 50; ++i)
    ASSERT_TRUE(IsOk(PutFile(*volume_, fmt::format("{:06}.log", i), RandomBytes(400'000, i)))) << i;
  Remount();
  for (int i = 0; i < 50; ++i)
    ASSERT_EQ(*GetFile(*volume_, fmt::format("{:06}.log", i)), RandomBytes(400'000, i)) << i;
  for (int i = 0; i < 60; i += 3) ASSERT_EQ(*GetFile(*volume_, data(i)), RandomBytes(350'000, i)) << i;
}

TEST_F(LogDevice, EitherDeviceAloneIsRefusedAndNamesTheOther) {
  ASSERT_TRUE(IsOk(volume_->Unmount()));
  volume_.reset();
  const auto main = Volume::Mount(Borrow(main_), {});
  ASSERT_EQ(CodeOf(main), Code::kInvalidArgument);
  EXPECT_THAT(main.error().text(), HasSubstr("emu:/logs.img"));
  const auto logs = Volume::Mount(Borrow(logs_), {});
  ASSERT_EQ(CodeOf(logs), Code::kInvalidArgument);
  EXPECT_THAT(logs.error().text(), HasSubstr("emu:/main.img"));
}

TEST_F(LogDevice, MkfsRefusesEitherDeviceAgain) {
  ASSERT_TRUE(IsOk(volume_->Unmount()));
  volume_.reset();
  FaultyDevice other{CreateMemoryDevice(SmallGeometry())};
  FaultyDevice other_logs{CreateMemoryDevice(kLogs)};
  const auto format = [](ZonedDevice& main, ZonedDevice& logs) {
    return FormatTwoDevices({.main = main, .logs = logs, .main_name = "a", .logs_name = "b"}, {});
  };
  EXPECT_EQ(CodeOf(format(main_, other_logs)), Code::kExists);
  EXPECT_EQ(CodeOf(format(other, logs_)), Code::kExists);
  EXPECT_EQ(Written(other), 0U);
  EXPECT_EQ(Written(other_logs), 0U);
  Mount();
}

class LogDeviceWithAreas : public LogDevice {
 protected:
  LogDeviceWithAreas() : LogDevice(Geometry()) {}
  static EmulatorGeometry Geometry() {
    EmulatorGeometry geometry = kLogs;
    geometry.random_area = 64 << 10;
    geometry.random_unit = 16 << 10;
    geometry.random_zones = 2;
    return geometry;
  }
};

TEST_F(LogDeviceWithAreas, SmallSyncsRewriteBlocksOfTheLogDevice) {
  auto file = volume_->Create("1.log");
  ASSERT_TRUE(IsOk(file));
  const std::uint64_t before = Written(logs_);
  std::string content;
  for (int i = 0; i < 100; ++i) {
    const std::string record = RandomBytes(100, i);
    content += record;
    ASSERT_TRUE(IsOk((*file)->Append(AsBytes(record))));
    ASSERT_TRUE(IsOk((*file)->Sync()));
  }
  EXPECT_LT(Written(logs_) - before, 50'000U) << "10 KB in 100 syncs";
  ASSERT_TRUE(IsOk((*file)->Close()));
  Remount();
  EXPECT_EQ(*GetFile(*volume_, "1.log"), content);
}

}  // namespace
}  // namespace zenfs::volume_log_device_test
