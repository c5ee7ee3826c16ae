// Contents of shared memory after a crash that differ from what the process left.
//
// Threads: one.
#pragma once

#include <string>
#include <vector>

#include "base/random.h"
#include "world/shared_memory_files.h"

namespace zenfs {

struct MemoryImage {
  std::string what;  // "with changed shared memory"
  SharedMemoryFiles::Contents contents;
};

// `earlier`: left by an earlier mount of the volume. `foreign`: left by a mount of another volume.
// Either may be empty. A mount must not accept any of the results in place of `left`.
[[nodiscard]] std::vector<MemoryImage> MemoryImages(const SharedMemoryFiles::Contents& left,
                                                    const SharedMemoryFiles::Contents& earlier,
                                                    const SharedMemoryFiles::Contents& foreign,
                                                    Random& random);

}  // namespace zenfs
