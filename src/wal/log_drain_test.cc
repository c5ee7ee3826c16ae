#include "wal/log_drain.h"

#include <gtest/gtest.h>

#include <atomic>

#include "base/sync_point.h"
#include "wal/framed_file.h"
#include "wal/wal_test_rig.h"

namespace zenfs {
namespace {

// True once all bytes of the file are on the device.
bool WaitUntilWritten(const FramedFile& file) {
  const Deadline deadline = Deadline::After(std::chrono::seconds(10));
  while (file.Pieces().empty() || file.Pieces().back().end() < file.size()) {
    if (deadline.Passed()) return false;
    SleepUntil(SteadyNow() + std::chrono::milliseconds(5));
  }
  return true;
}

class LogDrainTest : public testing::Test {
 protected:
  LogDrainTest() : rig_(TestGeometry(16, 16)) { rig_.Mount(); }
  ~LogDrainTest() override { drain_.Stop(); }

  std::shared_ptr<FramedFile> NewFile() {
    FramedFile::Deps deps = rig_.FileDeps();
    deps.drain = &drain_;
    auto file = std::make_shared<FramedFile>(deps, rig_.NewFile()->id());
    logs_.Add(file);
    return file;
  }

  WalRig rig_;
  LogStore logs_;
  LogDrain drain_{logs_};
};

TEST_F(LogDrainTest, OldBytesAreWrittenWhileAnotherFileKeepsTheDrainBusy) {
  const auto busy = NewFile();
  const auto idle = NewFile();
  // The busy file asks again each time before the drain has finished its last buffer.
  const SyncPoint::Scope scope([&](std::string_view name) {
    if (name == "FramedFile::WriteBackAll") drain_.FlushEarly(busy->id());
  });
  ASSERT_TRUE(idle->Append(AsBytes("a line")).ok());
  drain_.FlushEarly(busy->id());
  ASSERT_TRUE(drain_.Start().ok());
  EXPECT_TRUE(WaitUntilWritten(*idle));
  drain_.Stop();
}

// A synced record stays buffered and needs no drain. The next one, unsynced, does.
TEST(LogDrainSyncBlockTest, BytesBehindASyncBlockAreWrittenWhenTheyAreOld) {
  EmulatorGeometry geometry = TestGeometry(16, 16);
  geometry.random_area = geometry.random_unit = 4 * kTestBlock;
  geometry.random_zones = 1;
  WalRig rig(geometry, 2);
  rig.sync_blocks = true;
  rig.Mount();
  ASSERT_TRUE(rig.WaitUntilAllocated(2));
  LogStore logs;
  LogDrain drain(logs);
  FramedFile::Deps deps = rig.FileDeps();
  deps.drain = &drain;
  const auto file = std::make_shared<FramedFile>(deps, rig.NewFile()->id());
  logs.Add(file);
  std::atomic<bool> idle = false;
  const SyncPoint::Scope scope([&](std::string_view name) {
    if (name != "LogDrain::Work:idle") return;
    idle = true;
    idle.notify_all();
  });
  ASSERT_TRUE(Append(*file, "synced").ok());
  ASSERT_TRUE(file->Sync().ok());
  ASSERT_TRUE(file->Pieces().empty()) << "it is in a sync block";
  ASSERT_TRUE(drain.Start().ok());
  idle.wait(false);
  ASSERT_TRUE(file->Pieces().empty()) << "the drain does not write what is stable";
  ASSERT_TRUE(Append(*file, ", not synced").ok());
  EXPECT_TRUE(WaitUntilWritten(*file));
  drain.Stop();
}

}  // namespace
}  // namespace zenfs
