// Corrects one flipped bit in a superblock; the CRC tells which one. Two flips in 4096 bytes are
// never taken for one (CRC-32C has a Hamming distance of at least 4 at this length). The result is
// therefore what was written, or other bytes that differ from it by at least three flips; callers
// need more proof.
#pragma once

#include <optional>

#include "base/bytes.h"
#include "format/superblock.h"

namespace zenfs {

// Returns nothing if `bytes` are not a superblock, are valid, or have more than one wrong bit.
[[nodiscard]] std::optional<Superblock> CorrectSuperblock(ByteView bytes);

}  // namespace zenfs
