// How many bytes of its zone an extent, or a piece cut off one, keeps alive: the one rule of live accounting.
//
// A block belongs to the extent that has bytes in front of it or begins in it. An extent that begins on a
// block boundary therefore counts whole blocks up to and with its last, padded one; a piece that is cut off
// in mid-block leaves that block to the part before it. So however an extent is cut, its pieces add up to
// what was counted when it was gained, and nothing is left over when the last piece is gone.
#pragma once

#include <cstdint>

#include "base/bytes.h"
#include "model/file_record.h"

namespace zenfs {

constexpr std::uint64_t OccupiedBytes(const Extent& piece, std::uint32_t block_size) {
  return RoundUp(piece.place.value + piece.length, block_size) - RoundUp(piece.place.value, block_size);
}

}  // namespace zenfs
