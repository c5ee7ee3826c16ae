#include "wal/log_drain.h"

#include <gtest/gtest.h>

#include "base/sync_point.h"
#include "wal/log_store.h"
#include "wal/wal_test_rig.h"

namespace zenfs {
namespace {

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
  // True once all bytes of the file are on the device.
  static bool WaitUntilWritten(const FramedFile& file) {
    const Deadline deadline = Deadline::After(std::chrono::seconds(10));
    while (file.Pieces().empty() || file.Pieces().back().end() < file.size()) {
      if (deadline.Passed()) return false;
      SleepUntil(SteadyNow() + std::chrono::milliseconds(5));
    }
    return true;
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

}  // namespace
}  // namespace zenfs
