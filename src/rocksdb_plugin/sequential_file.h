// A file for reads from start to end, for RocksDB. Threads: one at a time.
#pragma once

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
  MountedFile file_;
  const bool direct_;
  std::uint64_t position_ = 0;
};

}  // namespace zenfs
