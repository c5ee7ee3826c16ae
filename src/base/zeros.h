// Finds bytes that were never written, or that a hole of a file can stand for.
#pragma once

#include <cstring>

#include "base/bytes.h"

namespace zenfs {

// True if all bytes are zero, also if there are none.
inline bool IsZeros(ByteView bytes) {
  if (bytes.empty()) return true;
  // Each byte equals its predecessor, and the first is zero.
  return bytes.front() == std::byte{0} && std::memcmp(bytes.data(), bytes.data() + 1, bytes.size() - 1) == 0;
}

}  // namespace zenfs
