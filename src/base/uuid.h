// A 128-bit identifier (RFC 4122 version 4), of a volume or a device.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace zenfs {

struct Uuid {
  std::array<std::uint8_t, 16> bytes{};

  static Uuid Generate();
  // Accepts 36 characters, xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx, in either case.
  static std::optional<Uuid> Parse(std::string_view text);
  std::string ToString() const;
  bool IsNil() const { return *this == Uuid{}; }

  friend auto operator<=>(const Uuid&, const Uuid&) = default;
};

}  // namespace zenfs
