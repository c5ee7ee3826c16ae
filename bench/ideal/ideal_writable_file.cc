#include "ideal_writable_file.h"

#include <utility>

#include "rocksdb_plugin/status_conversion.h"

namespace zenfs {

IdealWritableFile::IdealWritableFile(std::shared_ptr<IdealDrive> drive, std::unique_ptr<MemoryFile> file,
                                     std::string path, const FileOptions& options)
    : drive_(std::move(drive)),
      file_(std::move(file)),
      path_(std::move(path)),
      cause_(CauseOf(path_)),
      zone_(drive_->TakeZone()),
      direct_(options.use_direct_writes && cause_ == Cause::kData) {}

IdealWritableFile::~IdealWritableFile() { SendRest(); }

std::optional<SteadyTime> IdealWritableFile::Send(std::uint64_t bytes) {
  MutexLock lock(mutex_);
  unsent_ += bytes;
  if (unsent_ < kSendBytes) return std::nullopt;
  return std::exchange(due_, drive_->SendWrite(zone_, std::exchange(unsent_, 0), cause_));
}

SteadyTime IdealWritableFile::SendRest() {
  MutexLock lock(mutex_);
  if (unsent_ != 0) due_ = drive_->SendWrite(zone_, std::exchange(unsent_, 0), cause_);
  return due_;
}

IOStatus IdealWritableFile::Write(const Slice& data, uint64_t offset) {
  return Guarded([&] {
    const Status written = file_->Write(offset, std::as_bytes(std::span(data.data(), data.size())));
    if (!written.ok()) return ToIOStatus(written, "writing", path_);
    if (const auto before = Send(data.size())) drive_->WaitUntil(*before);
    return IOStatus::OK();
  });
}

IOStatus IdealWritableFile::Append(const Slice& data, const IOOptions&, IODebugContext*) {
  return Write(data, file_->size());
}

IOStatus IdealWritableFile::PositionedAppend(const Slice& data, uint64_t offset, const IOOptions&,
                                             IODebugContext*) {
  if (offset > file_->size()) return IOStatus::InvalidArgument("ideal: a gap would be left in " + path_);
  return Write(data, offset);
}

IOStatus IdealWritableFile::Truncate(uint64_t size, const IOOptions&, IODebugContext*) {
  return Guarded([&] { return ToIOStatus(file_->Truncate(size), "truncating", path_); });
}

IOStatus IdealWritableFile::Sync(const IOOptions&, IODebugContext*) {
  return Guarded([&] {
    drive_->WaitUntil(SendRest());
    return IOStatus::OK();
  });
}

IOStatus IdealWritableFile::Close(const IOOptions& options, IODebugContext* dbg) {
  return Sync(options, dbg);
}

}  // namespace zenfs
