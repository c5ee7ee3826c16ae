#include "format/frame.h"

#include <gtest/gtest.h>

#include <rapidcheck/gtest.h>
#include <cstring>
#include <string>
#include <vector>

namespace zenfs {
namespace {

constexpr std::uint32_t kBlock = 4096;
constexpr FrameSeed kSeed{0x1234};

FrameHeader HeaderFor(std::string_view payload, std::uint32_t header_bytes = kFrameHeaderBytes) {
  return FrameHeader{.kind = FrameKind::kLogData,
                     .header_bytes = header_bytes,
                     .payload_bytes = static_cast<std::uint32_t>(payload.size()),
                     .owner = 7,
                     .sequence = 11,
                     .file_offset = 4711,
                     .epoch = 3,
                     .stable_sequence = 9};
}

std::vector<std::byte> Sealed(std::string_view payload, std::uint32_t header_bytes = kFrameHeaderBytes) {
  const FrameHeader header = HeaderFor(payload, header_bytes);
  std::vector<std::byte> frame(header.BytesOnDevice(kBlock), std::byte{0xee});
  std::memcpy(frame.data() + header_bytes, payload.data(), payload.size());
  SealFrame(frame, header, kSeed);
  return frame;
}

ParsedFrame Parse(ByteView bytes, FrameSeed seed = kSeed) {
  return ParseFrame(bytes, seed, kBlock, bytes.size());
}

TEST(Frame, SealedFrameIsParsedWithItsPayload) {
  for (const std::uint32_t header_bytes : {std::uint32_t{kFrameHeaderBytes}, kBlock}) {
    std::vector<std::byte> bytes = Sealed("some payload", header_bytes);
    bytes.resize(bytes.size() + 3 * kBlock);  // bytes after the frame do not matter
    const ParsedFrame parsed = Parse(bytes);
    ASSERT_EQ(parsed.verdict, FrameVerdict::kValid);
    EXPECT_EQ(AsText(parsed.payload), "some payload");
    EXPECT_EQ(parsed.header.owner, 7u);
    EXPECT_EQ(parsed.header.sequence, 11u);
    EXPECT_EQ(parsed.header.BytesOnDevice(kBlock), header_bytes == kBlock ? 2 * kBlock : kBlock);
  }
}

TEST(Frame, PayloadElsewhereGivesTheSameFrame) {
  const std::string payload(3000, 'x');
  const std::vector<std::byte> whole = Sealed(payload, kBlock);
  std::vector<std::byte> head(kBlock, std::byte{0x77});
  SealFrameHead(head, HeaderFor(payload, kBlock), kSeed, AsBytes(payload));
  EXPECT_EQ(std::memcmp(head.data(), whole.data(), kBlock), 0);
}

TEST(Frame, LayoutIsTheDocumentedOne) {
  const std::vector<std::byte> frame = Sealed("abc");
  EXPECT_EQ(AsText(ByteView(frame).first(4)), "ZNF3");
  EXPECT_EQ(static_cast<int>(frame[8]), 5);
  EXPECT_EQ(static_cast<int>(frame[12]), 64);
  EXPECT_EQ(static_cast<int>(frame[16]), 3);
  EXPECT_EQ(AsText(ByteView(frame).subspan(64, 3)), "abc");
}

// D15 in docs/internals/failures.md.
TEST(Frame, FrameOfAnotherIncarnationNeverMatches) {
  const Uuid uuid = *Uuid::Parse("01234567-89ab-4def-8123-456789abcdef");
  Uuid other = uuid;
  other.bytes[15] ^= 1;
  const FrameSeed seed = FrameSeed::Of(uuid, ZoneId(3), 4, 5);
  EXPECT_EQ(seed, FrameSeed::Of(uuid, ZoneId(3), 4, 5));
  const std::string payload = "payload";
  std::vector<std::byte> frame(kBlock);
  std::memcpy(frame.data() + kFrameHeaderBytes, payload.data(), payload.size());
  SealFrame(frame, HeaderFor(payload), seed);
  EXPECT_TRUE(Parse(frame, seed).valid());
  for (const FrameSeed stranger :
       {FrameSeed::Of(other, ZoneId(3), 4, 5), FrameSeed::Of(uuid, ZoneId(2), 4, 5),
        FrameSeed::Of(uuid, ZoneId(3), 5, 5), FrameSeed::Of(uuid, ZoneId(3), 4, 6)}) {
    EXPECT_EQ(Parse(frame, stranger).verdict, FrameVerdict::kDamaged);
  }
}

// D15 in docs/internals/failures.md.
TEST(Frame, EverySingleBitFlipIsRefused) {
  std::vector<std::byte> frame = Sealed("a small payload");
  const std::size_t covered = kFrameHeaderBytes + 15;
  for (std::size_t bit = 0; bit < covered * 8; ++bit) {
    frame[bit / 8] ^= std::byte(1 << (bit % 8));
    EXPECT_FALSE(Parse(frame).valid()) << "bit " << bit;
    frame[bit / 8] ^= std::byte(1 << (bit % 8));
  }
  EXPECT_TRUE(Parse(frame).valid());
}

TEST(Frame, TruncatedFrameSaysHowMuchIsNeeded) {
  const std::string payload(10'000, 'p');
  const std::vector<std::byte> frame = Sealed(payload);
  for (std::size_t size = 0; size < kFrameHeaderBytes + payload.size(); size += 17) {
    const std::vector<std::byte> cut(frame.begin(),
                                     frame.begin() + size);  // an exact size, for the sanitizer
    const ParsedFrame parsed = ParseFrame(cut, kSeed, kBlock, frame.size());
    ASSERT_EQ(parsed.verdict, FrameVerdict::kTooShort) << size;
    ASSERT_GT(parsed.needed, size);
    ASSERT_LE(parsed.needed, frame.size());
    EXPECT_FALSE(ParseFrame(cut, kSeed, kBlock, cut.size()).valid());
    EXPECT_NE(ParseFrame(cut, kSeed, kBlock, cut.size()).verdict, FrameVerdict::kTooShort);
  }
}

// D15 in docs/internals/failures.md.
TEST(Frame, ImpossibleLengthsAreDamage) {
  const auto with = [](auto change) {
    FrameHeader header = HeaderFor("");
    change(header);
    std::vector<std::byte> bytes(2 * kBlock);
    std::memcpy(bytes.data(), &header, sizeof header);
    return ParseFrame(bytes, kSeed, kBlock, std::uint64_t{1} << 40).verdict;
  };
  EXPECT_EQ(with([](FrameHeader& h) { h.payload_bytes = kMaxFramePayload + 1; }), FrameVerdict::kDamaged);
  EXPECT_EQ(with([](FrameHeader& h) { h.payload_bytes = kMaxFramePayload; }), FrameVerdict::kTooShort);
  EXPECT_EQ(with([](FrameHeader& h) { h.header_bytes = 0; }), FrameVerdict::kDamaged);
  EXPECT_EQ(with([](FrameHeader& h) { h.header_bytes = ~0u; }), FrameVerdict::kDamaged);
  EXPECT_EQ(with([](FrameHeader& h) { h.kind = static_cast<FrameKind>(99); }), FrameVerdict::kDamaged);
  EXPECT_EQ(with([](FrameHeader& h) { h.magic = 0; }), FrameVerdict::kNotAFrame);
}

RC_GTEST_PROP(FrameProperty, ArbitraryBytesAreNeverValid,
              (const std::vector<std::uint8_t>& arbitrary, bool with_magic)) {
  std::vector<std::uint8_t> bytes = arbitrary;
  if (with_magic && bytes.size() >= sizeof kFrameMagic)
    std::memcpy(bytes.data(), &kFrameMagic, sizeof kFrameMagic);
  RC_ASSERT(!ParseFrame(std::as_bytes(std::span(bytes)), kSeed, kBlock, 1 << 20).valid());
}

constexpr std::uint64_t kNow = 1'800'000'000;

TEST(FrameTimeTest, TimesNearTheAnchorAreExact) {
  for (const std::uint64_t anchor :
       {kNow, std::uint64_t{0}, std::uint64_t{16'000}, std::uint64_t{32'767 * 5}}) {
    for (const std::int64_t distance : {-16'000, -1, 0, 1, 60, 3'600, 14'400, 16'000}) {
      if (distance < 0 && anchor < static_cast<std::uint64_t>(-distance)) continue;
      const std::uint64_t seconds = anchor + static_cast<std::uint64_t>(distance);
      EXPECT_EQ(DecodeFrameTime(EncodeFrameTime(seconds, anchor), anchor), seconds) << anchor << distance;
    }
  }
}

TEST(FrameTimeTest, TimesUpToElevenDaysAwayAreRoundedDownToSixtyFourSeconds) {
  for (const std::int64_t days : {-11, -3, -1, 1, 5, 11}) {
    const std::uint64_t seconds = kNow + static_cast<std::uint64_t>(days * 86'400);
    EXPECT_EQ(DecodeFrameTime(EncodeFrameTime(seconds, kNow), kNow), seconds / 64 * 64) << days;
  }
}

TEST(FrameTimeTest, ATimeFartherAwayIsUnknown) {
  EXPECT_EQ(EncodeFrameTime(kNow + 20 * 86'400, kNow), 0);
  EXPECT_EQ(DecodeFrameTime(0, kNow), std::nullopt);
  EXPECT_EQ(DecodeFrameTime(0x8000, kNow), std::nullopt);
}

TEST(FrameTimeTest, AnchorsThatDifferByMinutesGiveTheSameTime) {
  for (const std::uint64_t seconds : {kNow + 16'000, kNow - 16'000, kNow}) {
    const std::uint16_t code = EncodeFrameTime(seconds, kNow);
    EXPECT_EQ(DecodeFrameTime(code, kNow + 300), seconds);
    EXPECT_EQ(DecodeFrameTime(code, kNow - 300), seconds);
  }
}

TEST(FrameTimeTest, EveryCodeIsATimeNearTheAnchorOrUnknown) {
  for (std::uint32_t code = 0; code <= UINT16_MAX; ++code) {
    for (const std::uint64_t anchor : {std::uint64_t{0}, kNow, UINT64_MAX >> 1}) {
      const auto seconds = DecodeFrameTime(static_cast<std::uint16_t>(code), anchor);
      if (!seconds) continue;
      const std::uint64_t distance = *seconds < anchor ? anchor - *seconds : *seconds - anchor;
      EXPECT_LE(distance, 64ull * 32'768) << code;
    }
  }
}

}  // namespace
}  // namespace zenfs
