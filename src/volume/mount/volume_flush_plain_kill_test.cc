// The process dies, or the power is lost, after each device command of a mount that replays flushed bytes of plain files, and
// of an unmount.
#include "volume/mount/volume_flush_test_rig.h"

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
