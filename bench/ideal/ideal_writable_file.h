// A writable file of the ideal file system.
//
// An append copies. Appended bytes are sent to the drive in writes of kSendBytes, and only the
// previous write is waited for, so that drive and database work at the same time. Sync and Close
// send the rest and wait for all writes.
//
// Threads: Sync and Fsync may run concurrently with Append and Flush.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "base/mutex.h"
#include "drive.h"
#include "memory_file.h"
#include "rocksdb_plugin/rocksdb_version.h"

namespace zenfs {

class IdealWritableFile final : public rocksdb::FSWritableFile {
 public:
  static constexpr std::uint64_t kSendBytes = 64 << 10;

  IdealWritableFile(std::shared_ptr<IdealDrive> drive, std::unique_ptr<MemoryFile> file, std::string path,
                    const FileOptions& options);
  // Sends the rest; does not wait.
  ~IdealWritableFile() override;

  using rocksdb::FSWritableFile::Append;
  using rocksdb::FSWritableFile::PositionedAppend;
  IOStatus Append(const Slice& data, const IOOptions& options, IODebugContext* dbg) override;
  IOStatus Append(const Slice& data, const IOOptions& options, const DataVerificationInfo&,
                  IODebugContext* dbg) override {
    return Append(data, options, dbg);
  }
  IOStatus PositionedAppend(const Slice& data, uint64_t offset, const IOOptions& options,
                            IODebugContext* dbg) override;
  IOStatus PositionedAppend(const Slice& data, uint64_t offset, const IOOptions& options,
                            const DataVerificationInfo&, IODebugContext* dbg) override {
    return PositionedAppend(data, offset, options, dbg);
  }
  IOStatus Truncate(uint64_t size, const IOOptions& options, IODebugContext* dbg) override;
  IOStatus Close(const IOOptions& options, IODebugContext* dbg) override;
  IOStatus Flush(const IOOptions&, IODebugContext*) override { return IOStatus::OK(); }
  IOStatus Sync(const IOOptions& options, IODebugContext* dbg) override;
  IOStatus Fsync(const IOOptions& options, IODebugContext* dbg) override { return Sync(options, dbg); }
  bool IsSyncThreadSafe() const override { return true; }

  bool use_direct_io() const override { return direct_; }
  size_t GetRequiredBufferAlignment() const override { return kIdealBlock; }
  uint64_t GetFileSize(const IOOptions&, IODebugContext*) override { return file_->size(); }
  size_t GetUniqueId(char*, size_t) const override { return 0; }
  IOStatus InvalidateCache(size_t, size_t) override { return IOStatus::OK(); }
  void PrepareWrite(size_t, size_t, const IOOptions&, IODebugContext*) override {}

 private:
  IOStatus Write(const Slice& data, uint64_t offset) EXCLUDES(mutex_);
  // Sends the appended bytes if there are enough, and returns when the previous write completes.
  std::optional<SteadyTime> Send(std::uint64_t bytes) EXCLUDES(mutex_);
  // Returns when all appended bytes are on the drive.
  SteadyTime SendRest() EXCLUDES(mutex_);

  const std::shared_ptr<IdealDrive> drive_;
  const std::unique_ptr<MemoryFile> file_;
  const std::string path_;
  const Cause cause_;
  const ZoneId zone_;
  const bool direct_;
  Mutex mutex_;  // taken before the drive's
  std::uint64_t unsent_ GUARDED_BY(mutex_) = 0;
  SteadyTime due_ GUARDED_BY(mutex_);  // when the last write sent completes
};

}  // namespace zenfs
