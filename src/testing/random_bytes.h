// Incompressible bytes; the same seed gives the same bytes.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "base/random.h"

namespace zenfs {

inline std::string RandomBytes(std::size_t bytes, std::uint64_t seed) {
  Random random(seed);
  std::string text(bytes, '\0');
  random.Fill(std::as_writable_bytes(std::span(text)));
  return text;
}

}  // namespace zenfs
