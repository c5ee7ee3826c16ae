#include "backup/one_file.h"

#include "backup/backup_test_rig.h"

namespace zenfs {
namespace {

class OneFileTest : public BackupTest {
 protected:
  std::string Local() const { return directory_.path() + "/local"; }

  void PutText(const std::string& path, const std::string& text) {
    auto file = volume_->Create(path);
    ASSERT_TRUE(IsOk(file) && IsOk((*file)->Append(AsBytes(text))) && IsOk((*file)->Close()));
  }

  RecordingObserver observer_;
  Transfer transfer_{observer_, nullptr};
};

TEST_F(OneFileTest, AFileThatIsReplacedBeforeItIsReadIsCopiedInItsNewState) {
  PutText("a.sst", "old content");
  bool replaced = false;
  SwitchedPoints::During during(points_, [&](std::string_view name) {
    if (name != "ReadVolumeFile:laid-out" || std::exchange(replaced, true)) return;
    PutText("b.sst", "new");
    ASSERT_TRUE(IsOk(volume_->Rename("b.sst", "a.sst")));
  });
  ASSERT_TRUE(IsOk(GetFile(*volume_, transfer_, {.path = "a.sst", .local = Local()})));
  EXPECT_TRUE(replaced);
  EXPECT_EQ(HostText(Local()), "new");
}

TEST_F(OneFileTest, WhatWasPassedOnAndChangedMeanwhileIsAnError) {
  PutText("a.sst", "table, ");
  std::string passed;
  const auto grow = [&](ByteView chunk) -> Status {
    if (passed.empty()) {
      auto file = volume_->OpenForAppend("a.sst", false);
      EXPECT_TRUE(IsOk(file) && IsOk((*file)->Append(AsBytes("more"))) && IsOk((*file)->Close()));
    }
    passed += AsText(chunk);
    return {};
  };
  SwitchedPoints::During during(points_, [&](std::string_view name) {
    // Between the look at the layout and the open file, so that bytes are read that the layout lacks.
    if (name == "ReadVolumeFile:laid-out" && passed.empty()) {
      auto file = volume_->OpenForAppend("a.sst", false);
      EXPECT_TRUE(IsOk(file) && IsOk((*file)->Append(AsBytes("some "))) && IsOk((*file)->Close()));
    }
  });
  const auto read = StreamVolumeFile(*volume_, transfer_, "a.sst", grow);
  ASSERT_FALSE(read.has_value());
  EXPECT_EQ(read.error().code(), Code::kBusy);
  EXPECT_EQ(passed, "table, some ");
}

TEST_F(OneFileTest, AGetThatIsReplacedTooOftenEnds) {
  PutText("a.sst", "0");
  int replaced = 0;
  SwitchedPoints::During during(points_, [&](std::string_view name) {
    if (name != "ReadVolumeFile:laid-out") return;
    ++replaced;
    PutText("b.sst", std::to_string(replaced));
    ASSERT_TRUE(IsOk(volume_->Rename("b.sst", "a.sst")));
  });
  const Status copied = GetFile(*volume_, transfer_, {.path = "a.sst", .local = Local()});
  ASSERT_FALSE(copied.ok());
  EXPECT_EQ(copied.error().code(), Code::kBusy);
  EXPECT_LE(replaced, kReplacedAtMost * kReplacedAtMost);
  EXPECT_FALSE(std::filesystem::exists(Local()));
}

// What is read back differs from what was written: the name is not given, and the old file stays.
TEST_F(OneFileTest, APutThatCanNotBeReadBackReplacesNothing) {
  PutText("a.sst", "old");
  PutHost(Local(), "new content");
  SwitchedPoints::During during(points_, [&](std::string_view name) {
    if (name != "PutFile:written") return;
    auto file = volume_->OpenForAppend(".zenfs_restore/put", false);
    ASSERT_TRUE(IsOk(file) && IsOk((*file)->Append(AsBytes("!"))) && IsOk((*file)->Close()));
  });
  const auto from = OpenLocal(Local());
  ASSERT_TRUE(IsOk(from));
  const Status put = PutFile(*volume_, transfer_, *from, {.local = Local(), .path = "a.sst", .force = true});
  ASSERT_FALSE(put.ok());
  EXPECT_EQ(put.error().code(), Code::kCorruption);
  EXPECT_EQ(zenfs::GetFile(*volume_, "a.sst").value(), "old");
  EXPECT_FALSE(volume_->Stat(".zenfs_restore").has_value());
}

}  // namespace
}  // namespace zenfs
