// What may be found in shared memory after a crash that is not what the process left there.
//
// Threads: one.
#pragma once

#include <string>
#include <vector>

#include "base/random.h"
#include "world/shared_memory_files.h"

namespace zenfs {

struct MemoryPicture {
  std::string what;  // "with changed shared memory"
  SharedMemoryFiles::Contents contents;
};

// `earlier` is what an earlier mount of the volume left, `foreign` what a mount of another volume did; either may be
// empty. Of all that none may be taken for what `left` holds.
[[nodiscard]] std::vector<MemoryPicture> MemoryPictures(const SharedMemoryFiles::Contents& left,
                                                        const SharedMemoryFiles::Contents& earlier,
                                                        const SharedMemoryFiles::Contents& foreign,
                                                        Random& random);

}  // namespace zenfs
