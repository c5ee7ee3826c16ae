#include "cli/json.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <functional>

#include "backup/record_text.h"
#include "cli/console.h"

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

// What `run` prints to standard output.
std::string OutputOf(const std::function<void(Console&)>& run) {
  char* text = nullptr;
  std::size_t bytes = 0;
  std::FILE* const out = open_memstream(&text, &bytes);
  Console console(out, stderr);
  run(console);
  EXPECT_TRUE(console.Flush().ok());
  std::fclose(out);
  const std::string all(text, bytes);
  std::free(text);
  return all;
}

TEST(JsonStreamTest, PiecesGiveTheTextOfTheWholeObject) {
  const Json first{{"name", "a\nb\x7f\xc3\xa4"}, {"empty", Json::array()}, {"list", {1, {{"x", nullptr}}}}};
  const Json bad{{"name", "\xff"}};
  const Json whole{{"path", "/\xfe"},
                   {"none", Json::array()},
                   {"nothing", Json::object()},
                   {"zones", {{"meta", {1}}, {"io", {first, bad, "\xfd"}}}},
                   {"last", 7}};
  const auto in_pieces = [&](Console& console) {
    JsonStream out(console);
    out.Member("path", "/\xfe");
    out.OpenArray("none");
    out.Close();
    out.OpenObject("nothing");
    out.Close();
    out.OpenObject("zones");
    out.OpenArray("meta");
    out.Element(1);
    out.Close();
    out.OpenArray("io");
    out.Element(first);
    out.OpenElement();
    out.Member("name", "\xff");
    out.Close();
    out.Element("\xfd");
    out.Close();
    out.Close();
    out.Member("last", 7);
    out.End();
  };
  const std::string expected = OutputOf([&](Console& console) { console.PrintJson(whole); });
  EXPECT_NE(expected.find("\"/zones/io/1/name\": \"%FF\""), std::string::npos) << expected;
  EXPECT_EQ(OutputOf(in_pieces), expected);
}

TEST(JsonStreamTest, AnEmptyObjectIsOneLine) {
  EXPECT_EQ(OutputOf([](Console& console) { JsonStream(console).End(); }), "{}\n");
}

TEST(JsonStreamTest, ShortOutputIsPrintedWholeOrNotAtAll) {
  const auto without_end = [](std::size_t bytes) {
    return OutputOf([&](Console& console) {
      JsonStream out(console);
      out.Member("text", std::string(bytes, 'x'));
    });
  };
  EXPECT_EQ(without_end(1000), "");
  EXPECT_GE(without_end(JsonStream::kHeldBytes).size(), JsonStream::kHeldBytes);
}

}  // namespace
}  // namespace zenfs
