#include "format/frame_time.h"

#include <gtest/gtest.h>

namespace zenfs {
namespace {

constexpr std::uint64_t kNow = 1'800'000'000;

TEST(FrameTimeTest, TimesNearTheAnchorAreExact) {
  for (const std::uint64_t anchor :
       {kNow, std::uint64_t{0}, std::uint64_t{16'000}, std::uint64_t{32'767 * 5}}) {
    for (const std::int64_t distance : {-16'000, -1, 0, 1, 60, 3'600, 14'400, 16'000}) {
      if (distance < 0 && anchor < static_cast<std::uint64_t>(-distance)) continue;
      const std::uint64_t seconds = anchor + static_cast<std::uint64_t>(distance);
      EXPECT_EQ(DecodeFrameTime(EncodeFrameTime(seconds, anchor), anchor), seconds) << anchor << distance;
    }
  }
}

TEST(FrameTimeTest, TimesUpToElevenDaysAwayAreRoundedDownToSixtyFourSeconds) {
  for (const std::int64_t days : {-11, -3, -1, 1, 5, 11}) {
    const std::uint64_t seconds = kNow + static_cast<std::uint64_t>(days * 86'400);
    EXPECT_EQ(DecodeFrameTime(EncodeFrameTime(seconds, kNow), kNow), seconds / 64 * 64) << days;
  }
}

TEST(FrameTimeTest, ATimeFartherAwayIsUnknown) {
  EXPECT_EQ(EncodeFrameTime(kNow + 20 * 86'400, kNow), 0);
  EXPECT_EQ(DecodeFrameTime(0, kNow), std::nullopt);
  EXPECT_EQ(DecodeFrameTime(0x8000, kNow), std::nullopt);
}

TEST(FrameTimeTest, AnchorsThatDifferByMinutesGiveTheSameTime) {
  for (const std::uint64_t seconds : {kNow + 16'000, kNow - 16'000, kNow}) {
    const std::uint16_t code = EncodeFrameTime(seconds, kNow);
    EXPECT_EQ(DecodeFrameTime(code, kNow + 300), seconds);
    EXPECT_EQ(DecodeFrameTime(code, kNow - 300), seconds);
  }
}

TEST(FrameTimeTest, EveryCodeIsATimeNearTheAnchorOrUnknown) {
  for (std::uint32_t code = 0; code <= UINT16_MAX; ++code) {
    for (const std::uint64_t anchor : {std::uint64_t{0}, kNow, UINT64_MAX >> 1}) {
      const auto seconds = DecodeFrameTime(static_cast<std::uint16_t>(code), anchor);
      if (!seconds) continue;
      const std::uint64_t distance = *seconds < anchor ? anchor - *seconds : *seconds - anchor;
      EXPECT_LE(distance, 64ull * 32'768) << code;
    }
  }
}

}  // namespace
}  // namespace zenfs
