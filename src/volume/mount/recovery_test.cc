// Commands that fail during a mount after the process died: the mount seals logs and may fail. The next mount finds all
// synced bytes.
#include <fmt/format.h>

#include "format/frame.h"
#include "testing/direct_commit.h"
#include "volume/fsck/check_volume.h"
#include "volume/fsck/scrub.h"
#include "volume/volume_fault_test_rig.h"
#include "volume/volume_test_util.h"

namespace zenfs {
namespace {

class MountFaultTest : public VolumeFaultTest, public testing::WithParamInterface<FaultyDevice::Command> {
 protected:
  // Makes a log with records that are not sealed yet, and a table.
  void LeaveWork() {
    Put("a.sst", table_);
    const auto log = volume_->OpenForAppend("1.log", true);
    ASSERT_TRUE(IsOk(log));
    const std::string piece = fmt::format("record {}, ", written_++);
    ASSERT_TRUE(IsOk((*log)->Append(AsBytes(piece))));
    ASSERT_TRUE(IsOk((*log)->Sync()));
    log_ += piece;
    Die();
  }
  void ExpectAll() {
    EXPECT_TRUE(volume_->notices().empty());
    EXPECT_EQ(Get("a.sst"), table_);
    EXPECT_EQ(Get("1.log"), log_);
  }
  // The number of commands of this kind that such a mount sends.
  std::uint64_t CountOfAMount() {
    LeaveWork();
    MountFaulty();
    return faulty_->count(GetParam());
  }

  const std::string table_ = std::string(30'000, 't');
  std::string log_;
  int written_ = 0;
};

TEST_P(MountFaultTest, EachMayFailAndNothingIsMissing) {
  const std::uint64_t commands = CountOfAMount();
  ASSERT_GT(commands, 0u);
  for (const When when : {When::kBefore, When::kAfter}) {
    for (std::uint64_t kth = 1; kth <= commands + 1; ++kth) {
      LeaveWork();
      if (!TryMountFaulty({{.command = GetParam(), .kth = kth, .when = when}}).ok()) MountFaulty();
      faulty_->ClearFaults();  // the mount may have failed before that command
      ExpectAll();
    }
  }
  RemountHealthy();
  ExpectAll();
}

TEST_P(MountFaultTest, WhereAllFailNothingIsMountedAndTheNextMountFindsEverything) {
  LeaveWork();
  EXPECT_FALSE(TryMountFaulty({{.command = GetParam(), .times = kForEver}}).ok());
  MountFaulty();
  ExpectAll();
}

INSTANTIATE_TEST_SUITE_P(Of, MountFaultTest,
                         testing::Values(FaultyDevice::Command::kReport, FaultyDevice::Command::kWrite,
                                         FaultyDevice::Command::kFlush),
                         [](const auto& test) {
                           switch (test.param) {
                             case FaultyDevice::Command::kReport: return "Reports";
                             case FaultyDevice::Command::kWrite: return "Writes";
                             default: return "Flushes";
                           }
                         });

// The metadata has lost a truncation, as after damage and a repair: a frame that was written behind it lies below the end that the
// record of the file has.
TEST_F(VolumeFaultTest, AFrameBelowTheRecordedEndAddsNothing) {
  const std::string text = std::string(5000, 'a');
  Put("1.log", text);
  ASSERT_TRUE(IsOk(volume_->Unmount()));
  MountFaulty();
  const auto log = volume_->OpenForAppend("1.log", false);
  ASSERT_TRUE(IsOk(log));
  ASSERT_TRUE(IsOk((*log)->Truncate(1000)));
  ASSERT_TRUE(IsOk((*log)->Append(AsBytes(std::string(100, 'b')))));
  ASSERT_TRUE(IsOk((*log)->Sync()));
  Die();
  ASSERT_TRUE(IsOk(CommitDirectly(*device_, [&](const State& state) {
    std::vector<Edit> edits;
    for (const auto& [id, record] : state.files()) {
      if (record->shape != FileShape::kFramed || record->size != 1000) continue;
      SealLog seal{
          .id = id, .windows = record->windows, .next_sequence = record->next_sequence, .size = 5000};
      seal.windows.back().end = 5000;
      edits.push_back(std::move(seal));
    }
    EXPECT_EQ(edits.size(), 1u);
    return edits;
  })));
  MountFaulty();
  const auto found = GetFile(*volume_, "1.log");
  EXPECT_TRUE(!found || found->size() == 5000u);
  EXPECT_TRUE(IsOk(volume_->Unlink("1.log")));
}

}  // namespace
}  // namespace zenfs

// Metadata with numbers so high that the frames of a writer that continued from them would not be read.

namespace zenfs {
namespace {

class VolumeNumbersTest : public VolumeTest {
 protected:
  // Makes a file /a.log and commits `edits`.
  void Commit(std::vector<Edit> edits) {
    Put("a.log", "synced");
    ASSERT_TRUE(IsOk(volume_->Unmount()));
    volume_.reset();
    ASSERT_TRUE(IsOk(CommitDirectly(*device_, [&](const State&) { return std::move(edits); })));
  }

  // A damaged volume can't pass the check at the end of VolumeTest.
  void ExpectRefused() {
    const auto mounted = Volume::Mount(Borrow(*device_), {});
    ASSERT_FALSE(mounted.has_value());
    EXPECT_EQ(mounted.error().code(), Code::kCorruption) << mounted.error().ToString();
    const auto report = CheckVolume(*device_, {});
    ASSERT_TRUE(IsOk(report));
    EXPECT_FALSE(report->clean());
    ASSERT_TRUE(IsOk(FormatVolume(*device_, {.force = true})));
  }
};

TEST_F(VolumeNumbersTest, NoMountGoesOnFromAnEpochThatNoWriterComesTo) {
  Commit({BeginEpoch{kCredibleEnd}});
  ExpectRefused();
}

// Otherwise the mount would raise the epoch to a value that counts as damage.
TEST_F(VolumeNumbersTest, NoMountMakesASoundVolumeOneThatNoWriterComesTo) {
  Commit({BeginEpoch{kCredibleEnd - 1}});
  const auto mounted = Volume::Mount(Borrow(*device_), {});
  ASSERT_FALSE(mounted.has_value());
  EXPECT_EQ(mounted.error().code(), Code::kCorruption) << mounted.error().ToString();
  ExpectSound();
  ASSERT_TRUE(IsOk(FormatVolume(*device_, {.force = true})));
}

TEST_F(VolumeNumbersTest, NoMountGoesOnFromAFileIdThatNoWriterComesTo) {
  Commit({RaiseCounters{kCredibleEnd, 0}});
  ExpectRefused();
}

TEST_F(VolumeNumbersTest, NoMountGoesOnFromAGenerationThatNoWriterComesTo) {
  Commit({RaiseCounters{0, kCredibleEnd}});
  ExpectRefused();
}

}  // namespace
}  // namespace zenfs

// Devices with fewer than four zone slots: no volume is made or mounted on them.

namespace zenfs {
namespace {

constexpr std::string_view kThreeOfEach =
    "emu:memory: the device allows 3 open and 3 active zones at once (0: no limit), and ZenFS needs at least "
    "4 of each";

std::uint64_t CommandsThatChange(const EmulatorDevice& device) {
  return device.meter().of(EmulatorCommand::kWrite).commands +
         device.meter().of(EmulatorCommand::kAppend).commands +
         device.meter().of(EmulatorCommand::kManagement).commands;
}

template <typename T>
void ExpectRefused(const Result<T>& result, std::string_view text) {
  EXPECT_EQ(CodeOf(result), Code::kNotSupported);
  EXPECT_EQ(result ? "" : result.error().text(), text);
}

// R7 of docs/internals/failures.md.
TEST(SlotLimits, MkfsRefusesADeviceWithThreeSlotsWithoutTouchingIt) {
  EmulatorGeometry geometry = SmallGeometry();
  geometry.max_open = geometry.max_active = 3;
  const auto device = CreateMemoryDevice(geometry);
  ExpectRefused(FormatVolume(*device, {.force = true}), kThreeOfEach);
  EXPECT_EQ(CommandsThatChange(*device), 0u);
  geometry.max_active = 9;
  EXPECT_EQ(CodeOf(FormatVolume(*CreateMemoryDevice(geometry), {})), Code::kNotSupported)
      << "each limit applies alone";
  geometry.max_open = geometry.max_active = 4;
  EXPECT_TRUE(IsOk(FormatVolume(*CreateMemoryDevice(geometry), {})));
}

// A volume as an earlier version made it.
TEST(SlotLimits, MountRefusesAVolumeOnADeviceWithThreeSlotsWithoutTouchingIt) {
  const auto device = CreateMemoryDevice(SmallGeometry());
  ASSERT_TRUE(IsOk(FormatVolume(*device, {})));
  const std::uint64_t before = CommandsThatChange(*device);
  ExpectRefused(Volume::Mount(BorrowWithSlots(*device, 3, 3), {}), kThreeOfEach);
  const auto with_three = BorrowWithSlots(*device, 3, 3);
  ExpectRefused(Volume::Mount(MakeReadOnlyView(*with_three), {.read_only = true}), kThreeOfEach);
  ExpectRefused(CheckVolume(*with_three, {}), kThreeOfEach);
  ExpectRefused(ScrubVolume(*with_three, {}), kThreeOfEach);
  EXPECT_EQ(CommandsThatChange(*device), before);
  EXPECT_TRUE(IsOk(Volume::Mount(BorrowWithSlots(*device, 4, 0), {})));
}

}  // namespace
}  // namespace zenfs
