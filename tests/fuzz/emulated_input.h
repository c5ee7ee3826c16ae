// The input of the target `emulated`, shared with the code that writes its seeds.
#pragma once

#include <cstdint>

namespace zenfs {

enum EmulatedFlags : std::uint8_t {
  kEmulatedCrcAsItIs = 1,
  kEmulatedLayoutAsItIs = 2,
  kEmulatedWrongSize = 4,
};
inline constexpr std::uint32_t kEmulatedZonesMax = 16;
inline constexpr std::uint64_t kEmulatedZoneSizeMax = 1 << 20;

}  // namespace zenfs
