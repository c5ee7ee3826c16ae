// The bytes of a file at fixed addresses, for readers that provide no memory: RocksDB with
// allow_mmap_reads, its PlainTable and cuckoo tables, which keep pointers while the file is open.
//
// Zones can't be mapped into memory. A MappedFile reserves addresses for the whole file and reads
// pieces of 256 KiB when they are needed. They stay until it is destroyed, so at worst the file is
// in memory once.
//
// Its size is the size of the file when it was made: RocksDB opens a table after it is complete.
// Threads: any. Pointers are valid as long as the MappedFile.
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
  // `file` must outlive the map. Errors: kNoSpace if the process has no addresses left.
  [[nodiscard]] static Result<std::unique_ptr<MappedFile>> Of(const FileHandle& file);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  // Returns [offset, offset + n), fewer bytes only at the end of the map. Errors: those of
  // FileHandle::Read; the next call then reads the pieces again.
  [[nodiscard]] Result<ByteView> Read(std::uint64_t offset, std::size_t n);

 private:
  MappedFile(const FileHandle& file, ByteSpan memory);
  Status Load(std::size_t piece) EXCLUDES(mutex_);
  // Whether the piece has been read. Set after the last of its bytes was written.
  std::atomic_ref<std::byte> Loaded(std::size_t piece) const { return std::atomic_ref(loaded_[piece]); }

  const FileHandle& file_;
  const ByteSpan memory_;  // mapped; as long as the file
  const std::shared_ptr<std::byte[]>
      loaded_;  // by piece. Takes memory where it is set: the file may claim any size
  Mutex mutex_{
      LockRank::kMappedFile};  // held during the read of a piece; taken before the locks of an open file
};

}  // namespace zenfs
