#include "format/edit_codec.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "testing/edit_walk.h"

namespace zenfs {
namespace {

std::string Encoded(const std::vector<Edit>& edits) {
  std::string out;
  EncodeEdits(edits, out);
  return out;
}

// One edit of each kind, with large and small values.
std::vector<Edit> OneOfEach() {
  constexpr std::uint64_t kLarge = ~std::uint64_t{0};
  return {CreateFile{FileId(kLarge), FileShape::kFramed, Lifetime::kExtreme, 5},
          CreateDirectory{FileId(3), kRootDirectory, "dir", 1},
          LinkFile{kRootDirectory, std::string(kMaxNameBytes, 'n'), FileId(2)},
          UnlinkFile{kRootDirectory, "\x01\xff"},
          RenameEntry{kRootDirectory, "a", FileId(3), "b"},
          RemoveDirectory{kRootDirectory, "dir"},
          SetExtents{
              FileId(2), 4096, {{4096, DeviceOffset(kLarge), 1}, {4097, DeviceOffset(8192), kLarge}}, 9, 8},
          SetExtents{FileId(3), 0, {{0, DeviceOffset(0), 1, 0xe3069283}, {1, DeviceOffset(4096), 2}}, 3, 4},
          SealLog{FileId(2), {{1, 2, 3, 4}, {5, 6, 7, kLarge}}, 8, 9, 10},
          SetLifetime{FileId(2), Lifetime::kShort},
          AllocateLogZones{{{ZoneId(0xffffffff), 2, kLarge}, {ZoneId(0), 3, 0}}},
          MarkSyncZone{ZoneId(0xffffffff), kLarge},
          SetPairKey{*Uuid::Parse("01234567-89ab-4def-8123-456789abcdef")},
          ReleaseLogZones{{ZoneId(1), ZoneId(2)}},
          BeginEpoch{kLarge},
          RaiseCounters{7, kLarge},
          SetBufferPlace{std::string(kMaxPlaceBytes, 'p')},
          SetBufferPlace{std::string(kMaxPlaceBytes, 'p'), std::string(kBufferKeyBytes, '\xff'), 0xffffffff}};
}

TEST(EditCodec, EveryKindSurvives) {
  const std::vector<Edit> edits = OneOfEach();
  ASSERT_EQ(edits.size(), std::variant_size_v<Edit> + 2);  // two forms of extents and of places
  const auto decoded = DecodeEdits(AsBytes(Encoded(edits)));
  ASSERT_TRUE(decoded) << decoded.error().ToString();
  EXPECT_EQ(*decoded, edits);
}

TEST(EditCodec, BuilderWritesTheSameList) {
  const std::vector<Edit> edits = OneOfEach();
  EditListBuilder builder;
  for (const Edit& edit : edits) builder.Add(std::span(&edit, 1));
  EXPECT_GE(builder.size(), Encoded(edits).size());
  EXPECT_EQ(builder.Take(), Encoded(edits));
  EXPECT_TRUE(builder.empty());
}

TEST(EditCodec, UnknownTagIsNamed) {
  std::string bytes;
  PutVarint(bytes, 1);
  PutVarint(bytes, 77);
  PutString(bytes, "body");
  const auto decoded = DecodeEdits(AsBytes(bytes));
  ASSERT_FALSE(decoded);
  EXPECT_EQ(decoded.error().code(), Code::kNotSupported);
  EXPECT_THAT(decoded.error().text(), ::testing::HasSubstr("tag 77"));
}

TEST(EditCodec, ImpossibleNamesAreRefused) {
  for (const std::string& name : {std::string(), std::string("."), std::string(".."), std::string("a/b"),
                                  std::string("a\0b", 3), std::string(kMaxNameBytes + 1, 'x')}) {
    EXPECT_FALSE(DecodeEdits(AsBytes(Encoded({UnlinkFile{kRootDirectory, name}})))) << name;
  }
}

TEST(EditCodec, EveryTruncationIsRefused) {
  const std::string whole = Encoded(OneOfEach());
  for (std::size_t size = 0; size < whole.size(); ++size) {
    const std::vector<char> cut(whole.begin(), whole.begin() + size);  // an exact size, for the sanitizer
    EXPECT_FALSE(DecodeEdits(AsBytes({cut.data(), cut.size()}))) << size;
  }
  EXPECT_FALSE(DecodeEdits(AsBytes(whole + "x")));
}

TEST(EditCodec, EveryBitFlipIsRefusedOrBounded) {
  const std::string whole = Encoded(OneOfEach());
  for (std::size_t bit = 0; bit < whole.size() * 8; ++bit) {
    std::vector<char> flipped(whole.begin(), whole.end());
    flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ (1 << (bit % 8)));
    const auto decoded = DecodeEdits(AsBytes({flipped.data(), flipped.size()}));
    if (!decoded) continue;
    EXPECT_LE(decoded->size(), whole.size());
    EXPECT_NE(*decoded, OneOfEach()) << "bit " << bit << " has no meaning";
  }
}

TEST(EditCodec, HugeCountIsRefusedBeforeAnythingIsAllocated) {
  std::string bytes;
  PutVarint(bytes, ~std::uint64_t{0});
  EXPECT_FALSE(DecodeEdits(AsBytes(bytes)));
  std::string body;
  for (int i = 0; i < 4; ++i) PutVarint(body, 1);
  PutVarint(body, ~std::uint64_t{0} >> 1);  // extents
  bytes.clear();
  PutVarint(bytes, 1);
  PutVarint(bytes, 7);
  PutString(bytes, body);
  EXPECT_FALSE(DecodeEdits(AsBytes(bytes)));
}

std::string Bytes(const std::string& hex) {
  std::string bytes;
  for (std::size_t i = 0; i < hex.size(); i += 2)
    bytes.push_back(static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16)));
  return bytes;
}

// The form in volumes without checksums. It is still written if no extent has a checksum.
TEST(EditCodec, ExtentsWithoutChecksumsKeepTheirOldBytes) {
  const std::vector<Edit> edits{SetExtents{FileId(2), 0, {{0, DeviceOffset(4096), 100}}, 100, 7}};
  EXPECT_EQ(Encoded(edits), Bytes("01"
                                  "07"
                                  "09"
                                  "02"
                                  "00"
                                  "64"
                                  "07"
                                  "01"
                                  "00"
                                  "8020"
                                  "64"));
  EXPECT_EQ(*DecodeEdits(AsBytes(Encoded(edits))), edits);
}

TEST(EditCodec, ChecksumsOfExtentsSurviveEachByItself) {
  const std::vector<Edit> edits{SetExtents{
      FileId(2),
      0,
      {{0, DeviceOffset(4096), 1, 0}, {1, DeviceOffset(8192), 2}, {3, DeviceOffset(12288), 3, 0xffffffff}},
      6,
      7}};
  EXPECT_EQ(Encoded(edits)[1], 15);
  EXPECT_EQ(*DecodeEdits(AsBytes(Encoded(edits))), edits);
}

TEST(EditCodec, ChecksumOfMoreThan32BitsIsRefused) {
  EXPECT_TRUE(
      DecodeEdits(AsBytes(Bytes("01"
                                "0f"
                                "0d"
                                "02"
                                "00"
                                "64"
                                "07"
                                "01"
                                "00"
                                "00"
                                "64"
                                "8080808010"))));
  EXPECT_FALSE(
      DecodeEdits(AsBytes(Bytes("01"
                                "0f"
                                "0d"
                                "02"
                                "00"
                                "64"
                                "07"
                                "01"
                                "00"
                                "00"
                                "64"
                                "8180808010"))));
}

// D9 in docs/internals/failures.md: no length is cut to 32 bits.
TEST(EditCodec, LengthsBeyondFourGiBSurvive) {
  const Extent large{0, DeviceOffset(1ull << 45), (5ull << 30) + 17};
  const std::vector<Edit> edits = {SetExtents{FileId(7), 0, {large}, large.length, 99}};
  std::string bytes;
  EncodeEdits(edits, bytes);
  const auto decoded = DecodeEdits(AsBytes(bytes));
  ASSERT_TRUE(decoded) << decoded.error().ToString();
  EXPECT_EQ(*decoded, edits);
}

RC_GTEST_PROP(EditCodecProperty, RandomCommitsSurvive, (std::uint64_t seed)) {
  EditWalk walk(seed);
  for (int i = 0; i < 40; ++i) {
    const std::vector<Edit> edits = walk.Next();
    const auto decoded = DecodeEdits(AsBytes(Encoded(edits)));
    RC_ASSERT(decoded.has_value());
    RC_ASSERT(*decoded == edits);
  }
}

RC_GTEST_PROP(EditCodecProperty, ArbitraryBytesDoNoHarm, (const std::vector<std::uint8_t>& bytes)) {
  const auto decoded = DecodeEdits(std::as_bytes(std::span(bytes)));
  if (decoded) RC_ASSERT(decoded->size() <= bytes.size());
}

}  // namespace
}  // namespace zenfs
