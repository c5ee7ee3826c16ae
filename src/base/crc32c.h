// CRC-32C (Castagnoli), the CRC of RocksDB, iSCSI and ext4. Computed by ISA-L.
#pragma once

#include <cstdint>
#include <optional>

#include "base/bytes.h"

namespace zenfs {

using KnownCrc = std::optional<std::uint32_t>;  // a CRC-32C, or nothing if it is unknown

// The CRC of `bytes`; Crc32c("123456789") == 0xe3069283. If `seed` is the CRC of preceding bytes, the CRC of both
// together.
[[nodiscard]] std::uint32_t Crc32c(ByteView bytes, std::uint32_t seed = 0);

// Compute one of the three CRCs below from the two others, without the bytes. Takes about a microsecond for any length.
//
//   |---- front ----|---- back (back_length bytes) ----|
//   |--------------------- whole ----------------------|
[[nodiscard]] std::uint32_t Crc32cWhole(std::uint32_t front, std::uint32_t back, std::uint64_t back_length);
[[nodiscard]] std::uint32_t Crc32cFront(std::uint32_t whole, std::uint32_t back, std::uint64_t back_length);
[[nodiscard]] std::uint32_t Crc32cBack(std::uint32_t whole, std::uint32_t front, std::uint64_t back_length);

// The CRC of so many zeros behind bytes with the CRC `seed`. Takes microseconds for any length.
[[nodiscard]] std::uint32_t Crc32cOfZeros(std::uint64_t length, std::uint32_t seed = 0);

}  // namespace zenfs
