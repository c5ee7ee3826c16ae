// Readahead of a file that is read in order through the host's cache, as a kernel's file system does it for each open file.
//
// The kernel's own readahead is off (backends/host/kernel_cache.h): it would read beyond the file into what is not written yet.
//
// A few streams are followed at once, because RocksDB reads a file for a compaction through the same object as for its users.
// A stream begins with two reads, the second at the end of the first. It then has a window ahead of it, which doubles.
//
// Threads: any.
#pragma once

#include <array>
#include <cstdint>

#include "base/mutex.h"

namespace zenfs {

class FileReadahead {
 public:
  static constexpr std::uint64_t kFirstWindow = 64 << 10;
  static constexpr std::uint64_t kLargestWindow = 1 << 20;

  struct Range {
    std::uint64_t offset = 0;
    std::uint64_t length = 0;  // 0: nothing
  };
  // Notes a read of [offset, offset + length), which comes next. Returns what should be read ahead.
  [[nodiscard]] Range Next(std::uint64_t offset, std::uint64_t length) EXCLUDES(mutex_);

 private:
  struct Stream {
    std::uint64_t end = UINT64_MAX;  // of its last read
    std::uint64_t ahead = 0;         // end of what was read ahead
    std::uint64_t window = 0;
    std::uint64_t used = 0;  // when, in reads of the file
  };

  Mutex mutex_{LockRank::kLeaf};
  std::array<Stream, 4> streams_ GUARDED_BY(mutex_);
  std::uint64_t reads_ GUARDED_BY(mutex_) = 0;
};

}  // namespace zenfs
