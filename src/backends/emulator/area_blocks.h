// Finds the blocks of a random write area that were written, from their content: a device that is opened again does not
// know them. A block of zeros counts as not written: it reads the same either way.
#pragma once

#include "backends/emulator/durable_blocks.h"
#include "backends/emulator/random_window.h"
#include "backends/emulator/store.h"

namespace zenfs {

// Requires an area of at most kBlockSetSize blocks. The set begins at the start of the window.
[[nodiscard]] Result<BlockSet> WrittenBlocks(Store& store, ZoneId zone, const RandomWindow& window,
                                             std::uint32_t block_size);

}  // namespace zenfs
