// Properties of the profiles, beyond the figures that tests/timing compares with measurements.
#include "backends/emulator/timing.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <utility>
#include <vector>

#include "base/random.h"

namespace zenfs {
namespace {

using Kind = TimedCommand::Kind;
using std::chrono::microseconds;
using std::chrono::milliseconds;

constexpr SteadyTime kNow{std::chrono::hours(1)};
constexpr std::uint64_t kMib = 1 << 20;

std::unique_ptr<DeviceClock> Clock(Timing timing, std::uint64_t seed = 1) {
  return MakeDeviceClock(timing, 16, 256 * kMib, seed);
}

TEST(DeviceClockTest, WithoutAProfileThereIsNone) { EXPECT_EQ(Clock(Timing::kNone), nullptr); }

TEST(DeviceClockTest, SameSeedGivesTheSameTimes) {
  const auto one = Clock(Timing::kZn540);
  const auto other = Clock(Timing::kZn540);
  const auto different = Clock(Timing::kZn540, 2);
  bool differs = false;
  for (int i = 0; i < 100; ++i) {
    const SteadyTime now = kNow + microseconds(i);
    const TimedCommand command{i % 2 == 0 ? Kind::kRead : Kind::kWrite, ZoneId(0), 4096};
    const SteadyTime due = one->Completion(command, now);
    EXPECT_EQ(other->Completion(command, now), due);
    differs |= different->Completion(command, now) != due;
  }
  EXPECT_TRUE(differs);
}

TEST(DeviceClockTest, WritesOfOneZoneFollowOneAnother) {
  for (const Timing timing : {Timing::kZn540, Timing::kBufferless}) {
    const auto clock = Clock(timing);
    SteadyTime last = kNow;
    for (int i = 0; i < 20; ++i) {
      const SteadyTime due = clock->Completion({Kind::kWrite, ZoneId(3), 8192}, kNow);
      EXPECT_GE(due, last + microseconds(9)) << TimingName(timing);
      last = due;
    }
  }
}

TEST(DeviceClockTest, AppendsOfOneZoneOverlap) {
  for (const Timing timing : {Timing::kZn540, Timing::kBufferless}) {
    const auto clock = Clock(timing);
    const SteadyTime first = clock->Completion({Kind::kAppend, ZoneId(3), 8192}, kNow);
    const SteadyTime second = clock->Completion({Kind::kAppend, ZoneId(3), 8192}, kNow);
    EXPECT_LT(second, first + (first - kNow)) << TimingName(timing);
  }
}

TEST(DeviceClockTest, CommandToldLateIsNotCompletedBeforeItWasSent) {
  for (const Timing timing : {Timing::kZn540, Timing::kBufferless}) {
    const auto clock = Clock(timing);
    (void)clock->Completion({Kind::kWrite, ZoneId(0), 4096}, kNow);
    for (const Kind kind :
         {Kind::kRead, Kind::kWrite, Kind::kAppend, Kind::kReset, Kind::kOpen, Kind::kClose}) {
      const SteadyTime sent = kNow - microseconds(50);
      EXPECT_GE(clock->Completion({kind, ZoneId(1), 4096}, sent), sent) << TimingName(timing);
    }
  }
}

TEST(DeviceClockTest, BufferTakesABurstAndThenHoldsWritesBack) {
  const auto clock = Clock(Timing::kZn540);
  SteadyTime now = kNow;
  for (int i = 0; i < 24; ++i) now = clock->Completion({Kind::kWrite, ZoneId(0), kMib / 8}, now);
  EXPECT_LT(now - kNow, milliseconds(2)) << "3 MiB, at the speed of the buffer";
  for (int i = 24; i < 800; ++i) now = clock->Completion({Kind::kWrite, ZoneId(0), kMib / 8}, now);
  EXPECT_NEAR(static_cast<double>((now - kNow) / microseconds(1)), (100.0 - 4) / 1147 * 1e6, 3000);
}

TEST(DeviceClockTest, ManyAppendsAtOnceDoNotOverrunTheBuffer) {
  const auto clock = Clock(Timing::kZn540);
  SteadyTime last = kNow;
  for (int i = 0; i < 256; ++i)
    last = std::max(last, clock->Completion({Kind::kAppend, ZoneId(0), kMib}, kNow));
  EXPECT_GT(last - kNow, milliseconds(215)) << "256 MiB at 1147 MiB/s, less the buffer";
}

TEST(DeviceClockTest, FinishOfASmallZoneIsAsShortAsItIs) {
  const auto clock = Clock(Timing::kZn540);
  const SteadyTime due = clock->Completion({Kind::kFinish, ZoneId(0), 64 * kMib}, kNow);
  EXPECT_NEAR(static_cast<double>((due - kNow) / microseconds(1)), 6300 + 64.0 / 1197 * 1e6, 10);
  EXPECT_EQ(clock->FinishCompletion(ZoneId(0), due), due);
}

TEST(DeviceClockTest, FinishAndWritesSlowEachOtherDown) {
  const auto clock = Clock(Timing::kZn540);
  const SteadyTime alone = clock->Completion({Kind::kFinish, ZoneId(0), 100 * kMib}, kNow);
  SteadyTime now = kNow;
  std::uint64_t written = 0;
  for (; now < alone; written += kMib / 8) now = clock->Completion({Kind::kWrite, ZoneId(1), kMib / 8}, now);
  const double share =
      static_cast<double>(written) / kMib / (std::chrono::duration<double>(now - kNow).count() * 1147);
  EXPECT_NEAR(share, 0.55, 0.07) << "half of the drive, and what the buffer took";
  SteadyTime due = alone;
  for (SteadyTime later = clock->FinishCompletion(ZoneId(0), due); later > due;) {
    due = later;
    later = clock->FinishCompletion(ZoneId(0), due);
  }
  EXPECT_NEAR(std::chrono::duration<double>(due - kNow).count(), 0.0063 + 100.0 / 1197 * 1.5, 0.008);
}

TEST(DeviceClockTest, FinishOfAnEmptyZoneTakesNoExtraTime) {
  const auto clock = Clock(Timing::kZn540);
  const SteadyTime due = clock->Completion({Kind::kFinish, ZoneId(0), 0}, kNow);
  EXPECT_EQ(due - kNow, microseconds(14));
  EXPECT_EQ(clock->FinishCompletion(ZoneId(0), due), due);
}

TEST(DeviceClockTest, ResetHoldsUpTheWritesOfOtherZones) {
  const auto clock = Clock(Timing::kZn540);
  SteadyTime now = kNow;
  for (int i = 0; i < 100; ++i) now = clock->Completion({Kind::kWrite, ZoneId(0), kMib / 8}, now);
  const SteadyTime reset = clock->Completion({Kind::kReset, ZoneId(1), 1077 * kMib}, now);
  EXPECT_EQ(std::chrono::round<microseconds>(reset - now), microseconds(15'500));
  const SteadyTime begin = now;
  for (int i = 0; i < 100; ++i) now = clock->Completion({Kind::kWrite, ZoneId(0), kMib / 8}, now);
  EXPECT_NEAR(static_cast<double>((now - begin) / microseconds(1)), 12'000 + 12.5 / 1147 * 1e6, 2000);
}

TEST(DeviceClockTest, BufferlessPageIsTransferredAndProgrammed) {
  const auto clock = Clock(Timing::kBufferless);
  EXPECT_EQ(clock->Completion({Kind::kWrite, ZoneId(0), 8192}, kNow) - kNow, microseconds(475));
  const auto other = Clock(Timing::kBufferless);
  EXPECT_EQ(other->Completion({Kind::kWrite, ZoneId(0), kMib}, kNow) - kNow, microseconds(25 + 4 * 450));
}

TEST(DeviceClockTest, BufferlessReadWaitsForOnePageAtMost) {
  const auto clock = Clock(Timing::kBufferless);
  (void)clock->Completion({Kind::kWrite, ZoneId(0), 16 * kMib}, kNow);
  const SteadyTime sent = kNow + milliseconds(1);
  EXPECT_LE(clock->Completion({Kind::kRead, ZoneId(0), 4096}, sent) - sent, microseconds(450 + 135));
}

TEST(TimingTest, NamesAndNumbersAreOfTheSameProfiles) {
  for (const Timing timing :
       {Timing::kNone, Timing::kZn540, Timing::kBufferless, Timing::kSmr, Timing::kSmallZone}) {
    EXPECT_EQ(*ParseTiming(TimingName(timing)), timing);
    EXPECT_EQ(TimingOfNumber(static_cast<std::uint32_t>(timing)), timing);
  }
  EXPECT_EQ(TimingOfNumber(5), std::nullopt);
  const auto wrong = ParseTiming("ZN540");
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().code(), Code::kInvalidArgument);
}

// The drive of zn540 whose zones have a die each.
class SmallZoneClockTest : public testing::Test {
 protected:
  // Of `zones` zones, written or read in turns, a command of `bytes` in flight in each.
  double MibPerSecond(Kind kind, std::uint32_t zones, std::uint64_t bytes) {
    const auto clock = MakeDeviceClock(Timing::kSmallZone, 64, 96 * kMib, 1);
    std::vector<SteadyTime> due(zones, kNow);
    const std::uint64_t rounds = 32 * kMib / bytes;
    for (std::uint64_t i = 0; i < rounds; ++i) {
      for (std::uint32_t zone = 0; zone < zones; ++zone)
        due[zone] = clock->Completion({kind, ZoneId(zone), bytes, i * bytes}, due[zone]);
    }
    const double seconds = std::chrono::duration<double>(*std::ranges::max_element(due) - kNow).count();
    return static_cast<double>(rounds * bytes * zones) / kMib / seconds;
  }
};

TEST_F(SmallZoneClockTest, FortyZonesTogetherHaveTheDrivesBandwidthAndOneAFortieth) {
  EXPECT_NEAR(MibPerSecond(Kind::kWrite, 1, 256 << 10), 1147 / 40.0, 1);
  EXPECT_NEAR(MibPerSecond(Kind::kWrite, 20, 256 << 10), 1147 / 2.0, 20);
  EXPECT_NEAR(MibPerSecond(Kind::kWrite, 40, 256 << 10), 1147, 40);
  EXPECT_NEAR(MibPerSecond(Kind::kWrite, 64, 256 << 10), 1147, 40);
}

TEST_F(SmallZoneClockTest, ReadsOfOneZoneWaitForItsDie) {
  EXPECT_NEAR(MibPerSecond(Kind::kRead, 1, 1 << 20), 1e6 / 65 / 64, 10) << "a page of 16 KiB takes 65 us";
  EXPECT_GT(MibPerSecond(Kind::kRead, 16, 1 << 20), 10 * MibPerSecond(Kind::kRead, 1, 1 << 20));
}

TEST_F(SmallZoneClockTest, AShortWriteIsAcknowledgedFromTheZonesBuffer) {
  const auto clock = MakeDeviceClock(Timing::kSmallZone, 64, 96 * kMib, 1);
  EXPECT_LT(clock->Completion({Kind::kWrite, ZoneId(0), 64 << 10}, kNow) - kNow, microseconds(100));
}

// A disk of 16 zones of 256 MiB; the figures hold for one of any size.
class DiskClockTest : public testing::Test {
 protected:
  static double Milliseconds(std::chrono::nanoseconds time) {
    return static_cast<double>(time.count()) / 1e6;
  }
  // Waits for each command. Returns the mean time of one.
  double MeanOf(int count, const std::function<TimedCommand()>& next) {
    const SteadyTime begin = now_;
    for (int i = 0; i < count; ++i) now_ = clock_->Completion(next(), now_);
    return Milliseconds(now_ - begin) / count;
  }
  TimedCommand At(Kind kind, std::uint32_t zone, std::uint64_t offset, std::uint64_t bytes) const {
    return {kind, ZoneId(zone), bytes, offset};
  }
  TimedCommand Anywhere(Kind kind, std::uint64_t bytes) {
    return At(kind, static_cast<std::uint32_t>(random_.Below(16)), random_.Below(255 * kMib) / 4096 * 4096,
              bytes);
  }
  double MegabytesPerSecond(std::uint32_t zone, Kind kind, int count) {
    std::uint64_t at = 0;
    const double ms = MeanOf(count, [&] { return At(kind, zone, std::exchange(at, at + kMib), kMib); });
    return static_cast<double>(kMib) / 1e3 / ms;
  }

  std::unique_ptr<DeviceClock> clock_ = Clock(Timing::kSmr);
  SteadyTime now_ = kNow;
  Random random_{1};
};

TEST_F(DiskClockTest, AReadAnywhereTakesASeekAndHalfARevolution) {
  const double mean = MeanOf(2000, [&] { return Anywhere(Kind::kRead, 4096); });
  EXPECT_NEAR(mean, 7.4 + 8.33 / 2 + 0.1, 0.4);
}

TEST_F(DiskClockTest, AReadThatGoesOnTakesTheTimeOfItsBytes) {
  EXPECT_NEAR(MegabytesPerSecond(0, Kind::kRead, 200), 245, 8);
  EXPECT_NEAR(MegabytesPerSecond(15, Kind::kRead, 200), 125, 6) << "the tracks inside are shorter";
}

TEST_F(DiskClockTest, TwoReadersPayForEachChange) {
  std::uint64_t at = 0;
  const double small =
      MeanOf(400, [&] { return At(Kind::kRead, at / 4096 % 2 * 8, std::exchange(at, at + 4096), 4096); });
  at = 0;
  const double large =
      MeanOf(100, [&] { return At(Kind::kRead, at / kMib % 2 * 8, std::exchange(at, at + kMib), kMib); });
  EXPECT_GT(small, 8);
  EXPECT_LT(large, small + 8) << "a MiB costs little more than a block";
}

TEST_F(DiskClockTest, AWriteIsInTheCacheAndAFlushWaitsForTheDisk) {
  EXPECT_LT(MeanOf(100, [&] { return Anywhere(Kind::kWrite, 4096); }), 0.2);
  const double flush = MeanOf(1, [&] { return At(Kind::kFlush, 0, 0, 0); });
  EXPECT_NEAR(flush, 100 * (8.2 + 8.33 / 2), 150);
  EXPECT_NEAR(MeanOf(10, [&] { return At(Kind::kFlush, 0, 0, 0); }), 0.1, 0.01) << "there is nothing left";
}

TEST_F(DiskClockTest, MoreWritesThanTheCacheHoldsGoAtTheRateOfTheDisk) {
  std::uint64_t at = 0;
  const auto next = [&] {
    return At(Kind::kWrite, at / (256 * kMib) % 16, std::exchange(at, at + kMib) % (256 * kMib), kMib);
  };
  MeanOf(512, next);  // fill the cache
  EXPECT_NEAR(static_cast<double>(kMib) / 1e3 / MeanOf(1024, next), 220, 25);
}

TEST_F(DiskClockTest, WritesOfManyZonesAreGatheredInTheCache) {
  std::uint64_t step = 0;
  const auto next = [&] {
    const std::uint64_t zone = step % 8;
    return At(Kind::kWrite, static_cast<std::uint32_t>(zone), step++ / 8 * 64 * 1024, 64 * 1024);
  };
  MeanOf(8000, next);
  EXPECT_GT(65.536 / MeanOf(4000, next), 100) << "MB a second";
}

TEST_F(DiskClockTest, AReadGoesBeforeWritesThatWait) {
  for (int i = 0; i < 1000; ++i) now_ = clock_->Completion(Anywhere(Kind::kWrite, 4096), now_);
  EXPECT_LT(MeanOf(20, [&] { return Anywhere(Kind::kRead, 4096); }), 40);
}

}  // namespace
}  // namespace zenfs
