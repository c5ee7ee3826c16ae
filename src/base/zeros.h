// Zeros: bytes that were never written, or that a hole of a file can stand for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>

#include "base/bytes.h"

namespace zenfs {

// True if all bytes are zero, also if there are none.
inline bool IsZeros(ByteView bytes) {
  if (bytes.empty()) return true;
  // Each byte equals its predecessor, and the first is zero.
  return bytes.front() == std::byte{0} && std::memcmp(bytes.data(), bytes.data() + 1, bytes.size() - 1) == 0;
}

// Memory of zeros that takes no room until it is written to. Reading it takes none either. Throws std::bad_alloc.
[[nodiscard]] std::shared_ptr<std::byte[]> MakeZeroPages(std::size_t bytes);

// How many of the `length` bytes at `offset` of the open file are in a hole, and so zeros; 0 if the host can't tell, or if the file
// ends before them.
[[nodiscard]] std::uint64_t KnownHole(int fd, std::uint64_t offset, std::uint64_t length);

}  // namespace zenfs
