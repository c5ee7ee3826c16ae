// CRC-32C (Castagnoli), as RocksDB, iSCSI and ext4 use it. Computed by ISA-L.
#pragma once

#include <cstdint>

#include "base/bytes.h"

namespace zenfs {

// The CRC of `bytes`. With `seed` = the CRC of what stands before, the CRC of both together;
// Crc32c("123456789") == 0xe3069283.
[[nodiscard]] std::uint32_t Crc32c(ByteView bytes, std::uint32_t seed = 0);

}  // namespace zenfs
