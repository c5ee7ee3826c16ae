// The process dies, or the power is lost, after each device command of a mount that replays flushed bytes, and of an unmount.
#include <fmt/format.h>
#include <atomic>

#include "base/sync_point.h"
#include "testing/faulty_device.h"
#include "volume/fsck/check_volume.h"
#include "volume/mount/volume_flush_test_rig.h"

namespace zenfs {
namespace {

class VolumeFlushKillTest : public VolumeFlushTest {
 protected:
  void DieAtEachCommandOf(Status (Volume::*end)());
};

// The process dies again during the replay, after each device command of that mount. The third mount finds all bytes.
TEST_F(VolumeFlushKillTest, AKillAtAnyCommandOfTheMountThatRecoversLosesNothing) {
  Open("1.log");
  ASSERT_TRUE(IsOk(AppendAndFlush("synced ")));
  ASSERT_TRUE(IsOk(file_->Sync()));
  ASSERT_TRUE(IsOk(AppendAndFlush(std::string(10000, 'x'))));
  Open("2.log");
  ASSERT_TRUE(IsOk(AppendAndFlush("second")));
  Die();
  for (std::uint64_t cut = 0;; ++cut) {
    ASSERT_LT(cut, 100u);
    device_->StopAfter(cut);
    const bool mounted = Mount().operator bool();
    const bool stopped = device_->stopped();
    Die();
    ASSERT_TRUE(Mount()) << "cut " << cut;
    ASSERT_EQ(Get("1.log"), "synced " + std::string(10000, 'x')) << "cut " << cut;
    ASSERT_EQ(Get("2.log"), "second") << "cut " << cut;
    ASSERT_TRUE(volume_->notices().empty()) << "cut " << cut << ": " << volume_->notices().front();
    if (mounted && !stopped) break;
    // Leaves flushed bytes for the next round.
    Open("2.log");
    ASSERT_TRUE(IsOk(file_->Truncate(0)));
    ASSERT_TRUE(IsOk(AppendAndFlush("second")));
    Die();
  }
}

// Its last frames are gone with the zone, so it looks as sealed as after the mount before. Simulator, seed 1694.
TEST_F(VolumeFlushKillTest, ADeadLogZoneNamesEachLogThatMayHaveHadItsLastFramesThere) {
  Open("1.log");
  ASSERT_TRUE(IsOk(AppendAndFlush("sealed by the unmount")));
  file_.reset();
  ASSERT_TRUE(IsOk(volume_->Unmount()));
  ASSERT_TRUE(Mount());
  Open("1.log");
  const ZoneId sealed = device_->geometry().ZoneOf(volume_->Layout("1.log")->frames.back().place);
  ASSERT_TRUE(IsOk(device_->SetCondition(sealed, ZoneCondition::kFull)));
  ASSERT_TRUE(IsOk(AppendAndFlush("synced since")));
  ASSERT_TRUE(IsOk(file_->Sync()));
  const ZoneId open = device_->geometry().ZoneOf(volume_->Layout("1.log")->frames.back().place);
  ASSERT_NE(open, sealed);
  Die();
  ASSERT_TRUE(IsOk(device_->SetCondition(open, ZoneCondition::kOffline)));
  const auto report = CheckVolume(*device_, {});
  ASSERT_TRUE(IsOk(report));
  const Finding* const error = FirstError(report->findings);
  ASSERT_NE(error, nullptr);
  EXPECT_NE(error->text.find("may end early: "), std::string::npos) << error->text;
  EXPECT_NE(error->text.find("/1.log"), std::string::npos) << error->text;
}

// The process dies after each device command of the end of its mount.
void VolumeFlushKillTest::DieAtEachCommandOf(Status (Volume::*end)()) {
  std::string expected[3];
  for (std::uint64_t cut = 0;; ++cut) {
    ASSERT_LT(cut, 100u);
    std::vector<std::unique_ptr<FileHandle>> open;
    for (int i = 0; i < 3; ++i) {
      Open(std::to_string(i) + ".log");
      const std::string text(i == 2 ? 200'000 : 10 + cut, static_cast<char>('a' + cut % 26));
      ASSERT_TRUE(IsOk(AppendAndFlush(text)));
      expected[i] += text;
      open.push_back(std::move(file_));
    }
    open.erase(open.begin());  // closed and so written; the others stay open
    device_->StopAfter(Commands() + cut);
    const bool whole = (volume_.get()->*end)().ok() && !device_->stopped();
    EXPECT_TRUE(!whole || Buffers().empty());
    open.clear();
    Die();
    ASSERT_TRUE(Mount()) << "cut " << cut;
    for (int i = 0; i < 3; ++i) {
      ASSERT_TRUE(Get(std::to_string(i) + ".log") == expected[i]) << i << ".log, cut " << cut;
    }
    EXPECT_TRUE(volume_->notices().empty()) << "cut " << cut;
    if (whole) break;
  }
}

TEST_F(VolumeFlushKillTest, AKillAtAnyCommandOfAnUnmountLosesNothing) {
  DieAtEachCommandOf(&Volume::Unmount);
}

TEST_F(VolumeFlushKillTest, AKillAtAnyCommandOfWhatIsDoneAtExitLosesNothing) {
  DieAtEachCommandOf(&Volume::PrepareForExit);
}

TEST_F(VolumeFlushKillTest, AKillWithTheLargestBuffersLosesNothing) {
  ASSERT_TRUE(IsOk(volume_->Unmount()));
  wal_buffer_bytes_ = ParseMountOptions({{"wal_buffer_kib", "8192"}})->wal_buffer_bytes;
  ASSERT_TRUE(Mount());
  Open("1.log");
  const std::string flushed(100'000, 'f');
  ASSERT_TRUE(IsOk(file_->Append(AsBytes(flushed))));
  ASSERT_TRUE(IsOk(file_->Flush()));
  device_->StopAfter(0);
  Die();
  ASSERT_TRUE(Mount());
  EXPECT_TRUE(Get("1.log") == flushed);
}

// The state after many mounts that were killed before their background thread released a zone.
TEST_F(VolumeFlushKillTest, DeadLogZonesMakeRoomForWhatIsRecovered) {
  std::vector<std::unique_ptr<FileHandle>> files;
  for (int i = 0; i < 15; ++i) {
    Open(std::to_string(i) + ".log");
    ASSERT_TRUE(IsOk(AppendAndFlush("synced, ")));
    ASSERT_TRUE(IsOk(file_->Sync()));
    files.push_back(std::move(file_));
  }
  Open("filler.log");
  const std::string block(64 << 10, 'f');
  while (file_->Append(AsBytes(block)).ok() && file_->Sync().ok()) {
  }
  file_.reset();
  const std::string flushed(120'000, 'f');
  for (const auto& file : files) {
    ASSERT_TRUE(IsOk(file->Append(AsBytes(flushed))));
    ASSERT_TRUE(IsOk(file->Flush()));
  }
  {
    std::atomic<bool> dead = false;
    const SyncPoint::Scope scope([&](std::string_view name) {
      if (name == "LogZoneSupply::Work") dead.wait(false);
    });
    EXPECT_TRUE(IsOk(volume_->Unlink("filler.log")));
    device_->StopAfter(0);
    dead = true;
    dead.notify_all();
    files.clear();
    End();
  }
  Die();
  ASSERT_TRUE(Mount());
  for (int i = 0; i < 15; ++i) EXPECT_TRUE(Get(std::to_string(i) + ".log") == "synced, " + flushed) << i;
  EXPECT_TRUE(volume_->notices().empty());
}

// The log's thread never runs. Each round leaves a few live bytes and many dead bytes in the log.
TEST_F(VolumeFlushKillTest, LivesTooShortForTheBackgroundThreadDoNotFillTheDevice) {
  std::string expected;
  const std::string passing(300'000, 'p');
  for (int round = 0; round < 150; ++round) {
    std::atomic<bool> dead = false;
    const SyncPoint::Scope scope([&](std::string_view name) {
      if (name == "LogZoneSupply::Work") dead.wait(false);
    });
    if (round != 0) {
      ASSERT_TRUE(Mount()) << "round " << round;
    }
    Open("stays.log");
    ASSERT_TRUE(IsOk(AppendAndFlush("a line\n"))) << "round " << round;
    ASSERT_TRUE(IsOk(file_->Sync())) << "round " << round;
    expected += "a line\n";
    Open("passes.log");
    ASSERT_TRUE(IsOk(AppendAndFlush(passing))) << "round " << round;
    ASSERT_TRUE(IsOk(volume_->Unlink("passes.log")));
    device_->StopAfter(0);
    dead = true;
    dead.notify_all();
    Die();
  }
  ASSERT_TRUE(Mount());
  EXPECT_EQ(Get("stays.log"), expected);
}

// A failed mount must not commit that there are no append buffers.
TEST_F(VolumeFlushKillTest, AMountThatFailsToRecoverLeavesTheBytesForTheNext) {
  Open("1.log");
  ASSERT_TRUE(IsOk(AppendAndFlush("synced, ")));
  ASSERT_TRUE(IsOk(file_->Sync()));
  ASSERT_TRUE(IsOk(AppendAndFlush("flushed")));
  Die();
  {
    auto faulty = std::make_unique<FaultyDevice>(Borrow(*device_));
    for (std::uint32_t zone = 3; zone < device_->geometry().zone_count; ++zone) {  // after the metadata zones
      faulty->Inject({.command = FaultyDevice::Command::kWrite, .times = 1000, .zone = ZoneId(zone)});
    }
    EXPECT_FALSE(Volume::Mount(std::move(faulty), Options()));
  }
  EXPECT_EQ(Buffers().size(), 1u) << "the failed mount left its own buffers, or removed the old ones";
  ASSERT_TRUE(Mount());
  EXPECT_EQ(Get("1.log"), "synced, flushed");
}

// The power and the tmpfs are lost after each device command of such a mount: synced bytes are there, and of flushed bytes a
// prefix.
TEST_F(VolumeFlushKillTest, APowerLossAtAnyCommandOfThatMountKeepsWhatWasSynced) {
  const std::string synced = "synced ";
  const std::string flushed(10000, 'x');
  for (std::uint64_t cut = 0;; ++cut) {
    ASSERT_LT(cut, 100u);
    Open("1.log");
    ASSERT_TRUE(IsOk(file_->Truncate(0)));
    ASSERT_TRUE(IsOk(AppendAndFlush(synced)));
    ASSERT_TRUE(IsOk(file_->Sync()));
    ASSERT_TRUE(IsOk(AppendAndFlush(flushed)));
    Die();
    device_->StopAfter(cut);
    const bool whole = Mount().operator bool() && !device_->stopped();
    LosePower(LossPolicy::Random(cut));
    ASSERT_TRUE(Mount()) << "cut " << cut;
    const std::string found = Get("1.log");
    ASSERT_TRUE(found.starts_with(synced)) << "cut " << cut;
    ASSERT_TRUE((synced + flushed).starts_with(found)) << "cut " << cut;
    if (whole) {
      ASSERT_EQ(found, synced + flushed);
      break;
    }
  }
}

}  // namespace
}  // namespace zenfs

// The process dies, or the power is lost, after each device command of a mount that replays flushed bytes of plain files, and
// of an unmount.

namespace zenfs {
namespace {

class VolumeFlushPlainKillTest : public VolumeFlushTest {
 protected:
  void DieAtEachCommandOf(Status (Volume::*end)());
};

// The process dies again during the replay, after each device command of that mount.
TEST_F(VolumeFlushPlainKillTest, AKillAtAnyCommandOfTheMountThatRecoversLosesNothing) {
  std::string expected[2];
  for (std::uint64_t cut = 0;; ++cut) {
    ASSERT_LT(cut, 100u);
    for (int i = 0; i < 2; ++i) {
      if (volume_->Stat(std::to_string(i) + ".blob")) {
        ASSERT_TRUE(IsOk(volume_->Unlink(std::to_string(i) + ".blob")));
      }
      Open(std::to_string(i) + ".blob");
      ASSERT_TRUE(IsOk(AppendAndFlush("committed, ")));
      const std::string text = Text(i == 0 ? 200'000 : 300, static_cast<unsigned>(cut));
      ASSERT_TRUE(IsOk(AppendAndFlush(text)));
      expected[i] = "committed, " + text;
    }
    Die();
    device_->StopAfter(cut);
    const bool whole = Mount().operator bool() && !device_->stopped();
    Die();
    ExpectSound();
    ASSERT_TRUE(Mount()) << "cut " << cut;
    for (int i = 0; i < 2; ++i)
      ASSERT_TRUE(Get(std::to_string(i) + ".blob") == expected[i]) << i << ", cut " << cut;
    ASSERT_TRUE(volume_->notices().empty()) << "cut " << cut << ": " << volume_->notices().front();
    if (whole) break;
  }
}

// The collector has work as soon as the mount starts it.
TEST_F(VolumeFlushPlainKillTest, AFileThatWasRecoveredIsMovedWithAllItsBytes) {
  const std::uint64_t capacity = FlushGeometry().zone_capacity;
  const std::string synced = Text(8192);
  space_wait_ = std::chrono::seconds(1);  // the volume that dies waits for room
  Die();
  ASSERT_TRUE(Mount());
  ASSERT_TRUE(IsOk(PutFile(*volume_, "1.blob", synced)));
  const ZoneId zone = device_->geometry().ZoneOf(volume_->Layout("1.blob")->extents.front().place);
  // The rest of its zone dies, and others are filled until the collector has work.
  ASSERT_TRUE(IsOk(PutFile(*volume_, "dead.blob", Text(capacity - synced.size()))));
  ASSERT_EQ(device_->ReportZone(zone)->condition, ZoneCondition::kFull);
  for (int i = 0; i < 17; ++i) {
    const std::uint64_t bytes = i < 16 ? capacity : capacity / 2;
    ASSERT_TRUE(IsOk(PutFile(*volume_, std::to_string(i) + ".sst", Text(bytes))));
  }
  Open("1.blob");
  ASSERT_TRUE(IsOk(volume_->Unlink("dead.blob")));
  ASSERT_TRUE(IsOk(AppendAndFlush("flushed")));
  Die();
  ASSERT_TRUE(Mount());
  EXPECT_TRUE(Await([&] { return device_->ReportZone(zone)->condition == ZoneCondition::kEmpty; }));
  EXPECT_EQ(Get("1.blob"), synced + "flushed");
  EXPECT_TRUE(IsOk(volume_->Unmount()));
  ExpectSound();
}

// The power and the tmpfs are lost after each device command of such a mount: synced bytes are there, and of flushed bytes a
// prefix.
TEST_F(VolumeFlushPlainKillTest, APowerLossAtAnyCommandOfThatMountKeepsWhatWasSynced) {
  const std::string synced = Text(6000);
  const std::string flushed = Text(200'000, 3);
  for (std::uint64_t cut = 0;; ++cut) {
    ASSERT_LT(cut, 100u);
    if (volume_->Stat("1.blob")) {
      ASSERT_TRUE(IsOk(volume_->Unlink("1.blob")));
    }
    Open("1.blob");
    ASSERT_TRUE(IsOk(file_->Append(AsBytes(synced))));
    ASSERT_TRUE(IsOk(file_->Sync()));
    ASSERT_TRUE(IsOk(AppendAndFlush(flushed)));
    Die();
    device_->StopAfter(cut);
    const bool whole = Mount().operator bool() && !device_->stopped();
    LosePower(LossPolicy::Random(cut));
    ASSERT_TRUE(Mount()) << "cut " << cut;
    const std::string found = Get("1.blob");
    ASSERT_TRUE(found.starts_with(synced) && (synced + flushed).starts_with(found))
        << "cut " << cut << ": " << found.size();
    if (whole) {
      ASSERT_TRUE(found == synced + flushed);
      break;
    }
  }
}

// The process dies after each device command of the end of its mount.
void VolumeFlushPlainKillTest::DieAtEachCommandOf(Status (Volume::*end)()) {
  std::string expected[3];
  for (std::uint64_t cut = 0;; ++cut) {
    ASSERT_LT(cut, 100u);
    std::vector<std::unique_ptr<FileHandle>> open;
    for (int i = 0; i < 3; ++i) {
      const std::string name = std::to_string(i) + ".blob";
      if (volume_->Stat(name)) {
        ASSERT_TRUE(IsOk(volume_->Unlink(name)));
      }
      Open(name);
      expected[i].clear();
      for (const std::string& text : {Text(10), Text(100 + cut), Text(i == 2 ? 200'000 : 10 + cut, 5)}) {
        ASSERT_TRUE(IsOk(AppendAndFlush(text)));
        expected[i] += text;
      }
      open.push_back(std::move(file_));
    }
    open.erase(open.begin());  // closed and so written; the others stay open
    device_->StopAfter(Commands() + cut);
    const bool whole = (volume_.get()->*end)().ok() && !device_->stopped();
    EXPECT_TRUE(!whole || Buffers().empty());
    open.clear();
    Die();
    ASSERT_TRUE(Mount()) << "cut " << cut;
    for (int i = 0; i < 3; ++i)
      ASSERT_TRUE(Get(std::to_string(i) + ".blob") == expected[i]) << i << ", cut " << cut;
    EXPECT_TRUE(volume_->notices().empty()) << "cut " << cut;
    if (whole) break;
  }
}

TEST_F(VolumeFlushPlainKillTest, AfterAKillBehindTheCommitOfATruncationAMountFindsTheShorterFile) {
  for (const auto& [synced, size] : kFlushedTables) {
    const std::string text = Text(size);
    DieInATruncation("1.sst", text, synced, 5);
    ASSERT_TRUE(Mount()) << size;
    EXPECT_TRUE(volume_->notices().empty()) << volume_->notices().front();
    EXPECT_TRUE(Get("1.sst") == text.substr(0, 5));
    ASSERT_TRUE(IsOk(volume_->Unlink("1.sst")));
  }
}

TEST_F(VolumeFlushPlainKillTest, AfterAKillBehindTheCommitOfATruncationACheckMissesNothing) {
  for (const auto& [synced, size] : kFlushedTables) {
    DieInATruncation("1.sst", Text(size), synced, 5);
    const Result<CheckReport> report = CheckVolume(*device_, {.read_data = true, .progress = {}});
    ASSERT_TRUE(IsOk(report));
    EXPECT_TRUE(report->clean());
    for (const Finding& finding : report->findings)
      EXPECT_EQ(finding.text.find("flushed"), std::string::npos) << finding.text;
    ASSERT_TRUE(Mount());
    ASSERT_TRUE(IsOk(volume_->Unlink("1.sst")));
  }
}

TEST_F(VolumeFlushPlainKillTest, AKillAtAnyCommandOfAnUnmountLosesNothing) {
  DieAtEachCommandOf(&Volume::Unmount);
}

TEST_F(VolumeFlushPlainKillTest, AKillAtAnyCommandOfWhatIsDoneAtExitLosesNothing) {
  DieAtEachCommandOf(&Volume::PrepareForExit);
}

}  // namespace
}  // namespace zenfs

// Flushed and unsynced bytes that the device loses and the host still has.

namespace zenfs {
namespace {

// A drive is unplugged for a moment. Its cache is lost, and with it the middle of the flushed bytes; the host still has the
// buffers with the last ones.
TEST_F(VolumeFlushTest, ADeviceThatLostItsCacheMountsWithWhatWasSyncedAndANotice) {
  // The background threads may have written all bytes, or may have committed an allocation, which makes the written bytes
  // durable. Then nothing is lost, and there is no notice.
  const std::string many(400'000, 'f');  // more than one buffer
  const std::string whole = "synced, " + many + "the end";
  bool told = false;
  for (int i = 0; i < 50 && !told; ++i) {
    const std::string name = fmt::format("{}.log", i);
    Open(name);
    ASSERT_TRUE(IsOk(file_->Append(AsBytes("synced, "))));
    ASSERT_TRUE(IsOk(file_->Sync()));
    ASSERT_TRUE(IsOk(AppendAndFlush(many)));
    ASSERT_TRUE(IsOk(AppendAndFlush("the end")));
    End();
    Use(device_->Image(LossPolicy::LoseAll()));
    ASSERT_TRUE(Mount());
    const std::string found = Get(name);
    EXPECT_TRUE(found.starts_with("synced, ") && whole.starts_with(found)) << found.size() << " bytes";
    for (const std::string& notice : volume_->notices()) {
      told = true;
      EXPECT_LT(found.size(), whole.size()) << notice;
      EXPECT_NE(notice.find(name), std::string::npos) << notice;
      EXPECT_NE(notice.find("the device has lost bytes"), std::string::npos) << notice;
    }
  }
  EXPECT_TRUE(told);
  EXPECT_TRUE(IsOk(volume_->Unmount()));
  EXPECT_TRUE(Buffers().empty());
}

// The extents of a table were flushed and not committed. The host's memory has their places, but the device has lost them.
TEST_F(VolumeFlushTest, ADeviceThatLostFlushedExtentsMountsWithWhatWasSyncedAndANotice) {
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    Open("1.sst");
    ASSERT_TRUE(IsOk(file_->Append(AsBytes(Text(6000)))));
    ASSERT_TRUE(IsOk(file_->Sync()));
    ASSERT_TRUE(IsOk(AppendAndFlush(Text(1'200'000, 1))));
    ASSERT_TRUE(IsOk(AppendAndFlush("the end")));
    End();
    Use(device_->Image(seed == 0 ? LossPolicy::LoseAll() : LossPolicy::Random(seed)));
    ASSERT_TRUE(Mount()) << "seed " << seed;
    const std::string whole = Text(6000) + Text(1'200'000, 1) + "the end";
    const std::string found = Get("1.sst");
    ASSERT_TRUE(found.size() >= 6000 && whole.starts_with(found)) << "seed " << seed << ": " << found.size();
    EXPECT_EQ(volume_->notices().empty(), found.size() == whole.size()) << "seed " << seed;
    ExpectSound();
    ASSERT_TRUE(IsOk(volume_->Unlink("1.sst")));
  }
}

}  // namespace
}  // namespace zenfs
