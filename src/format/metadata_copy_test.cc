#include "format/metadata_copy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "format/superblock.h"

namespace zenfs {
namespace {

MetadataCopy Example(std::size_t zones) {
  MetadataCopy copy{.uuid = Uuid::Generate(),
                    .seed = Uuid::Generate(),
                    .block_size = 4096,
                    .zone_size = 1 << 20,
                    .zone_count = 100,
                    .made_seconds = 1'795'308'621,
                    .highest_sequence = 57,
                    .next_generation = 4,
                    .repaired_sequence = 58};
  for (std::uint32_t i = 0; i < zones; ++i) {
    copy.zones.push_back({ZoneId(i), 4u, 4096u * i, 0x1234u + i, i % 2});
  }
  return copy;
}

TEST(MetadataCopyTest, EncodedIsDecodedAgain) {
  for (const std::size_t zones : {std::size_t{0}, std::size_t{3}, kMaxMetadataZones}) {
    const MetadataCopy copy = Example(zones);
    const std::string head = EncodeMetadataCopy(copy);
    ASSERT_EQ(head.size(), kMetadataCopyHeadBytes);
    const auto back = DecodeMetadataCopy(AsBytes(head));
    ASSERT_TRUE(back) << back.error().ToString();
    EXPECT_EQ(*back, copy);
  }
}

TEST(MetadataCopyTest, EveryFlippedBitIsRefused) {
  const std::string head = EncodeMetadataCopy(Example(3));
  for (std::size_t bit = 0; bit < head.size() * 8; ++bit) {
    std::string flipped = head;
    flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ (1 << (bit % 8)));
    ASSERT_FALSE(DecodeMetadataCopy(AsBytes(flipped))) << bit;
  }
}

TEST(MetadataCopyTest, OtherFilesAreInvalidArguments) {
  const auto short_file = DecodeMetadataCopy(AsBytes(std::string(100, 'x')));
  ASSERT_FALSE(short_file);
  EXPECT_EQ(short_file.error().code(), Code::kInvalidArgument);
  EXPECT_EQ(DecodeMetadataCopy(AsBytes(std::string(kMetadataCopyHeadBytes, '\0'))).error().code(),
            Code::kInvalidArgument);
}

TEST(MetadataCopyTest, InvalidZonesAreCorruption) {
  MetadataCopy copy = Example(2);
  copy.zones.back().zone = ZoneId(100);
  EXPECT_EQ(DecodeMetadataCopy(AsBytes(EncodeMetadataCopy(copy))).error().code(), Code::kCorruption);
  copy = Example(2);
  copy.zones.back().bytes = (1 << 20) + 4096;
  EXPECT_EQ(DecodeMetadataCopy(AsBytes(EncodeMetadataCopy(copy))).error().code(), Code::kCorruption);
}

}  // namespace
}  // namespace zenfs
