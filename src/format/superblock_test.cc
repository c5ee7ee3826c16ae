#include "format/superblock.h"

#include <gtest/gtest.h>

#include <gmock/gmock.h>
#include <rapidcheck/gtest.h>
#include <cstring>
#include <string>

#include "base/coding.h"
#include "base/crc32c.h"

namespace zenfs {
namespace {

using ::testing::HasSubstr;

Superblock Sample() {
  return Superblock{.uuid = *Uuid::Parse("01234567-89ab-4def-8123-456789abcdef"),
                    .seed = *Uuid::Parse("fedcba98-7654-4210-8fed-cba987654321"),
                    .label = "my disk",
                    .created_seconds = 1'700'000'000,
                    .block_size = 4096,
                    .zone_size = 16 << 20,
                    .zone_count = 64,
                    .finish_threshold_percent = 5,
                    .metadata_zones = {ZoneId(0), ZoneId(1), ZoneId(5)},
                    .made_by = "zenfs 3.0.0",
                    .aux_path = "/var/log/zenfs",
                    .aux_secret = *Uuid::Parse("6b1d0c5e-93a7-4f2b-8d14-0e7f5a9c3b28")};
}

// The bytes with a changed field and a valid CRC, as a newer program or an attacker may write them.
template <typename T>
std::string With(std::size_t at, T value) {
  std::string bytes = EncodeSuperblock(Sample());
  std::memcpy(bytes.data() + at, &value, sizeof value);
  const std::uint32_t crc = Crc32c(AsBytes(bytes).subspan(12));
  std::memcpy(bytes.data() + 8, &crc, sizeof crc);
  return bytes;
}

Error DecodeError(const std::string& bytes) {
  const auto decoded = DecodeSuperblock(AsBytes(bytes));
  return decoded ? Error(Code::kExists, "decoded") : decoded.error();
}

TEST(SuperblockFormat, SurvivesEncoding) {
  const std::string bytes = EncodeSuperblock(Sample());
  ASSERT_EQ(bytes.size(), kSuperblockBytes);
  EXPECT_EQ(bytes.substr(0, 8), "ZENFS3SB");
  const auto decoded = DecodeSuperblock(AsBytes(bytes));
  ASSERT_TRUE(decoded) << decoded.error().ToString();
  EXPECT_EQ(*decoded, Sample());
}

TEST(SuperblockFormat, EveryBitFlipIsRefusedAsDamage) {
  const std::string whole = EncodeSuperblock(Sample());
  for (std::size_t bit = 0; bit < whole.size() * 8; ++bit) {
    std::string flipped = whole;
    flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ (1 << (bit % 8)));
    const Code code = DecodeError(flipped).code();
    ASSERT_EQ(code, Code::kCorruption) << "bit " << bit;
  }
}

TEST(SuperblockFormat, EveryTruncationIsRefused) {
  const std::string whole = EncodeSuperblock(Sample());
  for (std::size_t size = 0; size < whole.size(); size += size < 600 ? 1 : 97) {
    const std::vector<char> cut(whole.begin(), whole.begin() + size);
    ASSERT_FALSE(DecodeSuperblock(AsBytes({cut.data(), cut.size()}))) << size;
  }
}

TEST(SuperblockFormat, NewerVersionAndUnknownFeaturesAreNamed) {
  EXPECT_EQ(DecodeError(With(12, std::uint32_t{4})).code(), Code::kNotSupported);
  EXPECT_THAT(DecodeError(With(12, std::uint32_t{4})).text(), HasSubstr("format version 4"));
  const Error incompatible = DecodeError(With(48, std::uint64_t{0b1001} << 20));
  EXPECT_EQ(incompatible.code(), Code::kNotSupported);
  EXPECT_THAT(incompatible.text(), HasSubstr("feature bits 20, 23"));
}

TEST(SuperblockFormat, UnknownReadOnlyFeatureOnlyForbidsWriting) {
  const auto decoded = DecodeSuperblock(AsBytes(With(40, std::uint64_t{2})));
  ASSERT_TRUE(decoded);
  EXPECT_EQ(CheckWritable(*decoded).error().code(), Code::kReadOnly);
  EXPECT_THAT(CheckWritable(*decoded).error().text(), HasSubstr("feature bits 1 "));
  EXPECT_TRUE(CheckWritable(*DecodeSuperblock(AsBytes(With(32, std::uint64_t{2})))).ok());
}

TEST(SuperblockFormat, FieldsThatContradictOneAnotherAreRefused) {
  EXPECT_EQ(DecodeError(With(72, std::uint32_t{4095})).code(), Code::kCorruption);  // block size
  EXPECT_EQ(DecodeError(With(72, std::uint32_t{1} << 17)).code(), Code::kCorruption);
  EXPECT_EQ(DecodeError(With(64, std::uint64_t{4097})).code(), Code::kCorruption);  // zone size
  EXPECT_EQ(DecodeError(With(84, std::uint32_t{65})).code(), Code::kCorruption);  // number of metadata zones
  EXPECT_EQ(DecodeError(With(84, ~std::uint32_t{0})).code(), Code::kCorruption);
  EXPECT_EQ(DecodeError(With(84, std::uint32_t{0})).code(), Code::kCorruption);
  EXPECT_EQ(DecodeError(With(256, std::uint32_t{64})).code(), Code::kCorruption);  // a zone beyond the device
  EXPECT_EQ(DecodeError(With(256, std::uint32_t{1})).code(), Code::kCorruption);   // not ascending
  EXPECT_EQ(DecodeError(With(512, 'x')).code(), Code::kCorruption);  // the aux directory is not absolute
  Superblock long_path = Sample();
  long_path.aux_path.assign(kMaxAuxPathBytes + 1, '/');
  EXPECT_EQ(CheckSuperblock(long_path).error().code(), Code::kInvalidArgument);
  Superblock long_label = Sample();
  long_label.label.assign(kMaxLabelBytes + 1, 'x');
  EXPECT_EQ(CheckSuperblock(long_label).error().code(), Code::kInvalidArgument);
}

Superblock WithLogDevice() {
  Superblock main = Sample();
  main.incompatible = kHasLogDevice;
  main.log_zones = 14;
  main.first_log_zone = ZoneId(2);
  main.peer = "dev:/dev/nvme1n1";
  return main;
}

TEST(SuperblockFormat, BothDevicesOfAVolumeSurviveEncoding) {
  Superblock logs = WithLogDevice();
  logs.incompatible = kIsLogDevice;
  logs.zone_count = 16;
  logs.metadata_zones = {ZoneId(0), ZoneId(1)};
  for (const Superblock& one : {WithLogDevice(), logs}) {
    const auto decoded = DecodeSuperblock(AsBytes(EncodeSuperblock(one)));
    ASSERT_TRUE(decoded) << decoded.error().ToString();
    EXPECT_EQ(*decoded, one);
  }
}

TEST(SuperblockFormat, TwoDevicesThatContradictTheFeaturesAreRefused) {
  const auto refused = [](auto&& change) {
    Superblock changed = WithLogDevice();
    change(changed);
    return CheckSuperblock(changed).error().code() == Code::kInvalidArgument;
  };
  EXPECT_TRUE(CheckSuperblock(WithLogDevice()).ok());
  EXPECT_TRUE(refused([](Superblock& s) { s.incompatible = 0; }));
  EXPECT_TRUE(refused([](Superblock& s) { s.incompatible = kHasLogDevice | kIsLogDevice; }));
  EXPECT_TRUE(refused([](Superblock& s) { s.log_zones = 0; }));
  EXPECT_TRUE(refused([](Superblock& s) { s.log_zones = s.zone_count; }));
  EXPECT_TRUE(refused([](Superblock& s) { s.peer.clear(); }));
  EXPECT_TRUE(refused([](Superblock& s) { s.peer.assign(kMaxPeerBytes + 1, 'x'); }));
  EXPECT_TRUE(refused([](Superblock& s) { s.metadata_zones = {ZoneId(50)}; })) << "a zone of the logs";
  EXPECT_TRUE(refused([](Superblock& s) {
    s.incompatible = kIsLogDevice;
    s.metadata_zones = {ZoneId(0), ZoneId(1), ZoneId(2)};
  })) << "a zone of the logs on their own device";
}

TEST(SuperblockFormat, CloneDiffersInUuidAndAuxPathOnly) {
  std::string bytes = With(2000, std::uint64_t{42});  // of a newer program
  const Uuid fresh = Uuid::Generate();
  ASSERT_TRUE(MakeClone(std::as_writable_bytes(std::span(bytes)), fresh).ok());
  Superblock expected = Sample();
  expected.uuid = fresh;
  expected.aux_path.clear();
  expected.aux_secret = {};
  const auto decoded = DecodeSuperblock(AsBytes(bytes));
  ASSERT_TRUE(decoded) << decoded.error().ToString();
  EXPECT_EQ(*decoded, expected);
  EXPECT_EQ(bytes[2000], 42);
  std::string other(kSuperblockBytes, 'x');
  EXPECT_EQ(MakeClone(std::as_writable_bytes(std::span(other)), fresh).error().code(), Code::kNotFound);
  EXPECT_EQ(other, std::string(kSuperblockBytes, 'x'));
}

TEST(SuperblockFormat, OlderFormatsAreRecognized) {
  std::string bytes;
  PutFixed(bytes, std::uint32_t{0xabcdef01});  // CRC
  PutFixed(bytes, std::uint32_t{512});
  PutFixed(bytes, std::uint32_t{0x5a454e46});
  bytes.append(41, 'u');
  PutFixed(bytes, std::uint32_t{2});
  bytes.resize(4096);
  EXPECT_EQ(DecodeError(bytes).code(), Code::kNotSupported);
  EXPECT_THAT(DecodeError(bytes).text(), HasSubstr("the older ZenFS, format 2"));
}

RC_GTEST_PROP(SuperblockProperty, ArbitraryBytesAreRefused, (const std::vector<std::uint8_t>& bytes)) {
  RC_ASSERT(!DecodeSuperblock(std::as_bytes(std::span(bytes))));
}

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
