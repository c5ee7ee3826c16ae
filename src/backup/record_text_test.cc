#include "backup/record_text.h"

#include <gmock/gmock.h>
#include <rapidcheck/gtest.h>

#include <cstring>
#include <vector>

namespace zenfs {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::vector<std::string> LinesOf(LineReader lines) {
  std::vector<std::string> found;
  for (auto line = lines.Next(); line && *line; line = lines.Next()) {
    found.push_back(std::string((*line)->text) + ((*line)->ended ? "$" : ""));
  }
  return found;
}

TEST(LineReaderTest, LinesAreThoseOfTheText) {
  EXPECT_THAT(LinesOf(LineReader::Of("")), ElementsAre());
  EXPECT_THAT(LinesOf(LineReader::Of("a\n\nbc\n")), ElementsAre("a$", "$", "bc$"));
  EXPECT_THAT(LinesOf(LineReader::Of("a\ntorn")), ElementsAre("a$", "torn"));
}

TEST(LineReaderTest, PiecesOfAnySizeGiveTheSameLines) {
  std::string text;
  for (int i = 0; i < 3000; ++i) text += std::string(i % 97, 'x') + "\n";
  for (const std::size_t piece : {1, 7, 4096}) {
    LineReader reader([&](std::uint64_t offset, ByteSpan into) -> Result<std::size_t> {
      const std::size_t n = std::min({into.size(), piece, text.size() - offset});
      std::memcpy(into.data(), text.data() + offset, n);
      return n;
    });
    EXPECT_EQ(LinesOf(std::move(reader)), LinesOf(LineReader::Of(text)));
  }
}

TEST(LineReaderTest, ALineWithoutAnEndIsRefusedAfterLittleIsRead) {
  std::uint64_t read = 0;
  LineReader reader([&](std::uint64_t, ByteSpan into) -> Result<std::size_t> {
    std::memset(into.data(), 0, into.size());
    read += into.size();
    return into.size();
  });
  const auto line = reader.Next();
  ASSERT_FALSE(line.has_value());
  EXPECT_EQ(line.error().code(), Code::kCorruption);
  EXPECT_THAT(line.error().text(), HasSubstr("line 1 has more than 65536 bytes"));
  EXPECT_LE(read, 4 * LineReader::kMaxLineBytes);
}

TEST(LineReaderTest, ErrorsOfTheReaderArePassedOn) {
  LineReader reader([](std::uint64_t, ByteSpan) -> Result<std::size_t> { return Fail(Code::kIo, "no"); });
  EXPECT_EQ(reader.Next().error().code(), Code::kIo);
}

RC_GTEST_PROP(PathTextTest, EveryPathComesBack, (const std::string& path)) {
  const std::string text = EncodePathText(path);
  for (const char c : text)
    RC_ASSERT(static_cast<unsigned char>(c) >= 0x20 && static_cast<unsigned char>(c) < 0x7f);
  RC_ASSERT(DecodePathText(text) == path);
}

TEST(PathTextTest, HalfAnEscapeIsRefused) {
  EXPECT_EQ(DecodePathText("a%"), std::nullopt);
  EXPECT_EQ(DecodePathText("a%4"), std::nullopt);
  EXPECT_EQ(DecodePathText("a%4g"), std::nullopt);
  EXPECT_EQ(DecodePathText("a%41"), "aA");
}

}  // namespace
}  // namespace zenfs
