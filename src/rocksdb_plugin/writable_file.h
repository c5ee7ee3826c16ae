// A file for writing, for RocksDB.
//
// Buffered writers use Append. Direct writers (use_direct_io() is true, plain files only) use
// PositionedAppend for whole blocks, rewrite the padded last block when it grows, and Truncate to
// the true size at the end. Writes with a checksum (DBOptions::checksum_handoff_file_types) are
// verified by the volume before they are accepted (FileHandle::Append): RocksDB passes the plain,
// unmasked CRC32C in four little-endian bytes.
//
// Threads: Sync and Fsync may run concurrently with Append and Flush (IsSyncThreadSafe).
#pragma once

#include "rocksdb_plugin/mounted_file.h"

namespace zenfs {

class WritableFile final : public rocksdb::FSWritableFile {
 public:
  WritableFile(MountedFile file, const FileOptions& options);

  using rocksdb::FSWritableFile::Append;
  using rocksdb::FSWritableFile::PositionedAppend;
  IOStatus Append(const Slice& data, const IOOptions& options, IODebugContext* dbg) override;
  IOStatus Append(const Slice& data, const IOOptions& options, const DataVerificationInfo& verification_info,
                  IODebugContext* dbg) override;
  IOStatus PositionedAppend(const Slice& data, uint64_t offset, const IOOptions& options,
                            IODebugContext* dbg) override;
  IOStatus PositionedAppend(const Slice& data, uint64_t offset, const IOOptions& options,
                            const DataVerificationInfo& verification_info, IODebugContext* dbg) override;
  IOStatus Truncate(uint64_t size, const IOOptions& options, IODebugContext* dbg) override;
  IOStatus Close(const IOOptions& options, IODebugContext* dbg) override;
  IOStatus Flush(const IOOptions& options, IODebugContext* dbg) override;
  IOStatus Sync(const IOOptions& options, IODebugContext* dbg) override;
  IOStatus Fsync(const IOOptions& options, IODebugContext* dbg) override;
  bool IsSyncThreadSafe() const override { return true; }

  bool use_direct_io() const override { return direct_; }
  size_t GetRequiredBufferAlignment() const override { return file_.block_size(); }
  void SetWriteLifeTimeHint(rocksdb::Env::WriteLifeTimeHint hint) override;
  uint64_t GetFileSize(const IOOptions& options, IODebugContext* dbg) override;
  size_t GetUniqueId(char* id, size_t max_size) const override;
  IOStatus InvalidateCache(size_t offset, size_t length) override;
  // Called twice per put. Does nothing: space in zones is not reserved ahead.
  void PrepareWrite(size_t offset, size_t len, const IOOptions& options, IODebugContext* dbg) override;

 private:
  // Sets `crc` to the checksum to verify, if there is one.
  IOStatus HandedOver(const DataVerificationInfo& info, KnownCrc& crc) const;

  MountedFile file_;
  const bool direct_;
  // Who writes and reads without direct I/O expects a table that was just written in the host's cache. Our writes go around
  // it, so Close begins to read the table into it.
  const bool fills_cache_;
  const bool verifies_;  // checksums from RocksDB are CRC32C
};

}  // namespace zenfs
