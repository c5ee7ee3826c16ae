// Reading into the memory that RocksDB brings along ("scratch").
#pragma once

#include <span>

#include "base/bytes.h"
#include "rocksdb_plugin/mounted_file.h"

namespace zenfs {

inline ByteSpan ScratchBytes(char* scratch, std::size_t n) {
  return std::as_writable_bytes(std::span(scratch, n));
}

// NotSupported without scratch: RocksDB expects that of files mapped into memory (allow_mmap_reads), which a
// zoned device does not offer.
[[nodiscard]] IOStatus CheckScratch(const MountedFile& file, std::size_t n, const char* scratch);

// Sets `result` to the bytes at [offset, offset + n), fewer only at the end of the file, none on an error.
[[nodiscard]] IOStatus ReadInto(const MountedFile& file, std::uint64_t offset, std::size_t n, Slice* result,
                                char* scratch);

}  // namespace zenfs
