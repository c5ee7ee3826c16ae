#include "base/crc32c.h"

#include <gtest/gtest.h>

#include <string>

#include "base/random.h"

namespace zenfs {
namespace {

TEST(Crc32c, IsCastagnolis) {
  EXPECT_EQ(Crc32c(AsBytes("123456789")), 0xe3069283u);
  EXPECT_EQ(Crc32c(AsBytes(std::string(32, '\0'))), 0x8a9136aau);  // RFC 3720, B.4
  EXPECT_EQ(Crc32c({}), 0u);
}

TEST(Crc32c, SeedContinuesPrecedingBytes) {
  const std::string text = "the quick brown fox jumps over the lazy dog";
  for (std::size_t cut = 0; cut <= text.size(); ++cut) {
    EXPECT_EQ(Crc32c(AsBytes(text.substr(cut)), Crc32c(AsBytes(text.substr(0, cut)))), Crc32c(AsBytes(text)));
  }
}

TEST(Crc32c, OfPartsAndOfTheWholeFollowFromOneAnother) {
  Random random(1);
  for (const std::size_t length : {0, 1, 2, 7, 4095, 4096, 70001}) {
    std::string text(length, '\0');
    for (char& c : text) c = static_cast<char>(random.Next());
    for (const std::size_t cut : {std::size_t{0}, length / 3, length}) {
      const std::uint32_t front = Crc32c(AsBytes(text.substr(0, cut)));
      const std::uint32_t back = Crc32c(AsBytes(text.substr(cut)));
      const std::uint32_t whole = Crc32c(AsBytes(text));
      EXPECT_EQ(Crc32cWhole(front, back, length - cut), whole);
      EXPECT_EQ(Crc32cFront(whole, back, length - cut), front);
      EXPECT_EQ(Crc32cBack(whole, front, length - cut), back);
    }
  }
}

// Some lengths are longer than the order of x, some need more than 32 bits.
TEST(Crc32c, LengthsOfAnySizeAreRight) {
  for (const std::uint64_t length : {std::uint64_t{1} << 28, (std::uint64_t{1} << 31) - 1,
                                     std::uint64_t{5} << 30, std::uint64_t{1} << 45, ~std::uint64_t{0}}) {
    const std::uint64_t half = length / 2;
    const std::uint32_t front = 0x12345678, middle = 0x9abcdef0, back = 0x0f1e2d3c;
    const std::uint32_t behind = Crc32cWhole(middle, back, length - half);
    EXPECT_EQ(Crc32cWhole(front, behind, length),
              Crc32cWhole(Crc32cWhole(front, middle, half), back, length - half));
    EXPECT_EQ(Crc32cFront(Crc32cWhole(front, behind, length), behind, length), front);
  }
}

RC_GTEST_PROP(Crc32cTest, ThatOfZerosNeedsNoZeros, (std::uint16_t length, std::uint32_t seed)) {
  const std::vector<std::byte> zeros(length);
  RC_ASSERT(Crc32cOfZeros(length, seed) == Crc32c(zeros, seed));
}

}  // namespace
}  // namespace zenfs
