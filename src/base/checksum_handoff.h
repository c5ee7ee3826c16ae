// What to say of bytes that come with a checksum and do not have it.
#pragma once

#include "base/crc32c.h"
#include "base/status.h"

namespace zenfs {

// `bytes` bytes have the CRC `computed`. Errors: kCorruption if `handed_over` is known and another.
[[nodiscard]] Status CheckHandoff(std::uint64_t bytes, std::uint32_t computed, KnownCrc handed_over);

}  // namespace zenfs
