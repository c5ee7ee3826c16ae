// How long a file is expected to live, as RocksDB's write-life-time hints say it (rocksdb/env.h,
// Env::WriteLifeTimeHint; the numbers are the same). Placement keeps files of like lifetime in one zone.
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
[[nodiscard]] std::string_view LifetimeName(Lifetime lifetime);

}  // namespace zenfs
