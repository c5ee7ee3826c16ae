#include "base/uuid.h"

#include <cstring>

#include "base/random.h"

namespace zenfs {
namespace {

constexpr char kHex[] = "0123456789abcdef";
constexpr std::size_t kTextLength = 36;

bool IsDash(std::size_t position) {
  return position == 8 || position == 13 || position == 18 || position == 23;
}

std::optional<std::uint8_t> HexValue(char c) {
  if (c >= '0' && c <= '9') return static_cast<std::uint8_t>(c - '0');
  if (c >= 'a' && c <= 'f') return static_cast<std::uint8_t>(c - 'a' + 10);
  if (c >= 'A' && c <= 'F') return static_cast<std::uint8_t>(c - 'A' + 10);
  return std::nullopt;
}

}  // namespace

Uuid Uuid::Generate() {
  Uuid uuid;
  const std::uint64_t words[2] = {RandomSeed(), RandomSeed()};
  std::memcpy(uuid.bytes.data(), words, sizeof words);
  uuid.bytes[6] = static_cast<std::uint8_t>((uuid.bytes[6] & 0x0f) | 0x40);  // version 4
  uuid.bytes[8] = static_cast<std::uint8_t>((uuid.bytes[8] & 0x3f) | 0x80);  // RFC 4122 variant
  return uuid;
}

std::optional<Uuid> Uuid::Parse(std::string_view text) {
  if (text.size() != kTextLength) return std::nullopt;
  Uuid uuid;
  std::size_t digit = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (IsDash(i)) {
      if (text[i] != '-') return std::nullopt;
      continue;
    }
    const auto value = HexValue(text[i]);
    if (!value) return std::nullopt;
    std::uint8_t& byte = uuid.bytes[digit / 2];
    byte = static_cast<std::uint8_t>(digit % 2 == 0 ? *value << 4 : byte | *value);
    ++digit;
  }
  return uuid;
}

std::string Uuid::ToString() const {
  std::string text;
  text.reserve(kTextLength);
  for (const std::uint8_t byte : bytes) {
    if (IsDash(text.size())) text.push_back('-');
    text.push_back(kHex[byte >> 4]);
    text.push_back(kHex[byte & 0xf]);
  }
  return text;
}

}  // namespace zenfs
