#include "cli/number.h"

#include <gtest/gtest.h>

namespace zenfs {
namespace {

TEST(ParseSize, TakesBytesAndBinarySuffixes) {
  EXPECT_EQ(ParseSize("0").value(), 0u);
  EXPECT_EQ(ParseSize("4096").value(), 4096u);
  EXPECT_EQ(ParseSize("4K").value(), 4096u);
  EXPECT_EQ(ParseSize("16m").value(), 16u << 20);
  EXPECT_EQ(ParseSize("3G").value(), std::uint64_t{3} << 30);
  EXPECT_EQ(ParseSize("65536T").value(), kMaxSize);
  EXPECT_EQ(ParseSize("32MiB").value(), 32u << 20);
  EXPECT_EQ(ParseSize("4KiB").value(), 4096u);
}

TEST(ParseSize, RefusesEverythingElse) {
  for (const char* text : {"", "K", "-1", "+1", " 1", "1 ", "1.5G", "0x10", "16MB", "16iB", "16KKiB", "iB",
                           "16KK", "1e3", "16Q"}) {
    const auto size = ParseSize(text);
    ASSERT_FALSE(size.has_value()) << text;
    EXPECT_EQ(size.error().code(), Code::kInvalidArgument);
    EXPECT_NE(size.error().text().find(text), std::string::npos);
  }
}

TEST(ParseAge, TakesOneNumberWithAUnit) {
  EXPECT_EQ(ParseAge("90s").value(), 90u);
  EXPECT_EQ(ParseAge("30m").value(), 1800u);
  EXPECT_EQ(ParseAge("12h").value(), 43'200u);
  EXPECT_EQ(ParseAge("7d").value(), 604'800u);
  EXPECT_EQ(ParseAge("0d").value(), 0u);
}

TEST(ParseAge, RefusesEverythingElse) {
  for (const char* text : {"", "7", "d", "-7d", "1.5h", "7 d", "7w", "7D", "18446744073709551615d"}) {
    const auto age = ParseAge(text);
    ASSERT_FALSE(age.has_value()) << text;
    EXPECT_NE(age.error().text().find(text), std::string::npos);
  }
}

TEST(ParseSize, RefusesWhatWouldOverflow) {
  EXPECT_FALSE(ParseSize("65537T").has_value());
  EXPECT_FALSE(ParseSize("72057594037927937").has_value());  // 2^56 + 1
  EXPECT_FALSE(ParseSize("18446744073709551616").has_value());
  EXPECT_FALSE(ParseSize("18446744073709551615T").has_value());
}

TEST(ParseCount, KeepsItsBounds) {
  EXPECT_EQ(ParseCount("100", 0, 100).value(), 100u);
  EXPECT_FALSE(ParseCount("101", 0, 100).has_value());
  EXPECT_FALSE(ParseCount("0", 1, 100).has_value());
  EXPECT_FALSE(ParseCount("5M", 0, 100).has_value());
  EXPECT_FALSE(ParseCount("", 0, 100).has_value());
}

TEST(FormatSize, UsesTheLargestUnitThatFits) {
  EXPECT_EQ(FormatSize(16u << 20), "16 MiB");
  EXPECT_EQ(FormatSize(std::uint64_t{2} << 30), "2 GiB");
  EXPECT_EQ(FormatSize(4097), "4097 bytes");
  EXPECT_EQ(FormatSize(0), "0 bytes");
}

}  // namespace
}  // namespace zenfs
