// Bytes that do not compress and come out the same for the same seed.
#pragma once

#include <cstdint>
#include <string>

#include "base/random.h"

namespace zenfs {

inline std::string Noise(std::size_t bytes, std::uint64_t seed) {
  Random random(seed);
  std::string text(bytes, '\0');
  for (char& c : text) c = static_cast<char>(random.Next());
  return text;
}

}  // namespace zenfs
