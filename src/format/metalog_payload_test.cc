#include "format/metalog_payload.h"

#include <gtest/gtest.h>

#include <cstring>

#include "format/edit_codec.h"

namespace zenfs::metalog_payload_test {
namespace {

constexpr std::uint32_t kBlock = 4096;
constexpr ZoneId kZone{3};

Uuid Volume() { return *Uuid::Parse("01234567-89ab-4def-8123-456789abcdef"); }

LogHeader SomeHeader() {
  return {.generation = 9,
          .salt = 0x1122334455667788,
          .chain_index = 2,
          .previous = ZoneId(1),
          .base_sequence = 44};
}

std::vector<std::byte> Framed(FrameKind kind, const std::string& payload, FrameSeed seed) {
  std::vector<std::byte> frame(kBlock);
  std::memcpy(frame.data() + kFrameHeaderBytes, payload.data(), payload.size());
  SealFrame(frame,
            FrameHeader{
                .kind = kind, .payload_bytes = static_cast<std::uint32_t>(payload.size()), .file_offset = 9},
            seed);
  return frame;
}

TEST(MetalogPayload, LogHeaderIsFoundByItsOwnGeneration) {
  const auto frame =
      Framed(FrameKind::kLogHeader, EncodeLogHeader(SomeHeader()), FrameSeed::Of(Volume(), kZone, 9, 0));
  EXPECT_EQ(FindLogHeader(frame, Volume(), kZone, kBlock), SomeHeader());
  EXPECT_EQ(FindLogHeader(frame, Volume(), ZoneId(4), kBlock), std::nullopt);
  EXPECT_EQ(FindLogHeader(ByteView(frame).first(90), Volume(), kZone, kBlock), std::nullopt);
}

// The next generation and the next commit must have valid numbers too.
TEST(MetalogPayload, LogHeaderWithTheHighestNumbersIsRefused) {
  LogHeader header = SomeHeader();
  header.base_sequence = kNumbersEnd - 1;
  EXPECT_TRUE(DecodeLogHeader(AsBytes(EncodeLogHeader(header))));
  header.base_sequence = kNumbersEnd;
  EXPECT_FALSE(DecodeLogHeader(AsBytes(EncodeLogHeader(header))));
  header = SomeHeader();
  header.generation = ~std::uint64_t{0};
  EXPECT_FALSE(DecodeLogHeader(AsBytes(EncodeLogHeader(header))));
}

TEST(MetalogPayload, SwitchCompleteIsFoundByItsOwnSalt) {
  const SwitchComplete complete{.salt = 77, .frames = 5, .sequence = 100, .chain_index = 1};
  auto frame = Framed(FrameKind::kSwitchComplete, EncodeSwitchComplete(complete),
                      FrameSeed::Of(Volume(), kZone, 9, 77));
  const auto found = FindSwitchComplete(frame, Volume(), kZone, kBlock);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->complete, complete);
  EXPECT_EQ(found->generation, 9u);
  for (std::size_t byte = 0; byte < kFrameHeaderBytes + 28; ++byte) {
    frame[byte] ^= std::byte{1};
    EXPECT_FALSE(FindSwitchComplete(frame, Volume(), kZone, kBlock)) << byte;
    frame[byte] ^= std::byte{1};
  }
}

Result<std::vector<std::vector<Edit>>> Members(const std::string& payload) {
  std::vector<std::vector<Edit>> members;
  ZENFS_RETURN_IF_ERROR(DecodeCommit(AsBytes(payload), [&](EditListReader& list) -> Status {
    members.emplace_back();
    for (;;) {
      ZENFS_ASSIGN_OR_RETURN(Edit * edit, list.Next());
      if (edit == nullptr) return {};
      members.back().push_back(std::move(*edit));
    }
  }));
  return members;
}

TEST(MetalogPayload, GroupedCommitsStayApart) {
  std::string first;
  std::string second;
  EncodeEdits(std::vector<Edit>{BeginEpoch{1}, BeginEpoch{2}}, first);
  EncodeEdits(std::vector<Edit>{BeginEpoch{3}}, second);
  const std::string* members[] = {&first, &second};
  const std::string payload = EncodeCommit(members);
  EXPECT_EQ(*Members(payload),
            (std::vector<std::vector<Edit>>{{BeginEpoch{1}, BeginEpoch{2}}, {BeginEpoch{3}}}));
  const std::string nothing(1, '\0');
  EXPECT_FALSE(Members(EncodeCommit(std::vector<const std::string*>{&second, &nothing}))) << "no edits";
  for (std::size_t size = 0; size < payload.size(); ++size) {
    EXPECT_FALSE(Members(payload.substr(0, size))) << size;
  }
}

TEST(MetalogPayload, OtherLengthsAreRefused) {
  const std::string header = EncodeLogHeader(SomeHeader());
  EXPECT_TRUE(DecodeLogHeader(AsBytes(header)));
  EXPECT_FALSE(DecodeLogHeader(AsBytes(header + "x")));
  EXPECT_FALSE(DecodeLogHeader(AsBytes(header.substr(1))));
  EXPECT_FALSE(DecodeSwitchComplete(AsBytes(header)));
}

}  // namespace
}  // namespace zenfs::metalog_payload_test
