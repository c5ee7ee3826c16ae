#include "file/extent_checksum.h"

#include "file/plain_file_test_rig.h"
#include "testing/bit_rot.h"

namespace zenfs {
namespace {

class ExtentChecksumTest : public testing::Test {
 protected:
  static constexpr std::uint64_t kLength = 300 * kTestBlock + 777;  // more than kReadForCutMax
  static constexpr std::uint64_t kOffset = 7 * kTestBlock;          // file offset of the extent

  ExtentChecksumTest() {
    AlignedBuffer blocks(kLength);
    blocks.Append(AsBytes(content_));
    blocks.PadTo(kTestBlock);
    EXPECT_TRUE(rig_.device.Write(DeviceOffset(0), blocks.View()).ok());
  }
  std::uint32_t Sum(std::uint64_t length) const { return Crc32c(AsBytes(content_).first(length)); }
  // Returns the CRC of the bytes on the device, as a scrub calculates it.
  std::uint32_t SumOnDevice(std::uint64_t length) {
    std::string text(length, '?');
    EXPECT_TRUE(
        ReadExtents(rot_, std::span(&extent_, 1), kOffset, std::as_writable_bytes(std::span(text))).ok());
    return Crc32c(AsBytes(text));
  }

  const std::string content_ = Pattern(kLength, 1);
  ZoneTestRig rig_{TestGeometry(4, 512)};
  BitRot rot_{rig_.device};
  Extent extent_{kOffset, DeviceOffset(0), kLength, Sum(kLength)};
};

TEST_F(ExtentChecksumTest, TheFrontOfACutExtentHasTheChecksumOfItsBytes) {
  for (const std::uint64_t length : {kLength - kReadForCutMax, 270 * kTestBlock + 1, 290 * kTestBlock,
                                     kLength - 778, kLength - 1, kLength}) {
    EXPECT_EQ(CrcOfFront(rig_.device, extent_, length), Sum(length)) << length;
  }
}

TEST_F(ExtentChecksumTest, ALargeCutReadsNothingAndLeavesNoChecksum) {
  for (const std::uint64_t length : {std::uint64_t{1}, kTestBlock, kLength - kReadForCutMax - 1}) {
    EXPECT_EQ(CrcOfFront(rig_.device, extent_, length), std::nullopt) << length;
  }
  EXPECT_EQ(rig_.device.count(FaultyDevice::Command::kRead), 0U);
}

TEST_F(ExtentChecksumTest, DamageAnywhereInAnExtentIsFoundInItsRest) {
  const std::uint64_t length = 250 * kTestBlock + 5;
  for (const std::uint64_t byte : {std::uint64_t{0}, length - 1, length, kLength - 1}) {
    rot_.Heal();
    rot_.Flip(extent_.place + byte);
    EXPECT_NE(CrcOfFront(rot_, extent_, length), SumOnDevice(length)) << byte;
  }
}

TEST_F(ExtentChecksumTest, TheRestHasNoChecksumIfTheRemovedBytesAreUnreadable) {
  rig_.device.Inject(
      {.command = FaultyDevice::Command::kRead,
       .times = FaultyDevice::kForEver,
       .bytes = FaultyDevice::Bytes{extent_.place + 280 * kTestBlock, extent_.place + 281 * kTestBlock}});
  EXPECT_EQ(CrcOfFront(rig_.device, extent_, 270 * kTestBlock), std::nullopt);
  EXPECT_EQ(CrcOfFront(rig_.device, extent_, 281 * kTestBlock), Sum(281 * kTestBlock)) << "that block stays";
}

TEST_F(ExtentChecksumTest, AnExtentWithoutAChecksumIsNotRead) {
  extent_.crc.reset();
  EXPECT_EQ(CrcOfFront(rig_.device, extent_, 10), std::nullopt);
  EXPECT_EQ(rig_.device.count(FaultyDevice::Command::kRead), 0U);
}

TEST_F(ExtentChecksumTest, ACutAtABoundDividesNoExtent) {
  for (const std::uint64_t end : {std::uint64_t{0}, kOffset, kOffset + kLength, kOffset + kLength + 1}) {
    EXPECT_EQ(FrontOfDivided(rig_.device, std::span(&extent_, 1), end), std::nullopt) << end;
  }
  EXPECT_EQ(FrontOfDivided(rig_.device, std::span(&extent_, 1), kOffset + kLength - 5),
            (Extent{kOffset, extent_.place, kLength - 5, Sum(kLength - 5)}));
}

}  // namespace
}  // namespace zenfs
