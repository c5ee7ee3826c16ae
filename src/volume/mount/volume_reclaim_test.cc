// Reclaim: space of dead data is reused whatever live data is beside it, and moves of live data have no visible effect.
#include <fmt/format.h>

#include "base/random.h"
#include "testing/bit_rot.h"
#include "testing/empty_zone.h"
#include "testing/faulty_device.h"
#include "volume/mount/volume_reclaim_test_rig.h"

namespace zenfs {
namespace {

// S3: fills the device, then overwrites with other lifetimes while more than half of the data is live.
// As with CURRENT and OPTIONS: they stay for long in the zone of tables that die.
TEST_F(Reclaim, ASmallFileKeepsNoZoneOfDeadData) {
  ASSERT_TRUE(Write("CURRENT", 36, Lifetime::kNotSet));
  const ZoneId zone = FirstZoneOf("CURRENT");
  for (int i = 0; FirstZoneOf("CURRENT") == zone && i < 8; ++i) {
    ASSERT_TRUE(Write(fmt::format("{}.sst", i), 400'000, Lifetime::kNotSet));
  }
  for (int i = 0; i < 8; ++i) Delete(fmt::format("{}.sst", i));
  EXPECT_TRUE(Await([&] { return FirstZoneOf("CURRENT") != zone; }));
  EXPECT_TRUE(Await([&] { return volume_->Zones()[zone.value].phase == ZonePhase::kEmpty; }));
  ExpectAllThere();
}

TEST_F(Reclaim, OverwritesGoOnForEverWithTwoThirdsOfTheDeviceLive) {
  constexpr Lifetime kLifetimes[] = {Lifetime::kMedium, Lifetime::kLong, Lifetime::kExtreme,
                                     Lifetime::kShort};
  const std::uint64_t free = volume_->Space().free;
  const std::size_t bytes = 130'000;
  const auto files = static_cast<int>(free * 2 / 3 / 135'168);
  for (int i = 0; i < files; ++i) ASSERT_TRUE(Write(fmt::format("{}.sst", i), bytes, kLifetimes[i % 2]));
  Random random(7);
  for (int i = 0; i < 8 * files; ++i) {
    const auto which = static_cast<int>(random.Below(files));
    ASSERT_TRUE(Write(fmt::format("{}.sst", which), bytes, kLifetimes[random.Below(4)])) << i;
  }
  EXPECT_GT(volume_->counters().written.reclaimed, 0u);
  ExpectAllThere();
  Remount();
  ExpectAllThere();
}

TEST_F(Reclaim, ItCanBeTurnedOffForAMount) {
  ASSERT_TRUE(IsOk(volume_->Unmount()));
  volume_.reset();
  volume_ = *Volume::Mount(Borrow(*device_), {.reclaim = false});
  int files = 0;
  while (Write(fmt::format("{}.sst", files), 300'000, Lifetime::kMedium)) ++files;
  for (int i = 0; i < files; i += 2) Delete(fmt::format("{}.sst", i));
  EXPECT_FALSE(Write("more.sst", 2'000'000, Lifetime::kMedium));
  EXPECT_EQ(volume_->counters().written.reclaimed, 0u);
  Remount();
  EXPECT_TRUE(Write("more.sst", 2'000'000, Lifetime::kMedium));
  ExpectAllThere();
}

TEST_F(Reclaim, WhatIsNearlyAllLiveIsNoSpaceAtOnce) {
  int i = 0;
  const SteadyTime begin = SteadyNow();
  while (Write(fmt::format("{}.sst", i), 400'000, Lifetime::kMedium)) ++i;
  EXPECT_LT(volume_->Space().free, 2u << 20);
  auto file = volume_->Create("more.sst");
  ASSERT_TRUE(IsOk(file));
  const std::string content = RandomBytes(2 << 20, 1);
  EXPECT_EQ(CodeOf((*file)->Append(AsBytes(content))), Code::kNoSpace);
  EXPECT_LT(SteadyNow() - begin, std::chrono::seconds(25)) << "it waited although no space could become free";
  ExpectAllThere();
}

// Written and uncommitted bytes are not garbage: moving their neighbours would only use room.
TEST_F(Reclaim, NothingIsMovedForTheSakeOfAFileThatIsBeingWritten) {
  int i = 0;
  while (volume_->Space().free > (1u << 20)) {
    ASSERT_TRUE(Write(fmt::format("{}.sst", i++), 100'000, Lifetime::kMedium));
  }
  const std::uint64_t moved = volume_->counters().written.reclaimed;
  std::uint64_t moved_before_it_failed = moved;
  auto file = volume_->Create("large.sst", Lifetime::kMedium);
  ASSERT_TRUE(IsOk(file));
  const std::string piece = RandomBytes(64 << 10, 1);
  const SteadyTime begin = SteadyNow();
  Status appended;
  while (appended.ok()) {
    moved_before_it_failed = volume_->counters().written.reclaimed;
    appended = (*file)->Append(AsBytes(piece));
  }
  EXPECT_EQ(CodeOf(appended), Code::kNoSpace);
  EXPECT_LT(SteadyNow() - begin, std::chrono::seconds(20));
  EXPECT_EQ(moved_before_it_failed, moved);  // the bytes of the last append are garbage by now
}

TEST_F(Reclaim, AZoneThatIsEmptiedIsResetAndNothingElseChanges) {
  MakeHalfDeadZones();
  ASSERT_TRUE(IsOk(volume_->Link("03.sst", "03-too.sst")));
  files_["03-too.sst"] = files_["03.sst"];
  const ZoneId zone = FirstZoneOf("03.sst");
  const auto before = volume_->Stat("03.sst");
  ASSERT_TRUE(IsOk(EmptyZone(*volume_, zone)));
  EXPECT_NE(FirstZoneOf("03.sst"), zone);
  EXPECT_EQ(volume_->Zones()[zone.value].live, 0u);
  EXPECT_EQ(volume_->Stat("03.sst")->mtime_seconds, before->mtime_seconds);
  EXPECT_EQ(volume_->Stat("03.sst")->size, before->size);
  ExpectAllThere();
  ASSERT_TRUE(IsOk(volume_->Unmount()));  // this waits for the reset
  const auto report = device_->ReportZone(zone);
  ASSERT_TRUE(IsOk(report));
  EXPECT_EQ(report->condition, ZoneCondition::kEmpty);
  volume_.reset();
  Mount();
  ExpectAllThere();
}

TEST_F(Reclaim, ReadersOfAMovedFileReadOnAndLetItsOldZoneGo) {
  MakeHalfDeadZones();
  const ZoneId zone = FirstZoneOf("03.sst");
  auto reader = volume_->OpenForRead("03.sst");
  ASSERT_TRUE(IsOk(reader));
  EXPECT_EQ(ReadAll(**reader), files_["03.sst"]);
  ASSERT_TRUE(IsOk(EmptyZone(*volume_, zone)));
  EXPECT_EQ(volume_->Zones()[zone.value].pins, 0u);
  EXPECT_EQ(ReadAll(**reader), files_["03.sst"]);
}

TEST_F(Reclaim, AFileThatIsBeingWrittenStaysWhereItIsUntilItIsClosed) {
  MakeHalfDeadZones();
  const ZoneId zone = FirstZoneOf("03.sst");
  {
    auto writer = volume_->OpenForAppend("03.sst", false);
    ASSERT_TRUE(IsOk(writer));
    EXPECT_EQ(CodeOf(EmptyZone(*volume_, zone)), Code::kBusy);
    EXPECT_EQ(FirstZoneOf("03.sst"), zone);
    ASSERT_TRUE(IsOk((*writer)->Append(AsBytes("more"))));
    files_["03.sst"] += "more";
    ASSERT_TRUE(IsOk((*writer)->Close()));
  }
  ASSERT_TRUE(IsOk(EmptyZone(*volume_, zone)));
  EXPECT_NE(FirstZoneOf("03.sst"), zone);
  ExpectAllThere();
}

TEST_F(Reclaim, ADirectWriterGoesOnBehindWhatWasMoved) {
  MakeHalfDeadZones();
  const ZoneId zone = FirstZoneOf("03.sst");
  auto reader = volume_->OpenForRead("03.sst");
  ASSERT_TRUE(IsOk(EmptyZone(*volume_, zone)));
  auto writer = volume_->OpenForAppend("03.sst", false);
  ASSERT_TRUE(IsOk(writer));
  const std::string more = RandomBytes(100'000, 99);
  ASSERT_TRUE(IsOk((*writer)->Append(AsBytes(more))));
  ASSERT_TRUE(IsOk((*writer)->Sync()));
  files_["03.sst"] += more;
  EXPECT_EQ(ReadAll(**reader), files_["03.sst"]);
  writer->reset();
  Remount();
  ExpectAllThere();
}

class ReclaimOfDamage : public Reclaim {
 protected:
  ~ReclaimOfDamage() override { volume_.reset(); }  // which still writes to rot_
  void MountRotten() {
    ASSERT_TRUE(IsOk(volume_->Unmount()));
    Result<std::shared_ptr<Volume>> volume = Volume::Mount(Borrow(rot_), {});
    ASSERT_TRUE(IsOk(volume));
    volume_ = *std::move(volume);
  }
  BitRot rot_{*device_};
};

// A copy with a new checksum would hide the damage.
TEST_F(ReclaimOfDamage, AFileWhoseBytesAreNotWhatItsChecksumSaysStaysWhereItIs) {
  MakeHalfDeadZones();
  const ZoneId zone = FirstZoneOf("03.sst");
  MountRotten();
  rot_.Flip(volume_->Layout("03.sst")->extents.front().place + 4711);
  const Status emptied = EmptyZone(*volume_, zone);
  EXPECT_EQ(CodeOf(emptied), Code::kCorruption);
  EXPECT_NE(emptied.error().ToString().find("do not have the checksum"), std::string::npos);
  EXPECT_EQ(FirstZoneOf("03.sst"), zone);
  for (const auto& [name, content] : files_) {
    if (name == "03.sst") continue;
    EXPECT_NE(FirstZoneOf(name), zone) << name << " could have been moved";
  }
  ASSERT_EQ(volume_->notices().size(), 1u);
  EXPECT_NE(volume_->notices().front().find("stays where it is"), std::string::npos);
  rot_.Heal();
  ASSERT_TRUE(IsOk(EmptyZone(*volume_, zone)));
  ExpectAllThere();
}

// The bytes are in a frame, whose copy would be an extent with a checksum of its own.
TEST_F(ReclaimOfDamage, ALogWithARottenFrameKeepsItAndANoticeNamesIt) {
  MountRotten();
  Put("keep.log", RandomBytes(30'000, 1));
  const Extent frame = volume_->Layout("keep.log")->frames.front();
  rot_.Flip(frame.place + 100);
  for (int i = 0; volume_->notices().empty(); ++i) {
    ASSERT_LT(i, 500);
    Put("other.log", RandomBytes(300'000, i));
  }
  EXPECT_NE(volume_->notices().front().find("stays where it is"), std::string::npos);
  EXPECT_EQ(volume_->Layout("keep.log")->frames.front(), frame);
  EXPECT_TRUE(volume_->Layout("keep.log")->extents.empty());
  rot_.Heal();
  EXPECT_TRUE(Get("keep.log") == RandomBytes(30'000, 1));
}

// A table, and a log whose bytes were cleaned into an extent. Nobody can say on which side of the cut the damage is.
TEST_F(ReclaimOfDamage, AFileWithARottenExtentIsNotTruncatedWithinIt) {
  MountRotten();
  Put("cut.sst", RandomBytes(50'000, 1));
  Put("cut.log", RandomBytes(50'000, 1));
  for (int i = 0; volume_->Layout("cut.log")->extents.empty(); ++i) {
    ASSERT_LT(i, 500);
    Put("other.log", RandomBytes(300'000, i));
  }
  for (const std::string path : {"cut.sst", "cut.log"}) {
    const std::vector<Extent> extents = volume_->Layout(path)->extents;
    for (const std::uint64_t byte : {std::uint64_t{9'999}, std::uint64_t{10'000}}) {
      rot_.Heal();
      rot_.Flip(extents.front().place + byte);
      const Status cut = TruncateFile(*volume_, path, 10'000);
      EXPECT_EQ(CodeOf(cut), Code::kCorruption);
      EXPECT_NE(cut.error().ToString().find("zone "), std::string::npos) << cut.error().ToString();
      EXPECT_EQ(volume_->Stat(path)->size, 50'000u);
      EXPECT_EQ(volume_->Layout(path)->extents, extents);
    }
    EXPECT_TRUE(IsOk(TruncateFile(*volume_, path, 0))) << "no extent is divided";
    rot_.Heal();
  }
}

TEST_F(Reclaim, MovedFilesKeepTheirChecksums) {
  MakeHalfDeadZones();
  const auto sum = [this] {
    std::uint32_t whole = 0;
    const auto layout = volume_->Layout("03.sst");
    for (const Extent& extent : layout->extents) {
      EXPECT_TRUE(extent.crc);
      whole = Crc32cWhole(whole, extent.crc.value_or(0), extent.length);
    }
    return whole;
  };
  const std::uint32_t before = sum();
  EXPECT_EQ(before, Crc32c(AsBytes(files_["03.sst"])));
  ASSERT_TRUE(IsOk(EmptyZone(*volume_, FirstZoneOf("03.sst"))));
  EXPECT_EQ(sum(), before);
}

// The cleaned part of a log is in extents, like a table.
TEST_F(Reclaim, TheCleanedPartOfALogIsMovedTooWhileItIsWritten) {
  auto manifest = volume_->Create("MANIFEST-000001");
  ASSERT_TRUE(IsOk(manifest));
  std::string expected = RandomBytes(50'000, 5);
  ASSERT_TRUE(IsOk((*manifest)->Append(AsBytes(expected))));
  ASSERT_TRUE(IsOk((*manifest)->Sync()));
  for (int round = 0; volume_->counters().written.cleaned == 0; ++round) {
    ASSERT_LT(round, 200);
    const std::string name = fmt::format("{}.log", round);
    Put(name, RandomBytes(400'000, 100 + round));
    ASSERT_TRUE(IsOk(volume_->Unlink(name)));
  }
  const ZoneId zone = FirstZoneOf("MANIFEST-000001");
  EXPECT_EQ(CodeOf(EmptyZone(*volume_, zone)), Code::kInvalidArgument) << "the zone is not full yet";
  for (int i = 0; volume_->Zones()[zone.value].phase == ZonePhase::kActive; ++i) {
    ASSERT_TRUE(Write(fmt::format("{}.filler", i), 100'000, Lifetime::kNotSet));
  }
  ASSERT_TRUE(IsOk(EmptyZone(*volume_, zone)));
  EXPECT_NE(FirstZoneOf("MANIFEST-000001"), zone);
  ASSERT_TRUE(IsOk((*manifest)->Append(AsBytes("and on"))));
  expected += "and on";
  EXPECT_EQ(ReadAll(**manifest), expected);
  ASSERT_TRUE(IsOk((*manifest)->Sync()));
  manifest->reset();
  Remount();
  EXPECT_EQ(Get("MANIFEST-000001"), expected);
}

TEST_F(Reclaim, ZonesThatHoldNoFileDataAreRefused) {
  EXPECT_EQ(CodeOf(EmptyZone(*volume_, ZoneId(0))), Code::kInvalidArgument);
  EXPECT_EQ(CodeOf(EmptyZone(*volume_, ZoneId(12345))), Code::kInvalidArgument);
}

// The writer holds its file while it waits for space, and the zone that must be emptied has an earlier part of the same
// file.
TEST_F(Reclaim, AWriterWhoseOwnFileIsInTheWayGetsSpaceElsewhere) {
  auto writer = volume_->Create("own.sst", Lifetime::kMedium);
  ASSERT_TRUE(IsOk(writer));
  std::string own = RandomBytes(100'000, 1);
  ASSERT_TRUE(IsOk((*writer)->Append(AsBytes(own))));
  ASSERT_TRUE(IsOk((*writer)->Sync()));
  int files = 0;
  while (volume_->Space().free > (2u << 20)) {
    ASSERT_TRUE(Write(fmt::format("{}.sst", files++), 150'000, Lifetime::kMedium));
  }
  for (int i = 0; i < files; i += 2) Delete(fmt::format("{}.sst", i));
  const SteadyTime begin = SteadyNow();
  const std::string more = RandomBytes(6 << 20, 2);
  ASSERT_TRUE(IsOk((*writer)->Append(AsBytes(more))));
  ASSERT_TRUE(IsOk((*writer)->Sync()));
  EXPECT_LT(SteadyNow() - begin, std::chrono::seconds(20));
  EXPECT_EQ(ReadAll(**writer), own + more);
  ExpectAllThere();
}

// The device fails, or reads back wrong bytes, while data is moved.
class ReclaimFaults : public testing::Test {
 protected:
  ReclaimFaults() : device_(CreateMemoryDevice(SmallGeometry())) {
    EXPECT_TRUE(IsOk(FormatVolume(device_, {})));
    volume_ = *Volume::Mount(Borrow(device_), {});
    for (int i = 0; i < 4; ++i) {
      auto file = volume_->Create(fmt::format("{}.sst", i), Lifetime::kMedium);
      EXPECT_TRUE(IsOk(file));
      EXPECT_TRUE(IsOk((*file)->Append(AsBytes(content_))));
      EXPECT_TRUE(IsOk((*file)->Sync()));
    }
    zone_ = device_.geometry().ZoneOf(volume_->Layout("0.sst")->extents.front().place);
    WaitForCommits(
        *volume_,
        1 + 4 + 1);  // of the mount, the files and the ready log zone, so that a fault hits only the move
  }
  ~ReclaimFaults() override {
    device_.ClearFaults();
    for (int i = 0; i < 4; ++i) {
      const Result<std::string> content = GetFile(*volume_, fmt::format("{}.sst", i));
      EXPECT_TRUE(IsOk(content));
      EXPECT_TRUE(content && *content == content_) << i;
    }
    EXPECT_TRUE(IsOk(volume_->Unmount()));
    ExpectSound(device_);
  }

  const std::string content_ = RandomBytes(250'000, 3);
  FaultyDevice device_;
  std::shared_ptr<Volume> volume_;
  ZoneId zone_;
};

// D9 of docs/internals/failures.md.
TEST_F(ReclaimFaults, AnUnreadableSourceStaysWhatItIs) {
  device_.Inject({.command = FaultyDevice::Command::kRead, .times = 100, .zone = zone_});
  EXPECT_FALSE(EmptyZone(*volume_, zone_).ok());
  EXPECT_EQ(device_.geometry().ZoneOf(volume_->Layout("0.sst")->extents.front().place), zone_);
}

// D9: a copy that can't be written or read back is not used.
TEST_F(ReclaimFaults, ACopyThatCannotBeWrittenLeavesTheFileAsItWas) {
  device_.Inject({.command = FaultyDevice::Command::kWrite, .times = 1000});
  EXPECT_FALSE(EmptyZone(*volume_, zone_).ok());
  EXPECT_EQ(device_.geometry().ZoneOf(volume_->Layout("0.sst")->extents.front().place), zone_);
}

// D9 of docs/internals/failures.md.
TEST_F(ReclaimFaults, ACopyThatIsNotFlushedLeavesTheFileAsItWas) {
  device_.Inject({.command = FaultyDevice::Command::kFlush, .times = 1});
  EXPECT_FALSE(EmptyZone(*volume_, zone_).ok());
  EXPECT_EQ(device_.geometry().ZoneOf(volume_->Layout("0.sst")->extents.front().place), zone_);
}

}  // namespace
}  // namespace zenfs
