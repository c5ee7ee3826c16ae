#include "base/printable.h"

#include <gtest/gtest.h>

namespace zenfs {
namespace {

std::string Utf8(char32_t code_point) {
  std::string out;
  const auto add = [&](char32_t bits) { out += static_cast<char>(bits); };
  if (code_point < 0x80) {
    add(code_point);
  } else if (code_point < 0x800) {
    add(0xc0 | code_point >> 6);
  } else if (code_point < 0x10000) {
    add(0xe0 | code_point >> 12);
    add(0x80 | (code_point >> 6 & 0x3f));
  } else {
    add(0xf0 | code_point >> 18);
    add(0x80 | (code_point >> 12 & 0x3f));
    add(0x80 | (code_point >> 6 & 0x3f));
  }
  if (code_point >= 0x80) add(0x80 | (code_point & 0x3f));
  return out;
}

std::string Escaped(const std::string& bytes) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string out;
  for (const char c : bytes) {
    out +=
        {'\\', 'x', kDigits[static_cast<unsigned char>(c) >> 4], kDigits[static_cast<unsigned char>(c) & 15]};
  }
  return out;
}

struct Class {
  const char* name;
  char32_t first;
  char32_t last;
};

TEST(PrintableTest, CodePointsThatATerminalObeysOrHidesAreEscaped) {
  constexpr Class kClasses[] = {
      {"C0", 0x00, 0x1f},
      {"DEL and C1", 0x7f, 0x9f},
      {"soft hyphen", 0xad, 0xad},
      {"Arabic letter mark", 0x61c, 0x61c},
      {"zero width and directional marks", 0x200b, 0x200f},
      {"line and paragraph separators", 0x2028, 0x2029},
      {"bidirectional embeddings and overrides", 0x202a, 0x202e},
      {"word joiner and invisible operators", 0x2060, 0x2064},
      {"bidirectional isolates", 0x2066, 0x2069},
      {"byte order mark", 0xfeff, 0xfeff},
      {"annotations", 0xfff9, 0xfffb},
      {"noncharacters", 0xfffe, 0xffff},
      {"tags", 0xe0000, 0xe007f},
      {"last code points", 0x10fffe, 0x10ffff},
  };
  for (const Class& each : kClasses) {
    for (char32_t code_point = each.first; code_point <= each.last; ++code_point) {
      const std::string bytes = Utf8(code_point);
      EXPECT_TRUE(IsUtf8(bytes)) << each.name;
      EXPECT_EQ(Printable("a" + bytes + "b"), "a" + Escaped(bytes) + "b") << each.name;
    }
  }
}

TEST(PrintableTest, TextStaysAsItIs) {
  constexpr Class kClasses[] = {
      {"ASCII", 0x20, 0x7e},           {"Latin", 0xa0, 0xac},       {"Greek and Cyrillic", 0x370, 0x377},
      {"Hebrew", 0x5d0, 0x5ea},        {"Arabic", 0x620, 0x64a},    {"dashes and quotes", 0x2010, 0x2027},
      {"kana", 0x3041, 0x3096},        {"Han", 0x4e00, 0x4e20},     {"private use", 0xe000, 0xe010},
      {"replacement", 0xfffd, 0xfffd}, {"emoji", 0x1f600, 0x1f64f},
  };
  for (const Class& each : kClasses) {
    for (char32_t code_point = each.first; code_point <= each.last; ++code_point) {
      EXPECT_EQ(Printable(Utf8(code_point)), Utf8(code_point)) << each.name;
    }
  }
}

TEST(PrintableTest, EachByteThatIsNotUtf8IsEscaped) {
  const std::string kBroken[] = {
      "\xff",
      "\xfe",
      "\x80",
      "\xbf",
      "\xc3",
      "\xc0\x80",
      "\xc1\xbf",  // overlong
      "\xe0\x80\x8a",
      "\xf0\x80\x80\x8a",
      "\xed\xa0\x80",
      "\xed\xbf\xbf",  // surrogates
      "\xf4\x90\x80\x80",
      "\xf5\x80\x80\x80",  // beyond the last code point
      "\xe2\x80",
      "\xf0\x9f\x98",  // cut off
  };
  for (const std::string& bytes : kBroken) {
    EXPECT_FALSE(IsUtf8(bytes)) << Escaped(bytes);
    EXPECT_EQ(Printable(bytes), Escaped(bytes));
  }
  EXPECT_EQ(Printable("\xe2\x80z\xc3\xa4"), "\\xe2\\x80z\xc3\xa4");
}

// No sequence of two bytes leaves a character that a terminal obeys.
TEST(PrintableTest, OutputOfAnyTwoBytesIsPrintable) {
  for (int a = 0; a < 256; ++a) {
    for (int b = 0; b < 256; ++b) {
      const std::string text = {static_cast<char>(a), static_cast<char>(b)};
      const std::string shown = Printable(text);
      EXPECT_TRUE(IsUtf8(shown));
      EXPECT_EQ(Printable(shown), shown);
      EXPECT_EQ(shown.find('\x1b'), std::string::npos);
    }
  }
}

TEST(PrintableTest, LinesKeepTheirEndsAndTabs) {
  EXPECT_EQ(PrintableLines("a\tb\n\r\x1b[2J\xc2\x9b\n"), "a\tb\n\\x0d\\x1b[2J\\xc2\\x9b\n");
}

TEST(ShellWordTest, IsOneWordOfAShell) {
  EXPECT_EQ(ShellWord("--emu=/tmp/a-1.img"), "--emu=/tmp/a-1.img");
  EXPECT_EQ(ShellWord("/tmp/my disk.img"), "'/tmp/my disk.img'");
  EXPECT_EQ(ShellWord("it's $HOME"), "'it'\\''s $HOME'");
  EXPECT_EQ(ShellWord("a?ro"), "'a?ro'");
  EXPECT_EQ(ShellWord(""), "''");
}

}  // namespace
}  // namespace zenfs
