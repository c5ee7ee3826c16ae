// A superblock with one flipped bit, put right: the CRC tells which bit it was. Two flips in 4096 bytes are never taken
// for one (CRC-32C has a Hamming distance of at least 4 at this length), so what this returns is what was written, or
// something that took at least three flips to look like it; who uses it asks for more proof.
#pragma once

#include <optional>

#include "base/bytes.h"
#include "format/superblock.h"

namespace zenfs {

// None when `bytes` are no superblock, sound, or damaged in more than a bit.
[[nodiscard]] std::optional<Superblock> CorrectSuperblock(ByteView bytes);

}  // namespace zenfs
