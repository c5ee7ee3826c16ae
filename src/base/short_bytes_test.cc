#include "base/short_bytes.h"

#include <gtest/gtest.h>

namespace zenfs {
namespace {

TEST(ShortBytes, RoundsDown) {
  EXPECT_EQ(ShortBytes((std::uint64_t{116} << 20) - 1), "115 MiB");
  EXPECT_EQ(ShortBytes((std::uint64_t{14} << 20) - 1), "13.9 MiB");
  EXPECT_EQ(ShortBytes((std::uint64_t{2} << 20) - 1), "1.99 MiB");
  EXPECT_EQ(ShortBytes(1000.0 * 1024), "0.97 MiB");
}

TEST(ShortBytes, HasThreeDigitsAndAUnitThatFits) {
  EXPECT_EQ(ShortBytes(0.0), "0 B");
  EXPECT_EQ(ShortBytes(1023.0), "1023 B");
  EXPECT_EQ(ShortBytes(1280.0), "1.25 KiB");
  EXPECT_EQ(ShortBytes(std::uint64_t{50} << 20), "50.0 MiB");
  EXPECT_EQ(ShortBytes(std::uint64_t{904 * 1077} << 20), "950 GiB");
  EXPECT_EQ(ShortBytes(std::uint64_t{5} << 40), "5.00 TiB");
}

}  // namespace
}  // namespace zenfs
