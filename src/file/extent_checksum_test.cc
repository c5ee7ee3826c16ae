#include "file/extent_checksum.h"

#include "file/plain_file_test_rig.h"
#include "testing/bit_rot.h"

namespace zenfs {
namespace {

class ExtentChecksumTest : public testing::Test {
 protected:
  static constexpr std::uint64_t kLength = 300 * kTestBlock + 777;  // more than one read
  static constexpr std::uint64_t kOffset = 7 * kTestBlock;          // file offset of the extent

  ExtentChecksumTest() {
    AlignedBuffer blocks(kLength);
    blocks.Append(AsBytes(content_));
    blocks.PadTo(kTestBlock);
    EXPECT_TRUE(rig_.device.Write(DeviceOffset(0), blocks.View()).ok());
  }
  std::uint32_t Sum(std::uint64_t length) const { return Crc32c(AsBytes(content_).first(length)); }
  // The first `length` bytes of the extent after a cut behind them.
  std::optional<Extent> Front(std::uint64_t length) {
    const auto front = FrontOfDivided(rot_, std::span(&extent_, 1), kOffset + length);
    EXPECT_TRUE(front.ok()) << front.error().ToString();
    return front.value_or(std::nullopt);
  }

  const std::string content_ = Pattern(kLength, 1);
  ZoneTestRig rig_{TestGeometry(4, 512)};
  BitRot rot_{rig_.device};
  Extent extent_{kOffset, DeviceOffset(0), kLength, Sum(kLength)};
};

TEST_F(ExtentChecksumTest, TheFrontOfACutExtentHasTheChecksumOfItsBytes) {
  for (const std::uint64_t length :
       {std::uint64_t{1}, kTestBlock, 270 * kTestBlock + 1, 290 * kTestBlock, kLength - 778, kLength - 1}) {
    EXPECT_EQ(Front(length)->crc, Sum(length)) << length;
  }
}

// RocksDB deletes large files at a limited rate by truncations of 64 MiB.
TEST_F(ExtentChecksumTest, ALargeCutOfALongExtentReadsNothingAndLeavesNoChecksum) {
  extent_.length = kLongExtent + kTestBlock;
  for (const std::uint64_t length : {std::uint64_t{1}, kTestBlock, extent_.length - kShortCut - 1}) {
    const auto front = Front(length);
    ASSERT_TRUE(front);
    EXPECT_EQ(front->crc, std::nullopt) << length;
    EXPECT_EQ(front->length, length);
  }
  EXPECT_EQ(rig_.device.count(FaultyDevice::Command::kRead), 0U);
}

// A damaged or forged extent may claim terabytes of holes.
TEST_F(ExtentChecksumTest, KnownZerosAreNotRead) {
  class WithHole : public ForwardingDevice {
   public:
    using ForwardingDevice::ForwardingDevice;
    std::uint64_t KnownZeros(DeviceOffset from, std::uint64_t length) override {
      return from.value < kLength ? 0 : length;
    }
  };
  WithHole device(rig_.device);
  const std::uint64_t data = 256 * kTestBlock;
  const std::uint64_t hole = 3 * std::uint64_t{1} << 40;
  const DeviceOffset behind(RoundUp(kLength, std::uint64_t{kTestBlock}));
  const Extent zeros{kOffset, behind, hole, Crc32cOfZeros(hole)};
  EXPECT_TRUE(FitsChecksum(device, zeros));
  EXPECT_EQ(rig_.device.count(FaultyDevice::Command::kRead), 0U);
  const Extent bytes{kOffset, DeviceOffset(0), data, Sum(data)};
  EXPECT_TRUE(FitsChecksum(device, bytes));
  EXPECT_FALSE(FitsChecksum(device, Extent{kOffset, behind, hole, 1}));
}

TEST_F(ExtentChecksumTest, AnExtentWithDamageOnEitherSideOfTheCutIsNotDivided) {
  const std::uint64_t length = 250 * kTestBlock + 5;
  for (const std::uint64_t byte : {std::uint64_t{0}, length - 1, length, kLength - 1}) {
    rot_.Heal();
    rot_.Flip(extent_.place + byte);
    const auto front = FrontOfDivided(rot_, std::span(&extent_, 1), kOffset + length);
    ASSERT_FALSE(front.ok()) << byte;
    EXPECT_EQ(front.error().code(), Code::kCorruption);
    EXPECT_NE(front.error().text().find("zone 0 at byte 0"), std::string::npos) << front.error().text();
  }
}

TEST_F(ExtentChecksumTest, AnExtentWithUnreadableBytesIsNotDivided) {
  rig_.device.Inject(
      {.command = FaultyDevice::Command::kRead,
       .times = FaultyDevice::kForEver,
       .bytes = FaultyDevice::Bytes{extent_.place + 280 * kTestBlock, extent_.place + 281 * kTestBlock}});
  const auto front = FrontOfDivided(rig_.device, std::span(&extent_, 1), kOffset + 270 * kTestBlock);
  ASSERT_FALSE(front.ok());
  EXPECT_EQ(front.error().code(), Code::kIo);
}

TEST_F(ExtentChecksumTest, AnExtentWithoutAChecksumIsCutWithoutReads) {
  extent_.crc.reset();
  EXPECT_EQ(Front(10)->crc, std::nullopt);
  EXPECT_EQ(rig_.device.count(FaultyDevice::Command::kRead), 0U);
}

TEST_F(ExtentChecksumTest, ACutAtABoundDividesNoExtent) {
  for (const std::uint64_t end : {std::uint64_t{0}, kOffset, kOffset + kLength, kOffset + kLength + 1}) {
    const auto front = FrontOfDivided(rig_.device, std::span(&extent_, 1), end);
    ASSERT_TRUE(front.ok());
    EXPECT_EQ(*front, std::nullopt) << end;
  }
  EXPECT_EQ(Front(kLength - 5), (Extent{kOffset, extent_.place, kLength - 5, Sum(kLength - 5)}));
}

TEST_F(ExtentChecksumTest, BytesAreOnlyReadToBeWrittenAgainIfTheirWholeExtentIsRight) {
  for (const std::uint64_t from : {std::uint64_t{0}, std::uint64_t{5}, 200 * kTestBlock + 3, kLength - 1}) {
    std::string text(kLength - from, '?');
    const auto into = std::as_writable_bytes(std::span(text));
    ASSERT_TRUE(ReadVerified(rot_, extent_, kOffset + from, into).ok());
    EXPECT_TRUE(text == content_.substr(from));
    for (const std::uint64_t byte : {std::uint64_t{0}, from, kLength - 1}) {
      rot_.Flip(extent_.place + byte);
      const Status read = ReadVerified(rot_, extent_, kOffset + from, into);
      ASSERT_FALSE(read.ok()) << byte;
      EXPECT_EQ(read.error().code(), Code::kCorruption);
      rot_.Heal();
    }
  }
}

}  // namespace
}  // namespace zenfs
