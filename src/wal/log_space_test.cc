// The places of frames; behaviour if a zone cannot take them.
// Several threads write at once, in an order that the test decides.
#include "wal/log_space.h"

#include <gtest/gtest.h>

#include <atomic>
#include <optional>
#include <set>

#include "base/random.h"
#include "base/sync_point.h"
#include "base/thread.h"
#include "testing/device_data.h"
#include "wal/frame_read.h"
#include "wal/wal_test_rig.h"

namespace zenfs::log_space_test {
namespace {

using Command = FaultyDevice::Command;

constexpr std::size_t kBlocksAZone = 8;

std::vector<PlacedFrame> MustWrite(WalRig& rig, TestJob& job) {
  auto placed = rig.log->writer().Write(job.job);
  EXPECT_TRUE(placed) << placed.error().ToString();
  return placed ? std::move(*placed) : std::vector<PlacedFrame>();
}

// The payload of a frame of exactly `blocks` blocks.
std::size_t PayloadOf(std::size_t blocks) { return blocks * kTestBlock - kFrameHeaderBytes; }

std::string TextAt(WalRig& rig, const PlacedFrame& frame) {
  const std::uint64_t begin = RoundDown(frame.payload.value, kTestBlock);
  const auto bytes = ReadBack(rig.device, DeviceOffset(begin),
                              RoundUp(frame.payload.value - begin + frame.length, kTestBlock));
  return std::string(AsText(bytes.value().View(frame.payload.value - begin, frame.length)));
}

TEST(LogSpaceTest, FramesStandOneBehindTheOtherAndAreFoundByAScan) {
  WalRig rig(TestGeometry(8, kBlocksAZone));
  rig.Mount();
  TestJob first(5, 1, 0, TestText(100, 1));
  TestJob second(6, 1, 0, TestText(5000, 2));
  const auto a = MustWrite(rig, first);
  const auto b = MustWrite(rig, second);
  ASSERT_EQ(a.size(), 1U);
  ASSERT_EQ(b.size(), 1U);
  EXPECT_EQ(b[0].payload - a[0].payload, kTestBlock);
  EXPECT_EQ(b[0].device_bytes, 2 * kTestBlock);
  EXPECT_EQ(TextAt(rig, a[0]), TestText(100, 1));
  EXPECT_EQ(TextAt(rig, b[0]), TestText(5000, 2));
  EXPECT_EQ(rig.log->writer().payload_bytes(), 5100U);
  EXPECT_EQ(rig.log->writer().payload_bytes() + rig.log->writer().padding_bytes(), 3 * kTestBlock);
}

TEST(LogSpaceTest, FrameSplitAtTheZoneEndFillsTheZoneToItsLastBlock) {
  WalRig rig(TestGeometry(8, kBlocksAZone));
  rig.Mount();
  const std::string text = TestText(20 * kTestBlock, 3);  // more than two zones
  TestJob job(5, 4, 1000, text);
  const auto placed = MustWrite(rig, job);
  ASSERT_EQ(placed.size(), 3U);
  std::string joined;
  std::uint64_t sequence = 4;
  for (const PlacedFrame& part : placed) {
    EXPECT_EQ(part.sequence, sequence++);
    EXPECT_EQ(part.file_offset, 1000 + joined.size());
    joined += TextAt(rig, part);
  }
  EXPECT_EQ(joined, text);
  EXPECT_EQ(placed[0].device_bytes, kBlocksAZone * kTestBlock);
  EXPECT_EQ(rig.ConditionOf(placed[0].pin.zone()), ZoneCondition::kFull);
  EXPECT_EQ(rig.ConditionOf(placed[1].pin.zone()), ZoneCondition::kFull);
}

TEST(LogSpaceTest, BufferIsLeftAtItsSize) {
  WalRig rig(TestGeometry(8, kBlocksAZone));
  rig.Mount();
  TestJob job(5, 1, 0, TestText(100, 1));
  const std::size_t size = job.buffer.size();
  MustWrite(rig, job);
  EXPECT_EQ(job.buffer.size(), size);
  EXPECT_EQ(AsText(job.buffer.View(kFrameHeaderBytes, 100)), TestText(100, 1));
}

// D13 of docs/internals/failures.md.
TEST(LogSpaceTest, FailedZoneIsLeftAndTheFrameStandsInTheNext) {
  WalRig rig(TestGeometry(8, kBlocksAZone));
  rig.Mount();
  TestJob first(5, 1, 0, TestText(100, 1));
  const auto a = MustWrite(rig, first);
  rig.device.Inject({.command = Command::kWrite, .when = FaultyDevice::When::kAfter});
  TestJob second(5, 2, 100, TestText(200, 2));
  const auto b = MustWrite(rig, second);
  ASSERT_EQ(b.size(), 1U);
  EXPECT_NE(b[0].pin.zone(), a[0].pin.zone());
  EXPECT_EQ(b[0].sequence, 2U);
  EXPECT_EQ(TextAt(rig, b[0]), TestText(200, 2));
  EXPECT_EQ(rig.ConditionOf(a[0].pin.zone()), ZoneCondition::kFull)
      << "an open zone would keep an active slot without need";
  EXPECT_FALSE(rig.WasReleased(a[0].pin.zone())) << "its first frame is live";
}

TEST(LogSpaceTest, ZonesThatTheDeviceEndsAreNoError) {
  WalRig rig(TestGeometry(12, kBlocksAZone), 6);
  rig.Mount();
  TestJob first(5, 1, 0, TestText(100, 1));
  const auto a = MustWrite(rig, first);
  ASSERT_TRUE(rig.emulator.SetCondition(a[0].pin.zone(), ZoneCondition::kFull).ok());
  rig.device.Inject({.command = Command::kWrite, .kth = 2, .times = 4, .code = Code::kZoneFull});
  TestJob second(5, 2, 100, TestText(200, 2));
  const auto b = MustWrite(rig, second);
  EXPECT_EQ(TextAt(rig, b.at(0)), TestText(200, 2));
}

TEST(LogSpaceTest, DeviceThatEndsEveryZoneIsToldBeforeItWearsThemOut) {
  WalRig rig(TestGeometry(8, kBlocksAZone));
  rig.Mount();
  rig.device.Inject({.command = Command::kWrite, .times = 20'000, .code = Code::kZoneFull});
  const auto placed = rig.log->writer().Write(TestJob(1, 1, 0, TestText(100, 1)).job);
  ASSERT_FALSE(placed);
  EXPECT_LT(rig.device.count(Command::kWrite), 100U);
  rig.device.ClearFaults();
  EXPECT_TRUE(rig.log->writer().Write(TestJob(1, 2, 0, TestText(100, 1)).job));
}

TEST(LogSpaceTest, DeviceWithoutASlotIsWaitedForAndTheZoneIsKept) {
  WalRig rig(TestGeometry(8, kBlocksAZone));
  rig.Mount();
  TestJob first(5, 1, 0, TestText(100, 1));
  const auto a = MustWrite(rig, first);
  rig.device.Inject({.command = Command::kWrite, .times = 5, .code = Code::kBusy});
  TestJob second(5, 2, 100, TestText(200, 2));
  const auto b = MustWrite(rig, second);
  EXPECT_EQ(b.at(0).pin.zone(), a.at(0).pin.zone());
  EXPECT_EQ(b.at(0).payload - a.at(0).payload, kTestBlock);
}

TEST(LogSpaceTest, ErrorOfEveryZoneReachesTheWriterAndLeavesNothingLive) {
  WalRig rig(TestGeometry(8, kBlocksAZone));
  rig.Mount();
  rig.device.Inject({.command = Command::kWrite, .times = 100});
  TestJob job(5, 1, 0, TestText(100, 1));
  const auto failed = rig.log->writer().Write(job.job);
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().code(), Code::kIo);
  EXPECT_NE(failed.error().text().find("log zone"), std::string::npos) << failed.error().text();
  rig.device.ClearFaults();
  TestJob again(5, 1, 0, TestText(100, 1));
  EXPECT_EQ(MustWrite(rig, again).size(), 1U);
}

TEST(LogSpaceTest, PartsOfAFailedFrameDoNotKeepTheirZone) {
  WalRig rig(TestGeometry(8, kBlocksAZone));
  rig.Mount();
  rig.device.Inject({.command = Command::kWrite, .kth = 2, .times = 100});
  TestJob job(5, 1, 0, TestText(2 * PayloadOf(kBlocksAZone), 1));  // the first part fills a zone
  ASSERT_FALSE(rig.log->writer().Write(job.job));
  rig.device.ClearFaults();
  const State state = rig.state();
  for (const auto& [zone, allocation] : state.log_zones()) {
    if (rig.ConditionOf(zone) == ZoneCondition::kFull) {
      EXPECT_TRUE(rig.WaitUntilReleased(zone));
    }
  }
}

TEST(LogSpaceTest, PlaceTellsWhatWasPlacedBeforeTheErrorAndGoesOnBehindIt) {
  WalRig rig(TestGeometry(16, kBlocksAZone), 6);
  rig.Mount();
  const Deadline soon = WalRig::Soon();
  while (rig.log->zones().Zones().size() < 6 && !soon.Passed())
    SleepUntil(SteadyNow() + std::chrono::milliseconds(1));
  const std::string text = TestText(2 * PayloadOf(kBlocksAZone), 1);
  TestJob job(5, 1, 0, text);
  rig.device.Inject({.command = Command::kWrite, .kth = 2, .times = 3});
  std::vector<PlacedFrame> placed;
  ASSERT_FALSE(rig.log->writer().Place(job.job, placed).ok());
  ASSERT_EQ(placed.size(), 1U);
  TestJob again(5, 2, 0, text);
  again.job.placed_before = placed.at(0).length;
  ASSERT_TRUE(rig.log->writer().Place(again.job, placed).ok());
  ASSERT_EQ(placed.size(), 2U);
  EXPECT_EQ(placed.at(1).sequence, 2U);
  EXPECT_EQ(TextAt(rig, placed.at(0)) + TextAt(rig, placed.at(1)), text);
}

TEST(LogSpaceTest, UnsplitFrameGoesToTheNextZoneAsAWhole) {
  WalRig rig(TestGeometry(16, kBlocksAZone));
  rig.Mount();
  TestJob first(5, 1, 0, TestText(100, 1));
  const auto a = MustWrite(rig, first);
  TestJob whole(5, 2, 100, TestText(PayloadOf(kBlocksAZone), 2));
  whole.job.unsplit = true;
  const auto b = MustWrite(rig, whole);
  ASSERT_EQ(b.size(), 1U);
  EXPECT_NE(b.at(0).pin.zone(), a.at(0).pin.zone());
  EXPECT_EQ(rig.ConditionOf(a.at(0).pin.zone()), ZoneCondition::kFull) << "a finished zone has no slot";
  TestJob too_large(5, 3, 0, TestText(PayloadOf(kBlocksAZone) + 1, 3));
  too_large.job.unsplit = true;
  EXPECT_EQ(rig.log->writer().Write(too_large.job).error().code(), Code::kNoSpace);
}

TEST(LogSpaceTest, FrameIsReadBackOnlyIfItIsTheOneThatWasPlaced) {
  WalRig rig(TestGeometry(16, kBlocksAZone));
  rig.Mount();
  TestJob job(5, 1, 70, TestText(5000, 1));
  const auto placed = MustWrite(rig, job);
  TestJob behind(5, 2, 5070, TestText(5000, 1));
  MustWrite(rig, behind);
  const Piece piece = placed.at(0).ToPiece();
  const auto read = [&](std::uint64_t owner, const Piece& wanted) {
    AlignedBuffer buffer(wanted.frame_bytes);
    const FrameSeed seed = *rig.log->zones().SeedOf(rig.device.geometry().ZoneOf(wanted.place));
    const Status status = ReadFrame(rig.device, seed, FileId(owner), wanted, buffer);
    if (!status.ok()) return std::string(CodeName(status.error().code()));
    return std::string(AsText(buffer.View(kFrameHeaderBytes, buffer.size() - kFrameHeaderBytes)));
  };
  EXPECT_EQ(read(5, piece), TestText(5000, 1));
  const std::string lost(CodeName(Code::kCorruption));
  EXPECT_EQ(read(6, piece), lost);
  Piece other = piece;
  other.sequence = 2;
  EXPECT_EQ(read(5, other), lost);
  other = piece;
  other.file_offset = 0;
  EXPECT_EQ(read(5, other), lost);
  other = piece;
  other.place = piece.place + kTestBlock;
  EXPECT_EQ(read(5, other), lost);
}

TEST(LogSpaceTest, FlushIsSentOnlyForThoseWhoAskAndOnlyWithAVolatileCache) {
  for (const bool is_volatile : {true, false}) {
    EmulatorOptions options;
    options.volatile_cache = is_volatile;
    WalRig rig(TestGeometry(8, kBlocksAZone), 1, options);
    rig.Mount();
    const std::uint64_t before = rig.Count(Command::kFlush);
    TestJob plain(5, 1, 0, "a");
    MustWrite(rig, plain);
    EXPECT_EQ(rig.Count(Command::kFlush), before);
    TestJob flushed(5, 2, 1, "b", true);
    MustWrite(rig, flushed);
    EXPECT_EQ(rig.Count(Command::kFlush), before + (is_volatile ? 1 : 0));
  }
}

TEST(LogSpaceTest, FailedFlushIsTheErrorOfThoseWhoAskedForIt) {
  WalRig rig(TestGeometry(8, kBlocksAZone));
  rig.Mount();
  rig.device.Inject({.command = Command::kFlush});
  TestJob job(5, 1, 0, "a", true);
  const auto failed = rig.log->writer().Write(job.job);
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().code(), Code::kIo);
}

TEST(LogSpaceTest, PartlyWrittenZoneIsFilledFirstAfterAMount) {
  WalRig rig(TestGeometry(8, kBlocksAZone), 2);
  rig.Mount();
  TestJob first(5, 1, 0, TestText(100, 1));
  DeviceOffset end;
  {
    const auto a = MustWrite(rig, first);
    end = a.at(0).payload + kTestBlock;
  }
  rig.Mount();
  rig.log->zones().AddLive(rig.ZoneOf(end), {kTestBlock, 1});
  TestJob second(5, 2, 100, TestText(100, 2));
  EXPECT_EQ(MustWrite(rig, second).at(0).payload, end);
}

// A zone that failed and could not be finished, and the zone that replaced it: together they would take all
// slots of data.
class PartlyWrittenZones : public testing::Test {
 protected:
  PartlyWrittenZones() : rig_(Geometry(), 2) {
    rig_.Mount();
    for (std::uint64_t sequence = 1; sequence <= 2; ++sequence) {
      rig_.device.Inject({.command = Command::kWrite, .times = sequence - 1});
      rig_.device.Inject({.command = Command::kFinish, .times = sequence - 1});
      TestJob job(5, sequence, sequence * 100, TestText(100, sequence));
      zones_.insert(MustWrite(rig_, job).at(0).pin.zone());
    }
    EXPECT_EQ(zones_.size(), 2U);
    EXPECT_EQ(Active(), 2);
    rig_.device.ClearFaults();
  }
  static EmulatorGeometry Geometry() {
    EmulatorGeometry geometry = TestGeometry(8, kBlocksAZone);
    geometry.max_open = geometry.max_active = 4;
    return geometry;
  }
  std::ptrdiff_t Active() {
    return std::ranges::count_if(zones_, [&](ZoneId zone) { return IsActive(rig_.ConditionOf(zone)); });
  }

  WalRig rig_;
  std::set<ZoneId> zones_;
};

TEST_F(PartlyWrittenZones, OneStaysActiveAfterAMount) {
  rig_.Mount(/*start_log=*/false);
  EXPECT_EQ(Active(), 1);
  TestJob next(5, 3, 300, TestText(100, 3));
  EXPECT_TRUE(zones_.contains(MustWrite(rig_, next).at(0).pin.zone()));
}

// If the device is full of logs, there is no other zone for the frame.
TEST_F(PartlyWrittenZones, AllAreThereForWhatAMountRecovers) {
  std::set<ZoneId> used;
  rig_.recover = [&] {
    rig_.FailAllocations(1000);
    std::uint64_t offset = 300;
    for (std::uint64_t sequence = 3; used.size() < zones_.size(); ++sequence, offset += kTestBlock) {
      TestJob job(5, sequence, offset, TestText(kTestBlock, sequence));
      for (const PlacedFrame& part : MustWrite(rig_, job)) used.insert(part.pin.zone());
      ASSERT_LT(sequence, 100U);
    }
  };
  rig_.Mount(/*start_log=*/false);
  EXPECT_EQ(used, zones_);
  EXPECT_EQ(Active(), 1);
}

TEST(LogSpaceTest, RandomFramesNeverOverlapAndKeepTheirBytes) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    Random random(seed);
    WalRig rig(TestGeometry(40, kBlocksAZone), 2);
    rig.Mount();
    std::vector<std::pair<PlacedFrame, std::string>> all;
    std::uint64_t sequence = 1;
    std::uint64_t offset = 0;
    for (int i = 0; i < 40; ++i) {
      const std::string text = TestText(1 + random.Below(4 * kTestBlock), random.Next());
      TestJob job(5, sequence, offset, text);
      if (random.OneIn(5))
        rig.device.Inject(
            {.command = Command::kWrite,
             .when = random.OneIn(2) ? FaultyDevice::When::kBefore : FaultyDevice::When::kAfter});
      std::uint64_t at = 0;
      for (PlacedFrame& part : MustWrite(rig, job)) {
        const std::uint64_t length = part.length;
        EXPECT_EQ(part.sequence, sequence++);
        all.emplace_back(std::move(part), text.substr(at, length));
        at += length;
      }
      EXPECT_EQ(at, text.size());
      offset += text.size();
    }
    std::set<std::uint64_t> blocks;
    for (const auto& [frame, text] : all) {
      EXPECT_EQ(TextAt(rig, frame), text);
      for (std::uint64_t b = 0; b < frame.device_bytes; b += kTestBlock) {
        EXPECT_TRUE(blocks.insert(RoundDown(frame.payload.value, kTestBlock) + b).second);
      }
    }
  }
}

// Holds the first leader until `followers` more jobs are queued.
class HeldLeader {
 public:
  explicit HeldLeader(int followers)
      : scope_([this, followers](std::string_view name) {
          if (name == "FrameWriter::Place:queued") {
            ++queued_;
            queued_.notify_all();
          } else if (name == "FrameWriter::Lead" && !led_.exchange(true)) {
            leading_ = true;
            leading_.notify_all();
            for (int n = queued_; n < 1 + followers; n = queued_) queued_.wait(n);
          }
        }) {}
  void WaitUntilLeading() { leading_.wait(false); }
  void WaitUntilQueued(int jobs) {
    for (int n = queued_; n < jobs; n = queued_) queued_.wait(n);
  }

 private:
  std::atomic<int> queued_ = 0;
  std::atomic<bool> led_ = false;
  std::atomic<bool> leading_ = false;
  SyncPoint::Scope scope_;
};

TEST(LogSpaceGroupTest, FramesThatWaitGoOutInOneDeviceWriteAndOneFlush) {
  constexpr int kFollowers = 7;
  WalRig rig(TestGeometry(8, 64));
  rig.Mount();
  ASSERT_TRUE(rig.WaitUntilAllocated(1));
  std::atomic<int> failures = 0;
  {
    HeldLeader leader(kFollowers);
    std::vector<Thread> threads;
    for (int i = 0; i < 1 + kFollowers; ++i) {
      threads.emplace_back("writer", [&rig, &failures, i] {
        TestJob job(static_cast<std::uint64_t>(10 + i), 1, 0, TestText(300, static_cast<std::uint64_t>(i)),
                    true);
        const auto placed = rig.log->writer().Write(job.job);
        if (!placed || placed->size() != 1) ++failures;
      });
      if (i == 0) leader.WaitUntilLeading();
    }
    for (Thread& thread : threads) thread.Join();
  }
  EXPECT_EQ(failures, 0);
  EXPECT_EQ(rig.Count(Command::kWrite), 2U) << "the frame of the leader, then those of all others";
  EXPECT_EQ(rig.Count(Command::kFlush), 2U);
}

// Until the file points to its frame, the frame's zone can't be cleaned; it may be the zone that the other one waits for.
TEST(LogSpaceGroupTest, FrameThatIsPlacedDoesNotWaitForTheZoneOfAnother) {
  WalRig rig(TestGeometry(8, 4), 1);
  rig.Mount();
  ASSERT_TRUE(rig.WaitUntilAllocated(1));
  std::atomic<int> queued = 0;
  std::atomic<bool> led = false, leading = false, no_next_zone = true, whole_returned = false;
  bool returned_first = false;
  const SyncPoint::Scope scope([&](std::string_view name) {
    if (name == "LogZoneSupply::Work") {
      no_next_zone.wait(true);
    } else if (name == "FrameWriter::Place:queued") {
      ++queued;
      queued.notify_all();
    } else if (name == "FrameWriter::Lead" && !led.exchange(true)) {
      leading = true;
      leading.notify_all();
      for (int n = queued; n < 3; n = queued) queued.wait(n);
    } else if (name == "FrameWriter::NextZone" && no_next_zone && queued >= 3) {
      const Deadline soon = Deadline::After(std::chrono::seconds(10));
      while (!whole_returned && !soon.Passed()) SleepUntil(SteadyNow() + std::chrono::milliseconds(1));
      returned_first = whole_returned;
      no_next_zone = false;
      no_next_zone.notify_all();
    }
  });
  const auto write = [&rig](std::uint64_t owner, std::size_t bytes) {
    TestJob job(owner, 1, 0, TestText(bytes, owner), true);
    const auto placed = rig.log->writer().Write(job.job);
    EXPECT_TRUE(placed);
    return placed ? placed->size() : 0;
  };
  Thread leader("writer", [&] { write(10, 100); });
  leading.wait(false);
  Thread whole("writer", [&] {
    EXPECT_EQ(write(11, 100), 1U);
    whole_returned = true;
  });
  for (int n = queued; n < 2; n = queued) queued.wait(n);
  Thread split("writer", [&] { EXPECT_EQ(write(12, 3 * kTestBlock), 2U); });
  for (Thread* thread : {&leader, &whole, &split}) thread->Join();
  EXPECT_TRUE(returned_first);
}

TEST(LogSpaceGroupTest, FrameThatWasPlacedBeforeAnothersFailureIsFlushedAllTheSame) {
  WalRig rig(TestGeometry(8, 4), 4);
  rig.Mount();
  ASSERT_TRUE(rig.WaitUntilAllocated(4));
  // The leader's frame takes three blocks, the first follower's the fourth. The second follower's zone
  // fails.
  rig.device.Inject({.command = Command::kWrite, .kth = 3, .times = 100});
  std::optional<bool> second, third;
  {
    HeldLeader leader(2);
    Thread a("writer", [&] {
      TestJob job(10, 1, 0, TestText(3 * kTestBlock - kFrameHeaderBytes, 1));
      EXPECT_TRUE(rig.log->writer().Write(job.job));
    });
    leader.WaitUntilLeading();
    Thread b("writer", [&] {
      TestJob job(11, 1, 0, TestText(100, 2), true);
      second = rig.log->writer().Write(job.job).has_value();
    });
    leader.WaitUntilQueued(2);
    Thread c("writer", [&] {
      TestJob job(12, 1, 0, TestText(100, 3), true);
      third = rig.log->writer().Write(job.job).has_value();
    });
    a.Join();
    b.Join();
    c.Join();
  }
  EXPECT_EQ(second, true);
  EXPECT_EQ(third, false);
  EXPECT_EQ(rig.Count(Command::kFlush), 1U) << "the second frame must be stable";
}

TEST(LogSpaceGroupTest, ManyThreadsFillAndFreeZonesWithoutLosingCount) {
  // Nothing cleans here, and threads may stop anywhere: each of up to eight frames of a thread may keep a zone.
  constexpr int kThreads = 8;
  WalRig rig(TestGeometry(8 * kThreads + 16, 8), 2);
  rig.Mount();
  std::atomic<int> failures = 0;
  {
    std::vector<Thread> threads;
    for (int t = 0; t < kThreads; ++t) {
      threads.emplace_back("writer", [&rig, &failures, t] {
        Random random(static_cast<std::uint64_t>(t) + 1);
        std::vector<PlacedFrame> kept;
        for (std::uint64_t i = 1; i <= 150; ++i) {
          TestJob job(static_cast<std::uint64_t>(t) + 10, i * 8, i, TestText(1 + random.Below(6000), i),
                      random.OneIn(3));
          auto placed = rig.log->writer().Write(job.job);
          if (!placed) {
            ++failures;
            break;
          }
          for (PlacedFrame& frame : *placed) kept.push_back(std::move(frame));
          while (kept.size() > 6) {
            const ZoneId zone = kept.front().pin.zone();
            const LiveFrames frames{kept.front().device_bytes, kept.front().length};
            kept.erase(kept.begin());
            rig.log->zones().RemoveLive(zone, frames);
          }
        }
        for (PlacedFrame& frame : kept) {
          const ZoneId zone = frame.pin.zone();
          frame.pin = ZonePin();
          rig.log->zones().RemoveLive(zone, {frame.device_bytes, frame.length});
        }
      });
    }
  }
  EXPECT_EQ(failures, 0);
  // All zones except the current one and the ready ones can be released now.
  rig.log->supply().ReleaseDead();
  rig.log->Stop();
  EXPECT_LE(rig.state().log_zones().size(), 4U);
  EXPECT_EQ(rig.zones->Check(), std::vector<std::string>());
}

}  // namespace
}  // namespace zenfs::log_space_test
