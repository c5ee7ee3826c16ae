#include "base/uuid.h"

#include <gtest/gtest.h>

namespace zenfs {
namespace {

TEST(Uuid, TextIsParsedBack) {
  const Uuid uuid = Uuid::Generate();
  EXPECT_EQ(Uuid::Parse(uuid.ToString()), uuid);
  EXPECT_EQ(Uuid::Parse("0123ABCD-89ab-4def-8123-456789abcdef")->ToString(),
            "0123abcd-89ab-4def-8123-456789abcdef");
}

TEST(Uuid, GeneratedOnesDifferAndAreVersionFour) {
  const Uuid uuid = Uuid::Generate();
  EXPECT_NE(uuid, Uuid::Generate());
  EXPECT_EQ(uuid.bytes[6] >> 4, 4);
  EXPECT_EQ(uuid.bytes[8] >> 6, 2);
  EXPECT_FALSE(uuid.IsNil());
  EXPECT_TRUE(Uuid{}.IsNil());
}

TEST(Uuid, OtherTextIsRefused) {
  for (const char* text : {"", "0123abcd-89ab-4def-8123-456789abcde", "0123abcd-89ab-4def-8123-456789abcdeff",
                           "0123abcd089ab-4def-8123-456789abcdef", "g123abcd-89ab-4def-8123-456789abcdef"}) {
    EXPECT_FALSE(Uuid::Parse(text)) << text;
  }
}

}  // namespace
}  // namespace zenfs
