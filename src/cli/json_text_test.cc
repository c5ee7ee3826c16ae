#include "cli/json_text.h"

#include <gtest/gtest.h>

#include "backup/path_text.h"

namespace zenfs {
namespace {

TEST(JsonTextTest, JsonIsAsciiAndNamesTheBytesThatItCannotHold) {
  const std::string kName = "a\xff\xc2\x9b";
  const Json json{{"entries", {{{"name", "ok \xe2\x80\xae"}}, {{"name", kName}}}}};
  const std::string text = JsonText(json, 2);
  for (const char c : text) EXPECT_TRUE(c == '\n' || (c >= 0x20 && c < 0x7f));
  const Json read = Json::parse(text);
  EXPECT_EQ(read["entries"][0]["name"], "ok \xe2\x80\xae");
  ASSERT_EQ(read["not_utf8"].size(), 1u);
  EXPECT_EQ(DecodePathText(read["not_utf8"]["/entries/1/name"].get<std::string>()), kName);
  EXPECT_NO_THROW(static_cast<void>(read.at(Json::json_pointer("/entries/1/name"))));
}

TEST(JsonTextTest, JsonOfUtf8HasNoMemberForBytes) {
  EXPECT_EQ(JsonText(Json{{"name", "x"}}, -1), R"({"name":"x"})");
}

}  // namespace
}  // namespace zenfs
