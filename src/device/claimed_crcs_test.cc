#include "device/claimed_crcs.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "backends/emulator/emulator.h"
#include "base/random.h"
#include "device/read_or_zeros.h"
#include "testing/device_data.h"
#include "testing/read_counter.h"

namespace zenfs::claimed_crcs_test {
namespace {

constexpr std::uint64_t kBlock = 4096;
constexpr std::uint64_t kZoneBytes = 8 << 20;
constexpr std::uint64_t kHoleBegin = 3 << 20;
constexpr std::uint64_t kHoleEnd = 5 << 20;

// Knows that [kHoleBegin, kHoleEnd) of its zone is zeros. Counts the bytes that are read.
class DeviceWithHole final : public ReadCounter {
 public:
  DeviceWithHole(ZonedDevice& device, DeviceOffset zone) : ReadCounter(device), zone_(zone) {}

  std::uint64_t KnownZeros(DeviceOffset from, std::uint64_t length) override {
    const bool inside = from >= zone_ + kHoleBegin && from < zone_ + kHoleEnd;
    return inside ? std::min(length, zone_ + kHoleEnd - from) : 0;
  }

 private:
  const DeviceOffset zone_;
};

class ClaimedCrcsTest : public testing::Test {
 protected:
  ClaimedCrcsTest()
      : memory_(CreateMemoryDevice({.zones = 4,
                                    .zone_size = kZoneBytes,
                                    .zone_capacity = kZoneBytes,
                                    .max_open = 4,
                                    .max_active = 4})),
        zone_(memory_->geometry().ZoneStart(ZoneId(1))),
        bytes_(Pattern(kZoneBytes, 3)),
        device_(*memory_, zone_) {
    std::ranges::fill(bytes_.Span().subspan(kHoleBegin, kHoleEnd - kHoleBegin), std::byte{});
    EXPECT_TRUE(memory_->Write(zone_, bytes_.View()).ok());
  }
  std::uint32_t Expected(std::uint64_t from, std::uint64_t length) const {
    return Crc32c(bytes_.View(from, length));
  }

  std::unique_ptr<EmulatorDevice> memory_;
  const DeviceOffset zone_;
  AlignedBuffer bytes_;
  DeviceWithHole device_;
};

TEST_F(ClaimedCrcsTest, WhateverIsClaimedTheCrcIsThatOfTheBytes) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    Random random(seed);
    ClaimedCrcs crcs(device_, zone_);
    for (std::uint64_t from = 0; from < kZoneBytes; from += random.Below(40) * kBlock) {
      const std::uint64_t most = std::min(kZoneBytes - from, std::uint64_t{1} << (10 + random.Below(14)));
      const std::uint64_t length = random.Below(most + 1);
      if (const KnownCrc crc = crcs.Of(from, length)) {
        ASSERT_EQ(*crc, Expected(from, length)) << from << " " << length;
      }
    }
  }
}

TEST_F(ClaimedCrcsTest, TheCallerLooksAtWhatNobodyClaimedBefore) {
  ClaimedCrcs crcs(device_, zone_);
  EXPECT_FALSE(crcs.Of(0, 1 << 20));
  EXPECT_FALSE(crcs.Of(1 << 20, 1 << 20));
  EXPECT_EQ(crcs.Of((1 << 20) + kBlock, 100), Expected((1 << 20) + kBlock, 100)) << "claimed before";
  EXPECT_FALSE(crcs.Of(2 << 20, 1 << 20));
  EXPECT_EQ(crcs.Of(3 << 20, 4 << 20), Expected(3 << 20, 4 << 20)) << "with a hole";
}

TEST_F(ClaimedCrcsTest, BytesThatEachBlockClaimsAreReadOnce) {
  ClaimedCrcs crcs(device_, zone_);
  for (std::uint64_t from = 0; from < kHoleBegin; from += kBlock) {
    const std::uint64_t length = std::min<std::uint64_t>(kZoneBytes - from, kHoleEnd + (1 << 20) - from);
    if (const KnownCrc crc = crcs.Of(from, length)) {
      ASSERT_EQ(*crc, Expected(from, length));
    }
  }
  const std::uint64_t claimed = kHoleEnd + (1 << 20);
  EXPECT_LE(device_.bytes_read, claimed - (kHoleEnd - kHoleBegin) + kScanStepBytes) << "the hole is not read";
}

}  // namespace
}  // namespace zenfs::claimed_crcs_test
