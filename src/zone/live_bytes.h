// The rule for counting live bytes of a zone, for an extent or a piece that was cut off one.
//
// An extent counts all blocks from its first to its last one, which is padded, since it begins on a block
// boundary. If an extent is cut inside a block, this block counts for the piece before the cut. So the counts
// of all pieces always add up to the count of the whole extent.
#pragma once

#include <cstdint>

#include "base/bytes.h"
#include "model/file_record.h"

namespace zenfs {

constexpr std::uint64_t OccupiedBytes(const Extent& piece, std::uint32_t block_size) {
  return RoundUp(piece.place.value + piece.length, block_size) - RoundUp(piece.place.value, block_size);
}

}  // namespace zenfs
