// Corrects one flipped bit in a superblock; the CRC locates it. Two flips in 4096 bytes are never
// mistaken for one, because CRC-32C has a Hamming distance of at least 4 at this length. But three
// or more flips may be corrected to a wrong superblock, so callers need further proof.
#pragma once

#include <optional>

#include "base/bytes.h"
#include "format/superblock.h"

namespace zenfs {

// Returns nothing if `bytes` are not a superblock, are valid, or have more than one wrong bit.
[[nodiscard]] std::optional<Superblock> CorrectSuperblock(ByteView bytes);

}  // namespace zenfs
