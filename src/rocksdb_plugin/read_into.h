// Reads into the memory that RocksDB provides ("scratch").
#pragma once

#include <span>

#include "base/bytes.h"
#include "rocksdb_plugin/mounted_file.h"

namespace zenfs {

inline ByteSpan ScratchBytes(char* scratch, std::size_t n) {
  return std::as_writable_bytes(std::span(scratch, n));
}

// Sets `result` to the bytes at [offset, offset + n): fewer only at the end of the file, none on an
// error. `scratch` is not null unless `n` is 0.
[[nodiscard]] IOStatus ReadInto(const MountedFile& file, std::uint64_t offset, std::size_t n, Slice* result,
                                char* scratch, ReadSource source = ReadSource::kDevice);

}  // namespace zenfs
