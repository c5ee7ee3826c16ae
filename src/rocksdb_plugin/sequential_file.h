// A file for reads from start to end, for RocksDB.
//
// It reads ahead from the second read on: RocksDB replays a WAL in pieces of 32 KiB, and the kernel's page cache, which
// reads ahead on other file systems, is not there. Bytes that were read ahead stay true, because a file that RocksDB
// reads this way only grows; its end is asked for anew each time.
//
// Threads: one at a time.
#pragma once

#include "base/aligned_buffer.h"
#include "rocksdb_plugin/mounted_file.h"

namespace zenfs {

class SequentialFile final : public rocksdb::FSSequentialFile {
 public:
  SequentialFile(MountedFile file, const FileOptions& options);

  IOStatus Read(size_t n, const IOOptions& options, Slice* result, char* scratch,
                IODebugContext* dbg) override;
  // Stops at the end of the file without an error.
  IOStatus Skip(uint64_t n) override;
  IOStatus PositionedRead(uint64_t offset, size_t n, const IOOptions& options, Slice* result, char* scratch,
                          IODebugContext* dbg) override;
  bool use_direct_io() const override { return direct_; }
  size_t GetRequiredBufferAlignment() const override { return file_.block_size(); }
  IOStatus InvalidateCache(size_t offset, size_t length) override;

 private:
  // Copies bytes from the position on that are read ahead now or were before. Returns their number: fewer at the end of the
  // file, and where a read fails, because a damaged place farther on must not hide the bytes before it.
  std::size_t CopyAhead(ByteSpan into);
  void ReadAhead(std::uint64_t offset);

  MountedFile file_;
  const bool direct_;
  std::uint64_t position_ = 0;
  bool began_ = false;  // the first read is not enough to expect others
  AlignedBuffer ahead_;
  std::uint64_t ahead_at_ = 0;  // file offset of its first byte
};

}  // namespace zenfs
