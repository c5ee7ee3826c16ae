// A device that does not answer any more: every call returns an error and none waits for the device, including the unmount.
// A device that is full: writes fail, and succeed again when files are deleted.
#include <gmock/gmock.h>

#include <fmt/format.h>

#include "base/thread.h"
#include "volume/mount/mount_table.h"
#include "volume/volume_fault_test_rig.h"

namespace zenfs {
namespace {

class DeviceGoneTest : public VolumeFaultTest {
 protected:
  static std::string Content(char c) { return std::string(5 * 4096 + 100, c); }
  // Ends the process, and so fails the test, if `body` takes longer than all its deadlines.
  static void InTime(const char* what, const std::function<void()>& body) {
    const SteadyTime begin = SteadyNow();
    body();
    EXPECT_LT(SteadyNow() - begin, std::chrono::seconds(20)) << what;
  }
};

TEST_F(DeviceGoneTest, EveryCallEndsWithAnError) {
  Put("a.sst", Content('a'));
  Put("1.log", "log");
  const auto plain = Create("b.sst");
  ASSERT_TRUE(IsOk(plain->Append(AsBytes(Content('b')))));
  const auto log = Create("2.log");
  ASSERT_TRUE(IsOk(log->Append(AsBytes("unsynced"))));
  faulty_->Unplug();
  InTime("reads", [&] {
    EXPECT_FALSE(ReadFile("a.sst").ok());
    EXPECT_FALSE(ReadFile("1.log").ok());
  });
  InTime("syncs", [&] {
    EXPECT_FALSE(plain->Sync().ok());
    EXPECT_FALSE(log->Sync().ok());
    EXPECT_FALSE(log->Flush().ok());
  });
  InTime("names", [&] {
    EXPECT_FALSE(volume_->MakeDirectory("d", false).ok());
    EXPECT_FALSE(volume_->Rename("a.sst", "c.sst").ok());
    EXPECT_FALSE(volume_->Unlink("a.sst").ok());
    EXPECT_FALSE(volume_->SyncDirectory("").ok());
    EXPECT_FALSE(WriteFile("d.sst", Content('d')).ok());
    EXPECT_FALSE(WriteFile("3.log", "log").ok());
  });
  InTime("closes", [&] {
    EXPECT_FALSE(plain->Close().ok());
    EXPECT_FALSE(log->Close().ok());
  });
  EXPECT_TRUE(IsOk(volume_->Stat("a.sst"))) << "names are in memory";
  InTime("the process's end", [&] { IgnoreError(volume_->PrepareForExit()); });
  InTime("unmount", [&] { EXPECT_FALSE(volume_->Unmount().ok()); });
  InTime("destructor", [&] { volume_.reset(); });
  Mount();  // the device is back
  EXPECT_EQ(Get("a.sst"), Content('a'));
  EXPECT_EQ(Get("1.log"), "log");
}

TEST_F(DeviceGoneTest, DestructorReturnsWithHandlesOpenAndBytesBuffered) {
  auto plain = Create("b.sst");
  ASSERT_TRUE(IsOk(plain->Append(AsBytes(Content('b')))));
  auto log = Create("2.log");
  ASSERT_TRUE(IsOk(log->Append(AsBytes("unsynced"))));
  faulty_->Unplug();
  InTime("destructor", [&] { volume_.reset(); });
  InTime("handles", [&] {
    plain.reset();
    log.reset();
  });
  Mount();
}

TEST_F(DeviceGoneTest, ThreadsThatWaitForCommandsAreReleasedWithErrors) {
  Put("warm-up.log", "x");
  faulty_->Hold(Command::kFlush);
  std::vector<Status> ends(4);
  std::vector<Thread> threads;
  for (std::size_t i = 0; i < ends.size(); ++i) {
    threads.emplace_back("writer", [this, &ends, i] {
      ends[i] =
          i % 2 == 0 ? WriteFile(fmt::format("{}.log", i), "x") : WriteFile(fmt::format("{}.sst", i), "x");
    });
  }
  ASSERT_TRUE(faulty_->WaitUntilHeld(1, Deadline::After(std::chrono::seconds(30))));
  faulty_->Unplug();
  faulty_->Release();
  InTime("threads", [&] { threads.clear(); });
  for (const Status& end : ends) EXPECT_FALSE(end.ok());
}

TEST_F(DeviceGoneTest, MountFailsAtOnce) {
  IgnoreError(volume_->Unmount());
  volume_.reset();
  auto device = std::make_unique<FaultyDevice>(Borrow(*device_));
  device->Unplug();
  InTime("mount", [&] { EXPECT_FALSE(Volume::Mount(std::move(device), {})); });
  faulty_ = nullptr;
  Mount();
}

TEST_F(DeviceGoneTest, FailedUnmountWithOpenHandlesGivesTheDeviceBack) {
  volume_.reset();
  const auto open = [&]() -> Result<std::unique_ptr<ZonedDevice>> {
    auto device = std::make_unique<FaultyDevice>(Borrow(*device_));
    faulty_ = device.get();
    return device;
  };
  auto shared = MountShared("volume_gone_test", {}, open);
  ASSERT_TRUE(IsOk(shared));
  auto created = (*shared)->Create("b.sst");
  ASSERT_TRUE(IsOk(created));
  ASSERT_TRUE(IsOk((*created)->Append(AsBytes(Content('b')))));
  faulty_->Unplug();
  EXPECT_FALSE((*shared)->Unmount().ok());
  (*shared).reset();
  shared = MountShared("volume_gone_test", {}, open);
  ASSERT_TRUE(IsOk(shared)) << "the open handle belongs to the previous mount";
  EXPECT_FALSE((*created)->Append(AsBytes("more")).ok());
  EXPECT_TRUE(IsOk((*shared)->MakeDirectory("d", false)));
  created->reset();
  EXPECT_TRUE(IsOk((*shared)->Unmount()));
  faulty_ = nullptr;
}

class DeviceFullTest : public VolumeFaultTest {
 protected:
  DeviceFullTest() {
    IgnoreError(volume_->Unmount());
    MountFaulty({}, {.space_wait = std::chrono::seconds(2)});
  }
};

TEST_F(DeviceFullTest, OneErrorForDataWhileLogsAndNamesGoOnAndDeletingHelps) {
  const std::string piece(512 << 10, 'f');
  Status written;
  int files = 0;
  for (; written.ok() && files < 200; ++files) written = WriteFile(fmt::format("{}.sst", files), piece);
  ASSERT_FALSE(written.ok());
  EXPECT_EQ(written.error().code(), Code::kNoSpace);
  EXPECT_THAT(written.error().text(), testing::HasSubstr("delete files to make room"));
  EXPECT_TRUE(IsOk(WriteFile("1.log", "a log")));
  EXPECT_TRUE(IsOk(volume_->MakeDirectory("d", false)));
  EXPECT_EQ(Get("0.sst"), piece);
  for (int i = 0; i < files / 2; ++i) EXPECT_TRUE(IsOk(volume_->Unlink(fmt::format("{}.sst", i))));
  EXPECT_TRUE(IsOk(WriteFile("again.sst", piece)));
  EXPECT_EQ(Get("again.sst"), piece);
}

TEST_F(DeviceFullTest, LogThatFindsNoZoneFailsAndTheNextSucceedsAfterADelete) {
  const std::string piece(256 << 10, 'l');
  Status written;
  int files = 0;
  for (; written.ok() && files < 400; ++files) written = WriteFile(fmt::format("{}.log", files), piece);
  ASSERT_FALSE(written.ok());
  EXPECT_EQ(written.error().code(), Code::kNoSpace);
  for (int i = 0; i < files / 2; ++i) EXPECT_TRUE(IsOk(volume_->Unlink(fmt::format("{}.log", i))));
  EXPECT_TRUE(IsOk(WriteFile("again.log", piece)));
  EXPECT_EQ(Get("again.log"), piece);
}

}  // namespace
}  // namespace zenfs
