#include "format/superblock_correction.h"

#include <gtest/gtest.h>

#include <string>

namespace zenfs {
namespace {

Superblock Example() {
  Superblock superblock;
  superblock.uuid = superblock.seed = *Uuid::Parse("01234567-89ab-4def-8123-456789abcdef");
  superblock.label = "a label";
  superblock.block_size = 4096;
  superblock.zone_size = 1 << 20;
  superblock.zone_count = 40;
  superblock.metadata_zones = {ZoneId(0), ZoneId(1), ZoneId(2)};
  return superblock;
}

std::string WithFlips(std::initializer_list<std::size_t> bits) {
  std::string bytes = EncodeSuperblock(Example());
  for (const std::size_t bit : bits) bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ (1 << (bit % 8)));
  return bytes;
}

TEST(SuperblockCorrection, OneFlippedBitIsCorrected) {
  for (std::size_t bit = 0; bit < kSuperblockBytes * 8; bit += bit < 128 ? 1 : 7) {
    EXPECT_EQ(CorrectSuperblock(AsBytes(WithFlips({bit}))), Example()) << bit;
  }
}

TEST(SuperblockCorrection, TwoFlippedBitsAreNotCorrected) {
  EXPECT_FALSE(CorrectSuperblock(AsBytes(WithFlips({100, 9000}))));
  EXPECT_FALSE(CorrectSuperblock(AsBytes(WithFlips({200, 201}))));
  EXPECT_FALSE(CorrectSuperblock(AsBytes(WithFlips({3, 9000}))));
  EXPECT_FALSE(CorrectSuperblock(AsBytes(WithFlips({3, 40}))));
}

TEST(SuperblockCorrection, ValidAndForeignBytesAreNotCorrected) {
  EXPECT_FALSE(CorrectSuperblock(AsBytes(WithFlips({}))));
  EXPECT_FALSE(CorrectSuperblock(AsBytes(std::string(kSuperblockBytes, '\0'))));
  EXPECT_FALSE(CorrectSuperblock(AsBytes(std::string("short"))));
}

}  // namespace
}  // namespace zenfs
