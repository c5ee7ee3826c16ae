// The expected lifetime of a file: RocksDB's Env::WriteLifeTimeHint (rocksdb/env.h) with the same numbers. Placement puts
// files of similar lifetimes into one zone.
#pragma once

#include <cstdint>
#include <string_view>

namespace zenfs {

enum class Lifetime : std::uint8_t {
  kNotSet = 0,
  kNone = 1,
  kShort = 2,
  kMedium = 3,
  kLong = 4,
  kExtreme = 5,
};
inline constexpr int kLifetimeCount = 6;

// "not set", "none", "short", "medium", "long", "extreme"
[[nodiscard]] constexpr std::string_view LifetimeName(Lifetime lifetime) {
  switch (lifetime) {
    case Lifetime::kNotSet: return "not set";
    case Lifetime::kNone: return "none";
    case Lifetime::kShort: return "short";
    case Lifetime::kMedium: return "medium";
    case Lifetime::kLong: return "long";
    case Lifetime::kExtreme: return "extreme";
  }
  return "unknown";
}

}  // namespace zenfs
