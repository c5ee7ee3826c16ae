// The bytes of a file at fixed places in memory, for readers that bring no memory along: RocksDB with
// allow_mmap_reads, its PlainTable and cuckoo tables, which take pointers and keep them while the file is open.
//
// Zones can't be mapped into memory. A MappedFile reserves addresses for the whole file and reads pieces of 256 KiB
// as they are touched; they stay until it is destroyed, so at worst the file is in memory once.
//
// It has the size that the file had when it was made: RocksDB opens a table when it is complete.
// Threads: any. The pointers are valid as long as the MappedFile.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "base/bytes.h"
#include "base/mutex.h"
#include "base/status.h"
#include "volume/file_handle.h"

namespace zenfs {

class MappedFile {
 public:
  // `file` outlives the map. Errors: kNoSpace when the process has no addresses left.
  [[nodiscard]] static Result<std::unique_ptr<MappedFile>> Of(const FileHandle& file);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  // [offset, offset + n), fewer only at the end of the map. Errors: those of FileHandle::Read; the pieces
  // are read anew by the next call.
  [[nodiscard]] Result<ByteView> Read(std::uint64_t offset, std::size_t n);

 private:
  MappedFile(const FileHandle& file, ByteSpan memory);
  Status Load(std::size_t piece) EXCLUDES(mutex_);

  const FileHandle& file_;
  const ByteSpan memory_;  // mapped; of the file's size
  // Of each piece: whether its bytes are there. Set once, after the last of them was written.
  const std::unique_ptr<std::atomic<bool>[]> loaded_;
  Mutex mutex_;  // held while a piece is read; taken before the locks of an open file
};

}  // namespace zenfs
