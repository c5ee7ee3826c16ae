#include "base/coding.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace zenfs {
namespace {

RC_GTEST_PROP(Coding, ValuesAreDecodedAsEncoded,
              (std::uint64_t a, std::uint32_t b, const std::string& text)) {
  std::string out;
  PutVarint(out, a);
  PutFixed(out, b);
  PutString(out, text);
  Decoder in(AsBytes(out));
  RC_ASSERT(in.Varint() == a);
  RC_ASSERT(in.Fixed<std::uint32_t>() == b);
  RC_ASSERT(in.String() == text);
  RC_ASSERT(in.ok() && in.AtEnd());
}

TEST(Coding, VarintTakesTenBytesAtMost) {
  std::string out;
  PutVarint(out, ~std::uint64_t{0});
  EXPECT_EQ(out.size(), 10u);
  Decoder fits(AsBytes(out));
  EXPECT_EQ(fits.Varint(), ~std::uint64_t{0});
  out.back() = 2;  // a 65th bit
  Decoder overflows(AsBytes(out));
  EXPECT_EQ(overflows.Varint(), 0u);
  EXPECT_FALSE(overflows.ok());
  const std::string endless(11, '\x80');
  Decoder never_ends(AsBytes(endless));
  never_ends.Varint();
  EXPECT_FALSE(never_ends.ok());
}

TEST(Coding, FailedDecoderStaysFailed) {
  const std::string bytes =
      "\x05"
      "abc";
  Decoder in(AsBytes(bytes));
  EXPECT_EQ(in.String(), "");
  EXPECT_FALSE(in.ok());
  EXPECT_EQ(in.Varint(), 0u);
  EXPECT_EQ(in.Fixed<std::uint8_t>(), 0u);
  EXPECT_FALSE(in.ok());
}

TEST(Coding, CountThatCannotFitIsRefused) {
  std::string bytes;
  PutVarint(bytes, 4);
  bytes += "123456";
  Decoder too_many(AsBytes(bytes));
  EXPECT_EQ(too_many.Count(2), 0u);
  EXPECT_FALSE(too_many.ok());
  Decoder fits(AsBytes(bytes));
  EXPECT_EQ(fits.Count(1), 4u);
}

}  // namespace
}  // namespace zenfs
