// Sizes that a user writes, as text. Strict and bounded, without signs.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/status.h"

namespace zenfs {

inline constexpr std::uint64_t kMaxSize = std::uint64_t{1} << 56;  // bytes; keeps every sum within 63 bits

// "4096", "16M", "1g", "32MiB": digits, then optionally one of K, M, G, T in either case for powers
// of 1024, then optionally "iB". Output of FormatSize (cli/number.h) without its space is valid input. Errors:
// kInvalidArgument; the text quotes the input and lists the accepted forms.
[[nodiscard]] Result<std::uint64_t> ParseSize(std::string_view text);

// Decimal digits only. Nothing for other text, or a number beyond 64 bits.
[[nodiscard]] std::optional<std::uint64_t> ParseDigits(std::string_view text);

}  // namespace zenfs
