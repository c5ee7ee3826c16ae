#include "cli/json_stream.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <functional>

namespace zenfs {
namespace {

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
