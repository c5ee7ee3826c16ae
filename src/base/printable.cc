#include "base/printable.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>

namespace zenfs {
namespace {

struct Decoded {
  char32_t code_point = 0;
  std::size_t bytes = 0;  // 0: not UTF-8
};

// Decodes the code point at the front of `text`, which is not empty. RFC 3629: no overlong forms,
// no surrogates.
Decoded DecodeFront(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(0);
  if (first < 0x80) return {first, 1};
  const std::size_t bytes = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  constexpr char32_t kSmallest[] = {0, 0, 0x80, 0x800, 0x10000};
  if (first < 0xc2 || first > 0xf4 || text.size() < bytes) return {};
  char32_t code_point = first & (0xffu >> (bytes + 1));
  for (std::size_t i = 1; i < bytes; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return {};
    code_point = code_point << 6 | (byte(i) & 0x3f);
  }
  const bool surrogate = code_point >= 0xd800 && code_point <= 0xdfff;
  if (code_point < kSmallest[bytes] || surrogate || code_point > 0x10ffff) return {};
  return {code_point, bytes};
}

struct Range {
  char32_t first;
  char32_t last;
};

// Sorted. The categories Cc, Cf, Zl and Zp of Unicode 15, and other characters without ink and
// width.
constexpr Range kUnprintable[] = {
    {0x0000, 0x001f},   {0x007f, 0x009f},  // controls
    {0x00ad, 0x00ad},                      // soft hyphen
    {0x034f, 0x034f},                      // combining grapheme joiner
    {0x0600, 0x0605},   {0x061c, 0x061c},   {0x06dd, 0x06dd},
    {0x070f, 0x070f},   {0x0890, 0x0891},   {0x08e2, 0x08e2},  // Arabic marks
    {0x115f, 0x1160},                                          // Hangul fillers
    {0x17b4, 0x17b5},                                          // Khmer inherent vowels
    {0x180b, 0x180f},                                          // Mongolian separators
    {0x200b, 0x200f},  // zero width, left-to-right and right-to-left mark
    {0x2028, 0x202e},  // separators of lines and paragraphs, bidirectional controls
    {0x2060, 0x206f},  // invisible operators, bidirectional isolates
    {0x3164, 0x3164},  // Hangul filler
    {0xfdd0, 0xfdef},  // noncharacters
    {0xfe00, 0xfe0f},  // variation selectors
    {0xfeff, 0xfeff},  // byte order mark
    {0xffa0, 0xffa0},  // Hangul filler
    {0xfff0, 0xfffb},  // annotations
    {0x110bd, 0x110bd}, {0x110cd, 0x110cd}, {0x13430, 0x1343f},
    {0x1bca0, 0x1bca3}, {0x1d173, 0x1d17a},  // format controls of scripts and music
    {0xe0000, 0xe0fff},                      // tags, variation selectors
};

bool IsUnprintable(char32_t code_point) {
  if ((code_point & 0xfffe) == 0xfffe) return true;  // noncharacters at the end of each plane
  const auto* const range = std::ranges::lower_bound(kUnprintable, code_point, {}, &Range::last);
  return range != std::end(kUnprintable) && range->first <= code_point;
}

std::string Escape(std::string_view text, std::string_view kept) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const Decoded front = DecodeFront(text);
    const std::string_view bytes = text.substr(0, std::max<std::size_t>(front.bytes, 1));
    text.remove_prefix(bytes.size());
    if (front.bytes != 0 &&
        (!IsUnprintable(front.code_point) || kept.find(bytes) != std::string_view::npos)) {
      out += bytes;
      continue;
    }
    for (const char c : bytes) out += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
  }
  return out;
}

}  // namespace

std::string Printable(std::string_view text) { return Escape(text, ""); }

std::string PrintableLines(std::string_view text) { return Escape(text, "\n\t"); }

std::string ShellWord(std::string_view text) {
  const std::string printable = Printable(text);
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=:,./@%";
  if (!printable.empty() && printable.find_first_not_of(kPlain) == printable.npos) return printable;
  std::string word = "'";
  for (const char c : printable) word += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return word + "'";
}

bool IsUtf8(std::string_view text) {
  while (!text.empty()) {
    const std::size_t bytes = DecodeFront(text).bytes;
    if (bytes == 0) return false;
    text.remove_prefix(bytes);
  }
  return true;
}

}  // namespace zenfs
