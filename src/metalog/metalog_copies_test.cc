// Two copies of the metadata log: no loss of one zone, and none of one frame, costs a commit.
#include <gmock/gmock.h>

#include <numeric>
#include <set>
#include <string>
#include <vector>

#include "base/aligned_buffer.h"
#include "base/sync_point.h"
#include "device/forwarding_device.h"
#include "metalog/metadata_scan.h"
#include "metalog/metalog_test_util.h"
#include "metalog/replay.h"
#include "testing/borrowed_device.h"
#include "testing/crash_device.h"
#include "testing/faulty_device.h"
#include "testing/immediate_queue.h"

namespace zenfs::metalog_copies_test {
namespace {

using ::testing::HasSubstr;
using Command = FaultyDevice::Command;

constexpr std::uint32_t kZones = 5;
constexpr std::uint64_t kZoneBytes = 64 << 10;

Superblock PairSuperblock(const Geometry& geometry) {
  Superblock superblock = SuperblockFor(geometry, kZones);
  superblock.incompatible |= kTwoMetadataCopies;
  return superblock;
}

constexpr std::uint32_t kDataZones = 4;  // as many as the metadata log leaves active of 8

EmulatorGeometry PairGeometry(std::uint32_t max_active = 0) {
  EmulatorGeometry geometry = SmallGeometry(kZoneBytes, kZones + kDataZones);
  geometry.max_active = geometry.max_open = max_active;
  return geometry;
}

Result<std::unique_ptr<Metalog>> OpenPairs(ZonedDevice& device) {
  return Metalog::Open(device, PairSuperblock(device.geometry()));
}

// The number of commits in the state if it is that after commits 1 to n, each of which creates a file; otherwise nothing.
std::optional<std::size_t> CommitsIn(const State& state) {
  const std::size_t count = state.files().size();
  for (std::size_t i = 0; i < count; ++i) {
    if (!HasFile(state, kFirstTestId + i)) return std::nullopt;
  }
  return count;
}

// Commits until `commits` files exist, with a log switch before every fourth, or until an error. Returns the number of files.
std::size_t CommitUpTo(ZonedDevice& device, std::size_t commits) {
  const auto log = OpenPairs(device);
  if (!log) return 0;
  std::size_t count = (*log)->recovered().files().size();
  for (; count < commits; ++count) {
    if (count % 4 == 3 && !(*log)->Switch().ok()) break;
    if (!(*log)->Commit(CreateNamed(kFirstTestId + count)).ok()) break;
  }
  return count;
}

// The volume has at least `acknowledged` commits, and takes new ones in two copies or, if `zones_left` is too few, in one.
void ExpectCommits(ZonedDevice& device, std::size_t acknowledged, const std::string& what,
                   bool two_copies = true) {
  SCOPED_TRACE(what);
  std::size_t found = 0;
  {
    const auto log = OpenPairs(device);
    ASSERT_TRUE(log) << log.error().ToString();
    const auto commits = CommitsIn((*log)->recovered());
    ASSERT_TRUE(commits.has_value());
    ASSERT_GE(*commits, acknowledged);
    found = *commits;
    if (two_copies) {
      EXPECT_EQ((*log)->stats().copies, 2u);
    }
    ZENFS_ASSERT_OK((*log)->Commit(CreateNamed(kFirstTestId + found)));
  }
  const auto again = OpenPairs(device);
  ASSERT_TRUE(again) << again.error().ToString();
  EXPECT_EQ(CommitsIn((*again)->recovered()), found + 1);
}

enum class Death { kOffline, kReadOnly, kOverwritten };

Status Kill(CrashDevice& device, ZoneId zone, Death death) {
  if (death == Death::kOffline) return device.SetCondition(zone, ZoneCondition::kOffline);
  if (death == Death::kReadOnly) return device.SetCondition(zone, ZoneCondition::kReadOnly);
  ZENFS_ASSIGN_OR_RETURN(const ZoneInfo info, device.ReportZone(zone));
  const std::uint64_t bytes = info.WrittenBytes();
  if (bytes == 0) return {};
  ZENFS_RETURN_IF_ERROR(device.Reset(zone));
  AlignedBuffer rot(bytes);
  rot.Append(AsBytes(std::string(bytes, '\x5a')));
  return device.Write(info.start, rot.View());
}

class MetalogCopies : public ::testing::TestWithParam<Death> {};
INSTANTIATE_TEST_SUITE_P(Deaths, MetalogCopies,
                         ::testing::Values(Death::kOffline, Death::kReadOnly, Death::kOverwritten));

// From a new volume, before its first log switch, on.
TEST_P(MetalogCopies, TheDeathOfAnyOneZoneCostsNoCommit) {
  for (std::size_t commits = 0; commits <= 13; ++commits) {
    CrashDevice device(PairGeometry());
    ZENFS_ASSERT_OK(Metalog::Format(device, PairSuperblock(device.geometry()), InitialEdits()));
    ASSERT_EQ(CommitUpTo(device, commits), commits);
    ZENFS_ASSERT_OK(device.Flush());
    for (std::uint32_t zone = 0; zone < kZones; ++zone) {
      const auto image = device.Image(LossPolicy::KeepAll());
      ZENFS_ASSERT_OK(Kill(*image, ZoneId(zone), GetParam()));
      ExpectCommits(*image, commits, fmt::format("{} commits, zone {}", commits, zone));
    }
  }
}

// A mount replaces the lost copy at once, so another zone may die after it.
TEST_P(MetalogCopies, ZonesMayDieOneAfterTheOther) {
  CrashDevice device(PairGeometry());
  ZENFS_ASSERT_OK(Metalog::Format(device, PairSuperblock(device.geometry()), InitialEdits()));
  ASSERT_EQ(CommitUpTo(device, 2), 2u);
  ZENFS_ASSERT_OK(Kill(device, ZoneId(0), GetParam()));
  ExpectCommits(device, 2, "first");
  ZENFS_ASSERT_OK(Kill(device, ZoneId(2), GetParam()));
  ExpectCommits(device, 3, "second", false);
}

// While the volume is mounted: the commit that meets the dead zone succeeds, and the log has two copies again.
TEST_P(MetalogCopies, ACommitSucceedsAlthoughAZoneDied) {
  for (std::uint32_t zone = 0; zone < kZones; ++zone) {
    CrashDevice device(PairGeometry());
    ZENFS_ASSERT_OK(Metalog::Format(device, PairSuperblock(device.geometry()), InitialEdits()));
    const auto log = OpenPairs(device);
    ASSERT_TRUE(log) << log.error().ToString();
    ZENFS_ASSERT_OK((*log)->Commit(CreateNamed(kFirstTestId)));
    ZENFS_ASSERT_OK(Kill(device, ZoneId(zone), GetParam()));
    for (std::uint64_t i = 1; i < 12; ++i) {
      ZENFS_ASSERT_OK((*log)->Commit(CreateNamed(kFirstTestId + i)));
      if (i % 5 == 4) {
        ZENFS_ASSERT_OK((*log)->Switch());
      }
    }
    EXPECT_EQ((*log)->stats().copies, 2u) << "zone " << zone;
  }
}

// On the device, chosen blocks can't be read.
class UnreadableBlock final : public ForwardingDevice {
 public:
  UnreadableBlock(ZonedDevice& device, std::uint64_t block) : ForwardingDevice(device), block_(block) {}
  OpenMode mode() const override { return OpenMode::kReadOnly; }
  Status Read(DeviceOffset offset, ByteSpan into) override {
    if (block_ >= offset.value && block_ < offset.value + into.size()) return Fail(Code::kIo, "unreadable");
    return inner().Read(offset, into);
  }

 private:
  const std::uint64_t block_;
};

TEST(MetalogPair, AnyUnreadableBlockCostsNoCommitAndCheckSaysWhichCopyIsWhole) {
  CrashDevice device(PairGeometry());
  ZENFS_ASSERT_OK(Metalog::Format(device, PairSuperblock(device.geometry()), InitialEdits()));
  ASSERT_EQ(CommitUpTo(device, 6), 6u);
  const Superblock superblock = PairSuperblock(device.geometry());
  const auto whole = Replay(device, superblock);
  ASSERT_TRUE(whole) << whole.error().ToString();
  ASSERT_EQ(whole->chain.size(), 2u);
  EXPECT_TRUE(whole->lost_copies.empty());
  for (const ZoneId zone : whole->chain) {
    for (std::uint64_t at = 0; at < whole->position; at += 4096) {
      UnreadableBlock damaged(device, device.geometry().ZoneStart(zone).value + at);
      const auto found = Replay(damaged, superblock);
      ASSERT_TRUE(found) << found.error().ToString();
      EXPECT_EQ(CommitsIn(found->state), 6u) << "zone " << zone.value << ", byte " << at;
      if (at != 0) {
        EXPECT_EQ(found->lost_copies, std::set{zone}) << "byte " << at;
      }
      const auto scan = ScanMetadata(damaged, superblock);
      ASSERT_TRUE(scan);
      ASSERT_FALSE(scan->flaws.empty()) << "byte " << at;
      for (const MetadataFlaw& flaw : scan->flaws) EXPECT_TRUE(flaw.whole_in) << FlawText(flaw);
    }
  }
}

TEST(MetalogPair, DamageOfDifferentFramesInBothCopiesCostsNoCommit) {
  CrashDevice device(PairGeometry());
  ZENFS_ASSERT_OK(Metalog::Format(device, PairSuperblock(device.geometry()), InitialEdits()));
  ASSERT_EQ(CommitUpTo(device, 3), 3u);
  const Superblock superblock = PairSuperblock(device.geometry());
  const auto whole = Replay(device, superblock);
  ASSERT_TRUE(whole) << whole.error().ToString();
  UnreadableBlock first(device, device.geometry().ZoneStart(whole->chain[0]).value + 2 * 4096);
  UnreadableBlock both(first, device.geometry().ZoneStart(whole->chain[1]).value + 3 * 4096);
  const auto found = Replay(both, superblock);
  ASSERT_TRUE(found) << found.error().ToString();
  EXPECT_EQ(CommitsIn(found->state), 3u);
}

TEST(MetalogPair, DamageOfOneFrameInBothCopiesIsNamed) {
  CrashDevice device(PairGeometry());
  ZENFS_ASSERT_OK(Metalog::Format(device, PairSuperblock(device.geometry()), InitialEdits()));
  ASSERT_EQ(CommitUpTo(device, 3), 3u);
  const Superblock superblock = PairSuperblock(device.geometry());
  const auto whole = Replay(device, superblock);
  ASSERT_TRUE(whole) << whole.error().ToString();
  const std::uint64_t at = whole->position - 2 * 4096;
  UnreadableBlock first(device, device.geometry().ZoneStart(whole->chain[0]).value + at);
  UnreadableBlock both(first, device.geometry().ZoneStart(whole->chain[1]).value + at);
  const auto found = Replay(both, superblock);
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().code(), Code::kCorruption);
  EXPECT_THAT(found.error().text(), HasSubstr("commit 2 may be missing"));
}

// Both writes of a commit are in flight at once, followed by one flush.
TEST(MetalogPair, ACommitIsTwoWritesAndOneFlush) {
  FaultyDevice device(CreateMemoryDevice(PairGeometry()));
  ZENFS_ASSERT_OK(Metalog::Format(device, PairSuperblock(device.geometry()), InitialEdits()));
  const auto log = OpenPairs(device);
  ASSERT_TRUE(log) << log.error().ToString();
  const std::uint64_t writes = device.count(Command::kWrite);
  const std::uint64_t flushes = device.count(Command::kFlush);
  ZENFS_ASSERT_OK((*log)->Commit(CreateNamed(kFirstTestId)));
  EXPECT_EQ(device.count(Command::kWrite), writes + 2);
  EXPECT_EQ(device.count(Command::kFlush), flushes + 1);
}

// Any error of a write to one zone: the other zone has the frame, so it is not the device that fails.
TEST(MetalogPair, AFailedWriteToOneZoneIsNotAFailedCommit) {
  for (const Code code :
       {Code::kIo, Code::kZoneFull, Code::kReadOnly, Code::kNotFound, Code::kBusy, Code::kUnknownOutcome}) {
    for (const auto when : {FaultyDevice::When::kBefore, FaultyDevice::When::kAfter}) {
      if (code == Code::kBusy && when == FaultyDevice::When::kAfter) continue;
      for (std::uint32_t zone = 0; zone < 2; ++zone) {
        FaultyDevice device(CreateMemoryDevice(PairGeometry()));
        ZENFS_ASSERT_OK(Metalog::Format(device, PairSuperblock(device.geometry()), InitialEdits()));
        {
          const auto log = OpenPairs(device);
          ASSERT_TRUE(log) << log.error().ToString();
          device.Inject({.command = Command::kWrite, .zone = ZoneId(zone), .code = code, .when = when});
          ZENFS_ASSERT_OK((*log)->Commit(CreateNamed(kFirstTestId)));
          EXPECT_EQ((*log)->stats().copies, 2u);
        }
        ExpectCommits(device, 1, fmt::format("zone {}", zone));
      }
    }
  }
}

TEST(MetalogPair, WithTooFewGoodZonesTheLogGoesOnWithOneCopy) {
  CrashDevice device(PairGeometry());
  ZENFS_ASSERT_OK(Metalog::Format(device, PairSuperblock(device.geometry()), InitialEdits()));
  ASSERT_EQ(CommitUpTo(device, 2), 2u);
  for (const std::uint32_t zone : {0u, 3u, 4u}) ZENFS_ASSERT_OK(Kill(device, ZoneId(zone), Death::kOffline));
  for (int i = 0; i < 3; ++i) ExpectCommits(device, 2, "mount", false);
  const auto log = OpenPairs(device);
  ASSERT_TRUE(log) << log.error().ToString();
  for (std::uint64_t i = 10; i < 80; ++i) ZENFS_ASSERT_OK((*log)->Commit(CreateNamed(kFirstTestId + i)));
  EXPECT_EQ((*log)->stats().copies, 1u);
  EXPECT_GT((*log)->stats().switches, 0u);
}

// A mount that is not possible with one copy: power loss in a log switch, and then a zone that may have been its target is
// offline.
TEST(MetalogPair, ADeadZoneDuringALogSwitchLeavesNoDoubt) {
  CrashDevice formatted(PairGeometry());
  ZENFS_ASSERT_OK(Metalog::Format(formatted, PairSuperblock(formatted.geometry()), InitialEdits()));
  ASSERT_EQ(CommitUpTo(formatted, 2), 2u);
  bool finished = false;
  for (std::uint64_t last = 0; !finished; ++last) {
    const auto device = formatted.Image(LossPolicy::KeepAll());
    device->StopAfter(last);
    if (const auto log = OpenPairs(*device)) static_cast<void>((*log)->Switch());
    finished = !device->stopped();
    for (std::uint32_t zone = 0; zone < kZones; ++zone) {
      const auto image = device->Image(LossPolicy::KeepAll());
      ZENFS_ASSERT_OK(Kill(*image, ZoneId(zone), Death::kOffline));
      ExpectCommits(*image, 2, fmt::format("after command {}, zone {}", last, zone), false);
    }
  }
}

// The zone of the n-th write goes offline before the write.
class DyingZone final : public ForwardingDevice {
 public:
  DyingZone(CrashDevice& device, std::uint64_t nth) : ForwardingDevice(device), device_(device), left_(nth) {}
  using ZonedDevice::Write;
  Status Write(DeviceOffset offset, std::span<const ByteView> pieces) override {
    if (left_ != 0 && --left_ == 0) {
      ZENFS_RETURN_IF_ERROR(device_.SetCondition(geometry().ZoneOf(offset), ZoneCondition::kOffline));
    }
    return inner().Write(offset, pieces);
  }
  std::unique_ptr<IoQueue> CreateQueue(std::size_t) override {
    return std::make_unique<ImmediateQueue>(*this);
  }
  bool died() const { return left_ == 0; }

 private:
  CrashDevice& device_;
  std::uint64_t left_;
};

// A zone may die at any write of a log switch, also at the SwitchComplete, and the power may be lost at any command after it.
TEST(MetalogPair, AZoneThatDiesInALogSwitchLeavesNoDoubtAfterAPowerLoss) {
  CrashDevice formatted(PairGeometry());
  ZENFS_ASSERT_OK(Metalog::Format(formatted, PairSuperblock(formatted.geometry()), InitialEdits()));
  ASSERT_EQ(CommitUpTo(formatted, 2), 2u);
  bool died = true;
  for (std::uint64_t write = 1; died; ++write) {
    bool finished = false;
    for (std::uint64_t last = 0; !finished; ++last) {
      const auto device = formatted.Image(LossPolicy::KeepAll());
      device->StopAfter(last);
      DyingZone dying(*device, write);
      if (const auto log = OpenPairs(dying)) static_cast<void>((*log)->Switch());
      finished = !device->stopped();
      died = dying.died();
      ExpectCommits(*device->Image(LossPolicy::KeepAll()), 2,
                    fmt::format("write {} meets a dead zone, power loss after command {}", write, last),
                    false);
      if (::testing::Test::HasFailure()) return;
    }
  }
}

// Power loss after every command of a workload of commits and log switches, with every subset of the unflushed writes; then
// any one zone dies, too. `max_active`: 0, or the fewest with which there are two copies.
void LosePowerAndAZone(std::uint32_t max_active, std::optional<std::uint32_t> dead_before) {
#if defined(ZENFS_SANITIZED)
  constexpr std::size_t kImages = 8;
#else
  constexpr std::size_t kImages = 40;
#endif
  CrashDevice formatted(PairGeometry(max_active));
  ZENFS_ASSERT_OK(Metalog::Format(formatted, PairSuperblock(formatted.geometry()), InitialEdits()));
  ASSERT_EQ(CommitUpTo(formatted, 2), 2u);
  if (max_active != 0) {
    AlignedBuffer block(4096);
    block.Append(AsBytes(std::string(4096, 'd')));
    for (std::uint32_t i = 0; i < kDataZones; ++i)
      ZENFS_ASSERT_OK(formatted.Write(formatted.geometry().ZoneStart(ZoneId(kZones + i)), block.View()));
    ZENFS_ASSERT_OK(formatted.Flush());
  }
  if (dead_before) {
    ZENFS_ASSERT_OK(Kill(formatted, ZoneId(*dead_before), Death::kOffline));
  }
  bool finished = false;
  for (std::uint64_t last = 0; !finished; ++last) {
    const auto device = formatted.Image(LossPolicy::KeepAll());
    device->StopAfter(last);
    const std::size_t acknowledged = std::max<std::size_t>(CommitUpTo(*device, 9), 2);
    finished = !device->stopped();
    const CrashDevice::Images images = device->EnumerateImages(kImages);
    for (std::size_t i = 0; i < images.images.size(); ++i) {
      const CrashDevice& image = *images.images[i];
      if (dead_before) {
        ExpectCommits(*image.Image(LossPolicy::KeepAll()), acknowledged,
                      fmt::format("after command {}, image {}", last, i), false);
        continue;
      }
      for (std::uint32_t zone = 0; zone <= kZones; ++zone) {  // kZones: none
        const auto broken = image.Image(LossPolicy::KeepAll());
        if (zone != kZones) {
          ZENFS_ASSERT_OK(Kill(*broken, ZoneId(zone), Death::kOffline));
        }
        ExpectCommits(*broken, acknowledged,
                      fmt::format("after command {}, image {}, zone {} dead", last, i, zone), false);
        if (::testing::Test::HasFailure()) return;
      }
    }
    if (::testing::Test::HasFailure()) return;
  }
}

TEST(MetalogPairCrash, PowerLossAndADeadZoneCostNoCommit) { LosePowerAndAZone(0, std::nullopt); }

TEST(MetalogPairCrash, PowerLossAndADeadZoneCostNoCommitOnADeviceWithFewSlots) {
  LosePowerAndAZone(8, std::nullopt);
}

// While the mount replaces the lost copy, and afterwards.
TEST(MetalogPairCrash, PowerLossWhileALostCopyIsReplacedCostsNoCommit) {
  for (std::uint32_t zone = 0; zone < kZones; ++zone) LosePowerAndAZone(0, zone);
}

// A commit whose frame is in one zone only when the power is lost is committed or not, and stays so: the mount that decides
// makes both copies agree before its first commit.
TEST(MetalogPairCrash, AFrameInOneCopyIsDecidedOnce) {
  CrashDevice formatted(PairGeometry());
  ZENFS_ASSERT_OK(Metalog::Format(formatted, PairSuperblock(formatted.geometry()), InitialEdits()));
  ASSERT_EQ(CommitUpTo(formatted, 2), 2u);
  ZENFS_ASSERT_OK(formatted.Flush());
  for (std::uint32_t zone = 0; zone < 2; ++zone) {
    const auto device = formatted.Image(LossPolicy::KeepAll());
    {
      FaultyDevice faulty(Borrow(*device));
      const auto log = OpenPairs(faulty);
      ASSERT_TRUE(log) << log.error().ToString();
      // The process dies between the two writes.
      faulty.Inject({.command = Command::kWrite, .zone = ZoneId(zone)});
      SyncPoint::Scope scope([&](std::string_view name) {
        if (name == "Metalog::BatchLead::Fence:fenced") device->StopAfter(device->commands());
      });
      EXPECT_FALSE((*log)->Commit(CreateNamed(kFirstTestId + 2)).ok());
    }
    const auto image = device->Image(LossPolicy::KeepAll());
    const auto found = Replay(*image, PairSuperblock(image->geometry()));
    ASSERT_TRUE(found) << found.error().ToString();
    ASSERT_EQ(CommitsIn(found->state), 3u);
    EXPECT_EQ(found->lost_copies, std::set{ZoneId(zone)});
    EXPECT_EQ(found->torn_copies, std::set{ZoneId(zone)});
    {
      const auto log = OpenPairs(*image);
      ASSERT_TRUE(log) << log.error().ToString();
      EXPECT_EQ((*log)->stats().switches, 1u);
      EXPECT_EQ((*log)->stats().copies, 2u);
      EXPECT_EQ((*log)->stats().lost_copy, "") << "a power loss is not damage";
    }
    ZENFS_ASSERT_OK(Kill(*image, ZoneId(1 - zone), Death::kOffline));
    ExpectCommits(*image, 3, fmt::format("zone {}", zone));
  }
}

}  // namespace
}  // namespace zenfs::metalog_copies_test
