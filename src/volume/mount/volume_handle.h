// A FileHandle on a mounted volume. Keeps the volume's memory (not its mount) and the open file alive.
// Threads: any.
#pragma once

#include <atomic>
#include <memory>

#include "open/open_file.h"
#include "volume/file_handle.h"
#include "volume/mount/writer_mount.h"

namespace zenfs {

class VolumeHandle final : public FileHandle {
 public:
  VolumeHandle(std::shared_ptr<WriterMount> mount, std::shared_ptr<OpenFile> file, bool writable)
      : mount_(std::move(mount)), file_(std::move(file)), writable_(writable) {}
  ~VolumeHandle() override;

  using FileHandle::Read;
  using FileHandle::ReadMany;
  [[nodiscard]] Result<std::size_t> Read(std::uint64_t offset, ByteSpan into,
                                         ReadSource source) const override;
  [[nodiscard]] Result<std::size_t> ReadVerified(std::uint64_t offset, ByteSpan into) const override;
  void ReadMany(std::span<ReadRequest> requests, ReadSource source) const override;
  [[nodiscard]] std::unique_ptr<PendingRead> StartRead(std::uint64_t offset, ByteSpan into,
                                                       ReadSource source) const override;
  void Advise(std::uint64_t offset, std::uint64_t length, CacheAdvice advice) const override;
  [[nodiscard]] Status Append(ByteView bytes, KnownCrc crc) override;
  [[nodiscard]] Status PositionedAppend(ByteView bytes, std::uint64_t offset, KnownCrc crc) override;
  [[nodiscard]] Status Truncate(std::uint64_t size) override;
  [[nodiscard]] Status Flush() override;
  [[nodiscard]] Status Sync() override;
  [[nodiscard]] Status Close() override;
  void SetLifetime(Lifetime lifetime) override;
  std::uint64_t size() const override { return file_->size(); }
  FileId id() const override { return file_->id; }
  FileShape shape() const override { return file_->shape; }
  Lifetime lifetime() const override { return file_->lifetime; }

 private:
  // Enters the volume if this handle may write.
  [[nodiscard]] Result<Gate::Entry> EnterWriting() const;

  // The trace of the mount; null if there is none.
  TraceRecorder* Trace() const { return mount_->parts().trace.get(); }
  void RecordGrowth() const;

  const std::shared_ptr<WriterMount> mount_;
  std::shared_ptr<OpenFile> file_;
  const bool writable_;
  std::atomic<bool> closed_{false};
};

}  // namespace zenfs
