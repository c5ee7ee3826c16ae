#include "format/pair_record.h"

#include <gtest/gtest.h>

#include <cstring>

#include "model/state.h"

namespace zenfs::pair_record_test {
namespace {

const Uuid kVolume = *Uuid::Parse("fedcba98-7654-4210-8fed-cba987654321");

PairRecord SamplePairRecord() {
  return {.epoch = 7,
          .sequence = 15,
          .offered = true,
          .key = *Uuid::Parse("01234567-89ab-4def-8123-456789abcdef"),
          .previous = *Uuid::Parse("11234567-89ab-4def-8123-456789abcdef"),
          .boot = "d0cf0f5a-5a1e-4e0a-9d6c-3f7f0f6a1b2c",
          .main_identity = "file:803:12",
          .logs_identity = std::string(kPairIdentityBytesMax, 'i')};
}

TEST(PairRecordTest, SurvivesEncoding) {
  const std::string bytes = EncodePairRecord(SamplePairRecord(), kVolume);
  ASSERT_EQ(bytes.size(), kPairRecordBytes);
  EXPECT_EQ(DecodePairRecord(AsBytes(bytes), kVolume), SamplePairRecord());
}

TEST(PairRecordTest, AnyChangedByteMakesItInvalid) {
  const std::string bytes = EncodePairRecord(SamplePairRecord(), kVolume);
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    std::string changed = bytes;
    changed[i] = static_cast<char>(changed[i] ^ 0x10);
    EXPECT_FALSE(DecodePairRecord(AsBytes(changed), kVolume)) << i;
  }
}

TEST(PairRecordTest, OfAnotherVolumeOrCutShortIsNone) {
  const std::string bytes = EncodePairRecord(SamplePairRecord(), kVolume);
  EXPECT_FALSE(DecodePairRecord(AsBytes(bytes), Uuid{}));
  EXPECT_FALSE(DecodePairRecord(AsBytes(bytes).first(kPairRecordBytes - 1), kVolume));
  EXPECT_FALSE(DecodePairRecord(AsBytes(std::string(kPairRecordBytes, '\0')), kVolume));
}

TEST(PairRecordTest, WithoutAKeyIsNone) {
  PairRecord record = SamplePairRecord();
  record.key = {};
  EXPECT_FALSE(DecodePairRecord(AsBytes(EncodePairRecord(record, kVolume)), kVolume));
}

TEST(PairRecordTest, AnIdentityThatIsTooLongIsUnknown) {
  PairRecord record = SamplePairRecord();
  record.main_identity = std::string(kPairIdentityBytesMax + 1, 'i');
  EXPECT_EQ(DecodePairRecord(AsBytes(EncodePairRecord(record, kVolume)), kVolume)->main_identity, "");
}

TEST(PairRecordTest, NumbersThatNoWriterReachesAreNoRecord) {
  for (const bool epoch : {false, true}) {
    PairRecord record = SamplePairRecord();
    (epoch ? record.epoch : record.sequence) = kStateNumbersStart - 1;
    EXPECT_EQ(DecodePairRecord(AsBytes(EncodePairRecord(record, kVolume)), kVolume), record);
    (epoch ? record.epoch : record.sequence) = kStateNumbersStart;
    EXPECT_EQ(DecodePairRecord(AsBytes(EncodePairRecord(record, kVolume)), kVolume), std::nullopt);
  }
}

TEST(PairRecordTest, TheEpochDecidesFirstWhichIsNewer) {
  PairRecord older = SamplePairRecord();
  PairRecord newer = older;
  EXPECT_FALSE(IsNewer(newer, older));
  newer.sequence = 16;
  EXPECT_TRUE(IsNewer(newer, older));
  older.epoch = 8;
  EXPECT_FALSE(IsNewer(newer, older));
}

}  // namespace
}  // namespace zenfs::pair_record_test
