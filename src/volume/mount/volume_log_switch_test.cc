// Switches of the metadata log during other work of the volume.
#include <atomic>

#include "base/thread.h"
#include "volume/volume_test_util.h"

namespace zenfs {
namespace {

class VolumeLogSwitch : public VolumeTest {
 protected:
  static EmulatorGeometry Shape() {
    return {
        .zones = 80, .zone_size = 128 << 10, .zone_capacity = 128 << 10, .max_open = 14, .max_active = 14};
  }
  VolumeLogSwitch() : VolumeTest(Shape()) {}

  // Appends and syncs until `over`. Returns the appended bytes.
  static std::string AppendUntil(const std::atomic<bool>& over, FileHandle& file) {
    std::string all;
    for (int i = 0; !over && all.size() < 500'000; ++i) {
      const std::string piece = std::to_string(i) + std::string(300, 'x');
      EXPECT_TRUE(IsOk(file.Append(AsBytes(piece))));
      EXPECT_TRUE(IsOk(file.Sync()));
      all += piece;
    }
    return all;
  }
};

// D1: a log and a table grow during twenty log switches. For commits in the middle of a switch, see
// MetalogSwitch.CommitsMadeWhileTheSnapshotIsWrittenAreKept.
TEST_F(VolumeLogSwitch, WhatIsSyncedWhileTheMetadataLogSwitchesIsThereAfterACleanUnmount) {
  auto log = volume_->Create("1.log");
  auto table = volume_->Create("2.sst");
  ASSERT_TRUE(IsOk(log));
  ASSERT_TRUE(IsOk(table));
  std::string in_log;
  std::string in_table;
  {
    std::atomic<bool> over = false;
    Thread log_writer("log", [&] { in_log = AppendUntil(over, **log); });
    Thread table_writer("table", [&] { in_table = AppendUntil(over, **table); });
    const std::uint64_t first = volume_->counters().metalog.generation;
    for (int i = 0; i < 3000 && volume_->counters().metalog.generation < first + 20; ++i) Put("CURRENT", "x");
    EXPECT_GE(volume_->counters().metalog.generation, first + 20);
    over = true;
  }
  table->reset();
  log->reset();
  Remount();
  EXPECT_EQ(Get("1.log"), in_log);
  EXPECT_EQ(Get("2.sst"), in_table);
}

}  // namespace
}  // namespace zenfs
