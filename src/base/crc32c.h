// CRC-32C (Castagnoli), as RocksDB, iSCSI and ext4 use it. Computed by ISA-L.
#pragma once

#include <cstdint>
#include <optional>

#include "base/bytes.h"

namespace zenfs {

using KnownCrc = std::optional<std::uint32_t>;  // a CRC-32C, where there is one

// The CRC of `bytes`. With `seed` = the CRC of what stands before, the CRC of both together;
// Crc32c("123456789") == 0xe3069283.
[[nodiscard]] std::uint32_t Crc32c(ByteView bytes, std::uint32_t seed = 0);

// CRCs of bytes that stand one behind the other, from one another, without the bytes: about a microsecond, however
// many there are.
//
//   |---- front ----|---- back (back_length bytes) ----|
//   |--------------------- whole ----------------------|
[[nodiscard]] std::uint32_t Crc32cWhole(std::uint32_t front, std::uint32_t back, std::uint64_t back_length);
[[nodiscard]] std::uint32_t Crc32cFront(std::uint32_t whole, std::uint32_t back, std::uint64_t back_length);
[[nodiscard]] std::uint32_t Crc32cBack(std::uint32_t whole, std::uint32_t front, std::uint64_t back_length);

}  // namespace zenfs
