// Verifies bytes against the checksum that the caller passed with them.
#pragma once

#include "base/crc32c.h"
#include "base/status.h"

namespace zenfs {

// `bytes`: the number of bytes, for the message. `computed`: their CRC. Errors: kCorruption if `handed_over` is known and
// differs from it.
[[nodiscard]] Status CheckHandoff(std::uint64_t bytes, std::uint32_t computed, KnownCrc handed_over);

}  // namespace zenfs
