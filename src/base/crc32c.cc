#include "base/crc32c.h"

#include <isa-l/crc.h>

#include <algorithm>

namespace zenfs {

std::uint32_t Crc32c(ByteView bytes, std::uint32_t seed) {
  // ISA-L takes the length as int and leaves the inversions of the standard CRC to the caller.
  constexpr std::size_t kChunk = std::size_t{1} << 30;
  std::uint32_t crc = ~seed;
  while (!bytes.empty()) {
    const std::size_t n = std::min(bytes.size(), kChunk);
    auto* data = const_cast<unsigned char*>(reinterpret_cast<const unsigned char*>(bytes.data()));
    crc = crc32_iscsi(data, static_cast<int>(n), crc);
    bytes = bytes.subspan(n);
  }
  return ~crc;
}

}  // namespace zenfs
