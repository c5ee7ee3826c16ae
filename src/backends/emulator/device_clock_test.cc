// Properties of the profiles, beyond the figures that tests/timing compares with measurements.
#include "backends/emulator/device_clock.h"

#include <gtest/gtest.h>

#include <vector>

namespace zenfs {
namespace {

using Kind = TimedCommand::Kind;
using std::chrono::microseconds;
using std::chrono::milliseconds;

constexpr SteadyTime kNow{std::chrono::hours(1)};
constexpr std::uint64_t kMib = 1 << 20;

std::unique_ptr<DeviceClock> Clock(Timing timing, std::uint64_t seed = 1) {
  return MakeDeviceClock(timing, 16, seed);
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
  for (const Timing timing : {Timing::kNone, Timing::kZn540, Timing::kBufferless}) {
    EXPECT_EQ(*ParseTiming(TimingName(timing)), timing);
    EXPECT_EQ(TimingOfNumber(static_cast<std::uint32_t>(timing)), timing);
  }
  EXPECT_EQ(TimingOfNumber(3), std::nullopt);
  const auto wrong = ParseTiming("ZN540");
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().code(), Code::kInvalidArgument);
}

}  // namespace
}  // namespace zenfs
