// A file of the ideal file system that is being written.
//
// Appending is copying. What was appended is sent to the drive when it has come to kSendBytes, and only the write sent
// before that is waited for, so that the drive and the database work at the same time. Sync and Close send the rest
// and wait for everything.
//
// Threads: Sync and Fsync may run beside Append and Flush.
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
  // Sends what was not; waits for nothing.
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
  // Sends what was appended if there is enough of it, and then returns when the write before that completes.
  std::optional<SteadyTime> Send(std::uint64_t bytes) EXCLUDES(mutex_);
  // Returns when all that was appended is on the drive.
  SteadyTime SendRest() EXCLUDES(mutex_);

  const std::shared_ptr<IdealDrive> drive_;
  const std::unique_ptr<MemoryFile> file_;
  const std::string path_;
  const Cause cause_;
  const ZoneId zone_;
  const bool direct_;
  Mutex mutex_;  // before the drive's
  std::uint64_t unsent_ GUARDED_BY(mutex_) = 0;
  SteadyTime due_ GUARDED_BY(mutex_);  // of the write sent last
};

}  // namespace zenfs
