#include "backends/emulator/area_blocks.h"

#include "base/aligned_buffer.h"
#include "base/assert.h"
#include "base/zeros.h"

namespace zenfs {

Result<BlockSet> WrittenBlocks(Store& store, ZoneId zone, const RandomWindow& window,
                               std::uint32_t block_size) {
  ZENFS_ASSERT(window.area <= kBlockSetSize);
  AlignedBuffer bytes(block_size);
  BlockSet written = 0;
  for (std::uint64_t block = window.start; block < window.end(); ++block) {
    ZENFS_RETURN_IF_ERROR(store.Read(zone, block * block_size, bytes.Whole()));
    if (!IsZeros(bytes.Whole())) written |= BitOf(block);
  }
  return written;
}

}  // namespace zenfs
