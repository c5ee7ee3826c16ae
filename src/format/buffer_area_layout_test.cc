#include "format/buffer_area_layout.h"

#include <gtest/gtest.h>

#include "base/coding.h"
#include "format/edit_codec.h"

namespace zenfs {
namespace {

TailRecord WithExtents() {
  const Extent extent{.file_offset = 4096, .place = DeviceOffset(1 << 20), .length = 8192, .crc = 7};
  return {
      .order = 9,
      .uncommitted = SetExtents{.id = FileId(12), .from_offset = 4096, .extents = {extent}, .size = 12288}};
}

TEST(TailRecord, IsDecodedAsEncoded) {
  for (const TailRecord& record : {TailRecord{.order = 3, .uncommitted = {}}, WithExtents()}) {
    const auto decoded = DecodeTailRecord(AsBytes(EncodeTailRecord(record)), 1);
    ASSERT_TRUE(decoded);
    EXPECT_EQ(*decoded, record);
  }
}

TEST(TailRecord, ATruncatedOneIsRefused) {
  const std::string bytes = EncodeTailRecord(WithExtents());
  for (std::size_t length = 0; length < bytes.size(); ++length) {
    EXPECT_FALSE(DecodeTailRecord(AsBytes(bytes.substr(0, length)), 1)) << length;
  }
}

TEST(TailRecord, OtherEditsAreRefused) {
  std::string bytes;
  PutFixed(bytes, std::uint64_t{1});
  EncodeEdits(std::vector<Edit>{SetLifetime{FileId(12), Lifetime::kShort}}, bytes);
  EXPECT_FALSE(DecodeTailRecord(AsBytes(bytes), 1));
}

TEST(TailRecord, TwoEditsAndBytesBehindThemAreRefused) {
  const SetExtents edit = *WithExtents().uncommitted;
  std::string bytes;
  PutFixed(bytes, std::uint64_t{1});
  EncodeEdits(std::vector<Edit>{edit, edit}, bytes);
  EXPECT_FALSE(DecodeTailRecord(AsBytes(bytes), 2));
  EXPECT_FALSE(DecodeTailRecord(AsBytes(EncodeTailRecord(WithExtents()) + "x"), 1));
  EXPECT_FALSE(DecodeTailRecord(AsBytes(EncodeTailRecord({.order = 3, .uncommitted = {}}) + "x"), 1));
}

TEST(TailRecord, AnEditOfANewerProgramIsNamed) {
  std::string bytes;
  PutFixed(bytes, std::uint64_t{1});
  bytes += {1, 99, 0};  // one edit, its tag, no body
  const auto decoded = DecodeTailRecord(AsBytes(bytes), 1);
  ASSERT_FALSE(decoded);
  EXPECT_EQ(decoded.error().code(), Code::kNotSupported);
  EXPECT_NE(decoded.error().text().find("99"), std::string::npos) << decoded.error().text();
}

TEST(TailRecord, AtMostTheExtentsOfASlotAreDecoded) {
  TailRecord record = WithExtents();
  std::vector<Extent>& extents = record.uncommitted->extents;
  extents.assign(100, extents.front());
  EXPECT_TRUE(DecodeTailRecord(AsBytes(EncodeTailRecord(record)), 100));
  EXPECT_FALSE(DecodeTailRecord(AsBytes(EncodeTailRecord(record)), 99));
  for (Extent& extent : extents) extent.crc.reset();  // the older edit
  EXPECT_TRUE(DecodeTailRecord(AsBytes(EncodeTailRecord(record)), 100));
  EXPECT_FALSE(DecodeTailRecord(AsBytes(EncodeTailRecord(record)), 99));
}

TEST(TailRecord, AnExtentWithoutBytesIsRefused) {
  TailRecord record = WithExtents();
  record.uncommitted->extents.push_back({.file_offset = 12288, .place = DeviceOffset(2 << 20)});
  EXPECT_FALSE(DecodeTailRecord(AsBytes(EncodeTailRecord(record)), 2));
}

}  // namespace
}  // namespace zenfs
