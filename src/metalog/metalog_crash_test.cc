// Power loss after every command of a workload of commits and log switches. A mount must find all acknowledged commits.
#include <atomic>
#include <utility>

#include "base/sync_point.h"
#include "base/thread.h"
#include "metalog/metalog_test_util.h"
#include "testing/borrowed_device.h"
#include "testing/crash_device.h"
#include "testing/faulty_device.h"

namespace zenfs {
namespace {

constexpr std::uint32_t kZones = 3;
constexpr std::uint64_t kZoneBytes = 64 << 10;

// Commits that create files and rename over others. The state after each commit is known, so any prefix is recognized.
class Workload {
 public:
  explicit Workload(std::uint64_t commits) {
    State state;
    EXPECT_TRUE(state.Apply(InitialEdits()).ok());
    states_.push_back(state);
    for (std::uint64_t i = 0; i < commits; ++i) {
      const std::uint64_t id = kFirstTestId + i;
      std::vector<Edit> edits = CreateNamed(id);
      // Each commit also renames over an existing name, so a partly applied commit would be visible.
      edits.push_back(RenameEntry{kRootDirectory, fmt::format("file-{}", id), kRootDirectory,
                                  i % 3 == 0 ? "CURRENT" : fmt::format("f{}", i % 20)});
      EXPECT_TRUE(state.Apply(edits).ok());
      commits_.push_back(std::move(edits));
      states_.push_back(state);
    }
  }
  std::size_t size() const { return commits_.size(); }
  const std::vector<Edit>& commit(std::size_t i) const { return commits_[i]; }
  const State& after(std::size_t commits) const { return states_[commits]; }

 private:
  std::vector<std::vector<Edit>> commits_;
  std::vector<State> states_;
};

// Commits, with log switches in between, until an error. Returns the number of acknowledged commits.
std::size_t RunUntilError(ZonedDevice& device, const Workload& workload) {
  auto log = Metalog::Open(device, SuperblockFor(device.geometry(), kZones));
  if (!log) return 0;
  for (std::size_t i = 0; i < workload.size(); ++i) {
    if (i % 5 == 4 && !(*log)->Switch().ok()) return i;
    if (!(*log)->Commit(workload.commit(i)).ok()) return i;
  }
  return workload.size();
}

// A log switch that stops after its snapshot until Finish is called or the log is fenced.
class HeldSwitch {
 public:
  explicit HeldSwitch(Metalog& log)
      : switcher_("switcher", [this, &log] {
          done_ = log.Switch();
          Raise(held_);
        }) {
    held_.wait(false);
  }
  bool Finish() {
    Raise(released_);
    switcher_.Join();
    return done_.ok();
  }

 private:
  static void Raise(std::atomic<bool>& flag) {
    flag = true;
    flag.notify_all();
  }
  std::atomic<bool> held_ = false;
  std::atomic<bool> released_ = false;
  SyncPoint::Scope points_{[this](std::string_view name) {
    if (name == "Metalog::BatchLead::Fence:fenced") Raise(released_);
    if (name != "Metalog::Checkpoint::Try:snapshot-written") return;
    Raise(held_);
    released_.wait(false);
  }};
  Status done_;
  Thread switcher_;
};

// As above, with a commit in the middle of each log switch.
std::size_t RunWithCommitsBesideSwitches(ZonedDevice& device, const Workload& workload) {
  auto log = Metalog::Open(device, SuperblockFor(device.geometry(), kZones));
  if (!log) return 0;
  for (std::size_t i = 0; i < workload.size(); ++i) {
    if (i % 3 != 1) {
      if (!(*log)->Commit(workload.commit(i)).ok()) return i;
      continue;
    }
    HeldSwitch held(**log);
    const bool committed = (*log)->Commit(workload.commit(i)).ok();
    const bool switched = held.Finish();
    if (!committed) return i;
    if (!switched) return i + 1;
  }
  return workload.size();
}

// Expects the state of a prefix that includes all acknowledged commits, and that the log accepts commits after it.
void ExpectPrefix(CrashDevice& found, const Workload& workload, std::size_t acknowledged,
                  const std::string& where) {
  std::size_t commits = 0;
  {
    const auto log = Metalog::Open(found, SuperblockFor(found.geometry(), kZones));
    ASSERT_TRUE(log) << where << ": " << log.error().ToString();
    commits = (*log)->stats().sequence;
    ASSERT_GE(commits, acknowledged) << where;
    ASSERT_LE(commits, std::min(acknowledged + 1, workload.size())) << where;
    ASSERT_TRUE((*log)->recovered() == workload.after(commits)) << where;
    ZENFS_ASSERT_OK((*log)->Commit({BeginEpoch{1}}));
  }
  const auto again = Metalog::Open(found, SuperblockFor(found.geometry(), kZones));
  ASSERT_TRUE(again) << where << ": " << again.error().ToString();
  EXPECT_EQ((*again)->recovered().epoch(), 1u) << where;
}

class MetalogCrashTest : public ::testing::TestWithParam<std::uint32_t> {};

// D2, D3, D4: every commit renames over a name, and log switches are cut after every command.
TEST_P(MetalogCrashTest, EveryCommandMayBeTheLast) {
  EmulatorGeometry geometry = SmallGeometry(kZoneBytes, 4);
  geometry.max_active = geometry.max_open = GetParam();
  const Workload workload(20);
  CrashDevice formatted(geometry);
  ZENFS_ASSERT_OK(Formatted(formatted, kZones));
  bool finished = false;
  for (std::uint64_t last = 0; !finished; ++last) {
    const auto device = formatted.Image(LossPolicy::KeepAll());
    device->StopAfter(last);
    const std::size_t acknowledged = RunUntilError(*device, workload);
    finished = !device->stopped();
    for (std::uint64_t seed = 0; seed < 8; ++seed) {
      const LossPolicy policy = seed == 0   ? LossPolicy::KeepAll()
                                : seed == 1 ? LossPolicy::LoseAll()
                                            : LossPolicy::Random(last * 100 + seed);
      const auto found = device->Image(policy);
      ExpectPrefix(*found, workload, acknowledged, fmt::format("after command {}, seed {}", last, seed));
      if (HasFatalFailure()) return;
    }
  }
}

TEST_P(MetalogCrashTest, EveryCombinationOfLossesOfASmallWorkload) {
  EmulatorGeometry geometry = SmallGeometry(kZoneBytes, 4);
  geometry.max_active = geometry.max_open = GetParam();
  const Workload workload(6);
  CrashDevice formatted(geometry);
  ZENFS_ASSERT_OK(Formatted(formatted, kZones));
  bool finished = false;
  for (std::uint64_t last = 0; !finished; ++last) {
    const auto device = formatted.Image(LossPolicy::KeepAll());
    device->StopAfter(last);
    const std::size_t acknowledged = RunUntilError(*device, workload);
    finished = !device->stopped();
    CrashDevice::Images images = device->EnumerateImages(200);
    for (std::size_t i = 0; i < images.images.size(); ++i) {
      ExpectPrefix(*images.images[i], workload, acknowledged,
                   fmt::format("after command {}, image {}", last, i));
      if (HasFatalFailure()) return;
    }
  }
}

// The SwitchBegin in the old zone is a frame of its own, followed by commits made during the log switch.
TEST(MetalogCrash, PowerLossDuringASwitchIsNotDamage) {
  const Workload workload(6);
  CrashDevice formatted(SmallGeometry(kZoneBytes, 4));
  ZENFS_ASSERT_OK(Formatted(formatted, kZones));
  bool finished = false;
  for (std::uint64_t last = 0; !finished; ++last) {
    const auto device = formatted.Image(LossPolicy::KeepAll());
    device->StopAfter(last);
    const std::size_t acknowledged = RunWithCommitsBesideSwitches(*device, workload);
    finished = !device->stopped();
    CrashDevice::Images images = device->EnumerateImages(200);
    for (std::size_t i = 0; i < images.images.size(); ++i) {
      ExpectPrefix(*images.images[i], workload, acknowledged,
                   fmt::format("after command {}, image {}", last, i));
      if (HasFatalFailure()) return;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(ActiveZones, MetalogCrashTest, ::testing::Values(0u, 4u));

// Makes the snapshot need several zones: three commits of about 30 KiB each. `expected`: the state afterwards.
void CommitLargeFiles(CrashDevice& device, std::uint32_t zones, State& expected) {
  ASSERT_TRUE(expected.Apply(InitialEdits()).ok());
  const auto log = MustOpen(device, zones);
  for (std::uint64_t i = 0; i < 3; ++i) {
    std::vector<Edit> edits = CreateNamed(kFirstTestId + i);
    SetExtents large{.id = FileId(kFirstTestId + i)};
    for (std::uint64_t e = 0; e < 3'000; ++e) {
      large.extents.push_back({.file_offset = e * 4096,
                               .place = DeviceOffset((1ull << 40) + (i * 3'000 + e) * 8192),
                               .length = 4096});
      large.size += 4096;
    }
    edits.emplace_back(std::move(large));
    ASSERT_TRUE(expected.Apply(edits).ok());
    ZENFS_ASSERT_OK(log->Commit(std::move(edits)));
  }
}

// A log switch whose snapshot needs several zones: power loss after every command, with every subset of the unflushed
// writes. `in_doubt`: the first SwitchComplete is written but reported as failed, so the log switch tries again.
void LoseSubsetsOfALargeSwitch(bool in_doubt) {
  constexpr std::uint32_t kManyZones = 14;
  // Images per cut. Most cuts have more, because each zone of the chain loses writes independently.
#if defined(ZENFS_SANITIZED)  // sanitizers make each mount slow
  constexpr std::size_t kImages = 40;
#else
  constexpr std::size_t kImages = 300;
#endif
  const EmulatorGeometry geometry = SmallGeometry(kZoneBytes, kManyZones);
  const Superblock superblock = SuperblockFor(CrashDevice(geometry).geometry(), kManyZones);
  CrashDevice before(geometry);
  ZENFS_ASSERT_OK(Formatted(before, kManyZones));
  State expected;
  CommitLargeFiles(before, kManyZones, expected);
  ZENFS_ASSERT_OK(before.Flush());
  std::size_t images_seen = 0;
  std::size_t complete = 0;
  bool finished = false;
  for (std::uint64_t last = 0; !finished; ++last) {
    const auto device = before.Image(LossPolicy::KeepAll());
    device->StopAfter(last);
    {
      FaultyDevice faulty(Borrow(*device));
      const auto log = Metalog::Open(faulty, superblock);
      ASSERT_TRUE(log || device->stopped());
      bool injected = !in_doubt;
      SyncPoint::Scope scope([&](std::string_view name) {
        if (name != "Metalog::Checkpoint::CompleteGeneration:flushed" || std::exchange(injected, true))
          return;
        faulty.Inject({.command = FaultyDevice::Command::kWrite, .when = FaultyDevice::When::kAfter});
      });
      if (log && (*log)->Switch().ok()) {
        EXPECT_GT((*log)->stats().generation, in_doubt ? 2u : 1u);
      }
    }
    finished = !device->stopped();
    const CrashDevice::Images images = device->EnumerateImages(kImages);
    complete += images.complete ? 1 : 0;
    images_seen += images.images.size();
    for (const auto& image : images.images) {
      const auto log = Metalog::Open(*image, superblock);
      ASSERT_TRUE(log) << "after command " << last << ": " << log.error().ToString();
      ASSERT_TRUE((*log)->recovered() == expected) << "after command " << last;
      ZENFS_ASSERT_OK((*log)->Commit({BeginEpoch{1}}));
    }
  }
  EXPECT_GT(complete, 3u);
  testing::Test::RecordProperty("images", static_cast<int>(images_seen));
}

// D3, D5.
TEST(MetalogCrash, EverySubsetOfASnapshotOverSeveralZonesLeavesOneGenerationWhole) {
  LoseSubsetsOfALargeSwitch(/*in_doubt=*/false);
}

TEST(MetalogCrash, EverySubsetOfASwitchAfterAnUnknownSwitchCompleteLeavesOneGenerationWhole) {
  LoseSubsetsOfALargeSwitch(/*in_doubt=*/true);
}

// Power loss after every command of a log switch into a zone that held an earlier attempt at the same generation. That
// attempt's SwitchComplete was written but never flushed, and the zone was reset. Where the new attempt loses writes, the
// old frames may be visible again.
void SwitchOverAnEarlierAttempt(std::uint64_t files) {
  CrashDevice before(SmallGeometry(kZoneBytes, 4));
  const Superblock superblock = SuperblockFor(before.geometry(), kZones);
  ZENFS_ASSERT_OK(Formatted(before, kZones));
  ZENFS_ASSERT_OK(MustOpen(before, kZones)->Switch());
  ZENFS_ASSERT_OK(before.Reset(ZoneId(1)));
  {
    const auto log = MustOpen(before, kZones);
    ASSERT_EQ(log->stats().generation, 1u);
    std::vector<Edit> edits{BeginEpoch{1}};
    for (std::uint64_t i = 0; i < files; ++i)
      std::ranges::move(CreateNamed(kFirstTestId + i), std::back_inserter(edits));
    ZENFS_ASSERT_OK(log->Commit(std::move(edits)));
  }
  ZENFS_ASSERT_OK(before.Flush());
  bool finished = false;
  for (std::uint64_t last = 0; !finished; ++last) {
    const auto device = before.Image(LossPolicy::KeepAll());
    device->StopAfter(last);
    if (const auto log = Metalog::Open(*device, superblock)) static_cast<void>((*log)->Switch());
    finished = !device->stopped();
    for (const auto& image : device->EnumerateImages(400).images) {
      const auto log = Metalog::Open(*image, superblock);
      ASSERT_TRUE(log) << "after command " << last << ": " << log.error().ToString();
      EXPECT_EQ((*log)->recovered().files().size(), files) << "after command " << last;
    }
  }
}

TEST(MetalogCrash, ASwitchCompleteOfAnEarlierAttemptIsNotTrusted) { SwitchOverAnEarlierAttempt(0); }

// The new snapshot is larger than the earlier attempt. So a torn write could leave all frames of the earlier attempt
// visible, including its SwitchComplete.
TEST(MetalogCrash, FramesOfAnEarlierAttemptAreNotReplayed) { SwitchOverAnEarlierAttempt(200); }

// Repeated power losses during recovery and later commits.
TEST(MetalogCrash, RecoveryMayBeInterruptedToo) {
  const Workload workload(20);
  CrashDevice formatted(SmallGeometry(kZoneBytes, 4));
  ZENFS_ASSERT_OK(Formatted(formatted, kZones));
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    std::unique_ptr<CrashDevice> device = formatted.Image(LossPolicy::KeepAll());
    Random random(seed);
    std::uint64_t durable = 0;
    for (int crash = 0; crash < 12; ++crash) {
      device->StopAfter(random.Below(25));
      if (auto log = Metalog::Open(*device, SuperblockFor(device->geometry(), kZones))) {
        std::uint64_t next = (*log)->stats().sequence;
        ASSERT_GE(next, durable) << "seed " << seed;
        ASSERT_TRUE((*log)->recovered() == workload.after(next)) << "seed " << seed;
        durable = next;  // commits that a mount has shown must stay
        while (next < workload.size() && (*log)->Commit(workload.commit(next)).ok()) {
          durable = ++next;
          if (random.OneIn(4) && !(*log)->Switch().ok()) break;
        }
      } else {
        ASSERT_TRUE(device->stopped()) << "seed " << seed << ": " << log.error().ToString();
      }
      device = device->Image(LossPolicy::Random(random.Next()));
    }
    const auto log = Metalog::Open(*device, SuperblockFor(device->geometry(), kZones));
    ASSERT_TRUE(log) << "seed " << seed << ": " << log.error().ToString();
    ASSERT_GE((*log)->stats().sequence, durable) << "seed " << seed;
  }
}

}  // namespace
}  // namespace zenfs
