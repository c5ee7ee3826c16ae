#include "format/tail_record.h"

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
    const auto decoded = DecodeTailRecord(AsBytes(EncodeTailRecord(record)));
    ASSERT_TRUE(decoded);
    EXPECT_EQ(*decoded, record);
  }
}

TEST(TailRecord, ATruncatedOneIsRefused) {
  const std::string bytes = EncodeTailRecord(WithExtents());
  for (std::size_t length = 0; length < bytes.size(); ++length) {
    EXPECT_FALSE(DecodeTailRecord(AsBytes(bytes.substr(0, length)))) << length;
  }
}

TEST(TailRecord, OtherEditsAreRefused) {
  std::string bytes;
  PutFixed(bytes, std::uint64_t{1});
  EncodeEdits(std::vector<Edit>{SetLifetime{FileId(12), Lifetime::kShort}}, bytes);
  EXPECT_FALSE(DecodeTailRecord(AsBytes(bytes)));
}

}  // namespace
}  // namespace zenfs
