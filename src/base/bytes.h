// Views of bytes, and rounding to blocks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace zenfs {

using ByteView = std::span<const std::byte>;
using ByteSpan = std::span<std::byte>;

inline ByteView AsBytes(std::string_view text) {
  return std::as_bytes(std::span<const char>(text.data(), text.size()));
}
inline std::string_view AsText(ByteView bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

constexpr std::uint64_t RoundDown(std::uint64_t value, std::uint64_t unit) { return value - value % unit; }
constexpr std::uint64_t RoundUp(std::uint64_t value, std::uint64_t unit) {
  return RoundDown(value + unit - 1, unit);
}
constexpr bool IsMultiple(std::uint64_t value, std::uint64_t unit) { return value % unit == 0; }

}  // namespace zenfs
