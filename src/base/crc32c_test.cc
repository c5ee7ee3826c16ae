#include "base/crc32c.h"

#include <gtest/gtest.h>

#include <string>

namespace zenfs {
namespace {

TEST(Crc32c, IsCastagnolis) {
  EXPECT_EQ(Crc32c(AsBytes("123456789")), 0xe3069283u);
  EXPECT_EQ(Crc32c(AsBytes(std::string(32, '\0'))), 0x8a9136aau);  // RFC 3720, B.4
  EXPECT_EQ(Crc32c({}), 0u);
}

TEST(Crc32c, SeedContinuesWhatStandsBefore) {
  const std::string text = "the quick brown fox jumps over the lazy dog";
  for (std::size_t cut = 0; cut <= text.size(); ++cut) {
    EXPECT_EQ(Crc32c(AsBytes(text.substr(cut)), Crc32c(AsBytes(text.substr(0, cut)))), Crc32c(AsBytes(text)));
  }
}

}  // namespace
}  // namespace zenfs
