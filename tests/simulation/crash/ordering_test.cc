// The orders of writes on which the design relies, one test each, with every loss that a few
// unflushed commands allow.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "testing/bit_rot.h"
#include "verify.h"
#include "workloads.h"

namespace zenfs::ordering_test {
namespace {

constexpr std::uint64_t kNever = UINT64_MAX;

// Checks all images of `run` against the client's expectation. Returns the first error.
std::string VerifyAllImages(const WorkloadRun& run, std::size_t limit) {
  auto [images, complete] = run.device->EnumerateImages(limit);
  for (std::size_t i = 0; i < images.size(); ++i) {
    std::string why = VerifyImage(*images[i], CrashKind::kPowerLost, {&run.client->model()});
    if (!why.empty()) return fmt::format("image {} of {}: {}", i, images.size(), why);
  }
  return {};
}

// Cuts `work` off after each command in [first, last].
std::string CutEverywhere(const EmulatorGeometry& geometry, const Workload& work, std::uint64_t first,
                          std::uint64_t last, std::size_t limit) {
  for (std::uint64_t cut = first; cut <= last; ++cut) {
    const WorkloadRun run = RunWorkload(geometry, work, cut);
    if (run.client == nullptr) continue;
    if (run.over() && !run.device->stopped()) return "fails without a crash: " + run.WhyOver();
    if (const std::string why = VerifyAllImages(run, limit); !why.empty()) {
      return fmt::format("after command {} of {}: {}", cut, last, why);
    }
  }
  return {};
}

// A seal that the end of a mount commits must not be durable before the frames that it covers.
TEST(Ordering, SealAtTheEndOfAMountNeverOutlivesItsFrames) {
  const auto work = [](WorkloadRun& r) {
    r.client->Create("a", "a.log");
    r.client->Log("a", 2, 100);
    r.client->Create("b", "b.log");
    r.client->Log("b", 1, 100);
    for (const char* log : {"a", "b"}) {
      r.client->Append(log, 6000);
      r.client->Flush(log);
    }
  };
  const auto ended = [&](WorkloadRun& r) {
    work(r);
    r.client->Unmount();
  };
  const EmulatorGeometry geometry = ShapeNamed("Plenty").geometry;
  const std::uint64_t before = RunWorkload(geometry, work, kNever).device->commands();
  const WorkloadRun whole = RunWorkload(geometry, ended, kNever);
  ASSERT_FALSE(whole.over()) << whole.WhyOver();
  EXPECT_EQ(CutEverywhere(geometry, ended, before - 4, whole.device->commands(), 200), "");
}

// Loss after a clean unmount is damage, even the loss of the last frame, and is reported.
TEST(Ordering, LastFrameThatIsGoneBehindACleanEndIsNamed) {
  WorkloadRun run = RunWorkload(
      ShapeNamed("Plenty").geometry,
      [](WorkloadRun& r) {
        r.client->Create("log", "log.log");
        r.client->Log("log", 3, 100);
      },
      kNever);
  ASSERT_FALSE(run.over()) << run.WhyOver();
  const auto layout = run.volume->Layout("log.log");
  ASSERT_TRUE(layout);
  run.client->Unmount();
  run.volume.reset();
  BitRot rot(*run.device);
  rot.Flip(layout->frames.back().place);
  const auto volume = MountBorrowed(rot);
  ASSERT_TRUE(volume) << volume.error().ToString();
  ASSERT_EQ((*volume)->notices().size(), 1u);
  EXPECT_NE((*volume)->notices().front().find("bytes 200 to 300 are lost"), std::string::npos)
      << (*volume)->notices().front();
}

TEST(Ordering, FramesBeyondAGapStayDeadWhenTheGapIsFilledAgain) {
  WorkloadRun run = RunWorkload(
      ShapeNamed("Plenty").geometry,
      [](WorkloadRun& r) {
        r.client->Create("log", "log.log");
        r.client->Log("log", 10, 100);
        for (int frame = 11; frame <= 13; ++frame) {
          r.client->Append("log", 100);
          r.client->Flush("log");
        }
      },
      kNever);
  ASSERT_FALSE(run.over()) << run.WhyOver();
  auto [images, complete] = run.device->EnumerateImages(400);
  std::size_t with_gap = 0;
  for (const auto& image : images) {
    const std::shared_ptr<Volume> volume = *MountBorrowed(*image);
    const std::string found = *ReadWhole(*volume, "log.log");
    ASSERT_EQ(run.client->model().WhyNot(*Find(*volume), CrashKind::kPowerLost), "");
    if (found.size() == 1300) continue;
    ++with_gap;
    // The lost frame is written again with the same length; power is then lost at once, or after a
    // sync.
    const std::unique_ptr<FileHandle> log = *volume->OpenForAppend("log.log", false);
    const std::string again(100, '#');
    ASSERT_TRUE(log->Append(AsBytes(again)).ok());
    ASSERT_TRUE(log->Flush().ok());
    auto [second, all] = image->EnumerateImages(50);
    ASSERT_TRUE(log->Sync().ok());
    const auto synced = image->Image(LossPolicy::LoseAll());
    for (const auto& each : second) {
      const std::string content = *ReadWhole(**MountBorrowed(*each), "log.log");
      ASSERT_TRUE(content == found || content == found + again) << content.size() << " bytes";
    }
    ASSERT_EQ(*ReadWhole(**MountBorrowed(*synced), "log.log"), found + again);
  }
  EXPECT_GT(with_gap, 3u);
}

// D3 in docs/internals/failures.md.
TEST(Ordering, ASwitchTakesEffectWithItsCompletionOnly) {
  // Commits until the metadata log has switched twice, then a few more.
  const Workload work = [](WorkloadRun& run) {
    const std::uint64_t first = run.volume->counters().metalog.generation;
    for (int i = 0; i < 400 && !run.over() && run.volume->counters().metalog.generation < first + 2; ++i) {
      run.client->WriteFile(fmt::format("file-{}", i % 9), 10);
    }
    for (int i = 0; i < 3; ++i) run.client->WriteFile(fmt::format("late-{}", i), 10);
  };
  const EmulatorGeometry geometry = ShapeNamed("TinyZones").geometry;
  const WorkloadRun whole = RunWorkload(geometry, work, kNever);
  ASSERT_FALSE(whole.over()) << whole.WhyOver();
  ASSERT_GE(whole.volume->counters().metalog.generation, 3u);
  const std::uint64_t total = whole.device->commands();
  const std::uint64_t first = FullRun() ? 0 : total - std::min<std::uint64_t>(total, 45);
  EXPECT_EQ(CutEverywhere(geometry, work, first, total, FullRun() ? 40 : 8), "");
}

// D2 in docs/internals/failures.md.
TEST(Ordering, CurrentIsTheOldOneOrTheNewOneWhereverARenameIsCutOff) {
  const Workload work = [](WorkloadRun& run) {
    run.client->WriteFile("CURRENT", 16);
    for (int i = 0; i < 3; ++i) {
      run.client->WriteFile("1.dbtmp", 16);
      run.client->Rename("1.dbtmp", "CURRENT");
    }
    run.client->Create("unsynced", "2.dbtmp");
    run.client->Append("unsynced", 16);
    run.client->Rename("2.dbtmp", "CURRENT");
  };
  for (const char* name : {"Plenty", "FourActive"}) {
    const EmulatorGeometry geometry = ShapeNamed(name).geometry;
    const WorkloadRun whole = RunWorkload(geometry, work, kNever);
    ASSERT_FALSE(whole.over()) << whole.WhyOver();
    EXPECT_EQ(CutEverywhere(geometry, work, 0, whole.device->commands(), 30), "") << name;
  }
}

TEST(Ordering, AZoneIsResetOnlyWhenTheUnlinkIsDurable) {
  const EmulatorGeometry geometry = ShapeNamed("Plenty").geometry;
  const Workload work = [&](WorkloadRun& run) {
    run.client->WriteFile("whole-zone.sst", geometry.capacity());
    run.client->WriteFile("another.sst", geometry.capacity());
    run.client->Unlink("whole-zone.sst");
    run.client->WriteFile("third.sst", 2 * geometry.capacity());
    run.client->Unlink("third.sst");
    run.client->WriteFile("fourth.sst", 100);
  };
  const WorkloadRun whole = RunWorkload(geometry, work, kNever);
  ASSERT_FALSE(whole.over()) << whole.WhyOver();
  EXPECT_EQ(CutEverywhere(geometry, work, 0, whole.device->commands() + 2, 24), "");
}

TEST(Ordering, IdsAreNotUsedAgainAfterACrash) {
  const EmulatorGeometry geometry = ShapeNamed("Plenty").geometry;
  for (std::uint64_t cut = 0; cut < 60; ++cut) {
    std::uint64_t highest = 0;
    const WorkloadRun run = RunWorkload(
        geometry,
        [&](WorkloadRun& r) {
          for (int i = 0; i < 12; ++i) {
            auto file = r.volume->Create(fmt::format("never-synced-{}", i));
            if (!file) return;
            highest = std::max(highest, (*file)->id().value);
            r.client->WriteFile(fmt::format("synced-{}", i), 10);
          }
        },
        cut);
    if (run.volume == nullptr) continue;
    for (const LossPolicy loss : Losses(cut, 2)) {
      const auto image = run.device->Image(loss);
      const auto volume = MountBorrowed(*image);
      ASSERT_TRUE(volume) << volume.error().ToString();
      EXPECT_GT((*(*volume)->Create("after"))->id().value, highest)
          << "after command " << cut << ", " << Describe(loss);
    }
  }
}

TEST(Ordering, SyncedFramesSurviveWithoutAMetadataCommit) {
  WorkloadRun run = RunWorkload(
      ShapeNamed("NoLimits").geometry,
      [](WorkloadRun& r) {
        r.client->Create("log", "log.log");
        r.client->Sync("log");
      },
      kNever);
  ASSERT_FALSE(run.over()) << run.WhyOver();
  // The background allocates log zones, with its own commits; wait until it is idle.
  bool none = false;
  for (int round = 0; round < 5 && !none; ++round) {
    const std::uint64_t before = run.volume->counters().metalog.commits;
    run.client->Log("log", 20, 300);
    none = run.volume->counters().metalog.commits == before;
  }
  EXPECT_TRUE(none);
  EXPECT_EQ(VerifyAllImages(run, 20), "") << run.WhyOver();
}

}  // namespace
}  // namespace zenfs::ordering_test
