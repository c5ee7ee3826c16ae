#include "volume/mount/volume_handle.h"

#include <fmt/format.h>

#include <tuple>

namespace zenfs {
namespace {

// A read that was started, which counts in the metrics with the time that the caller spent in it. In a forked child it fails, and
// what it holds stays: the locks of the pool may be held for ever, and the queue is the parent's.
class CountedRead final : public PendingRead {
 public:
  CountedRead(std::shared_ptr<WriterMount> mount, Gate::Entry entry, std::shared_ptr<OpenFile> file,
              std::uint64_t offset, ByteSpan into, ReadSource source)
      : held_(new Held{std::move(mount), std::move(entry), std::move(file), {}}) {
    const SteadyTime begin = SteadyNow();
    held_->read = held_->file->StartRead(offset, into, source);
    spent_ = SteadyNow() - begin;
  }
  ~CountedRead() override {
    if (!held_->mount->CheckNotForked().ok()) std::ignore = held_.release();
  }

  Result<std::size_t> Finish() override {
    ZENFS_RETURN_IF_ERROR(held_->mount->CheckNotForked());
    const SteadyTime begin = SteadyNow();
    Result<std::size_t> read = held_->read->Finish();
    Metrics& metrics = held_->mount->metrics();
    metrics.Count(Operation::kRead);
    metrics.Time(Operation::kRead, spent_ + (SteadyNow() - begin));
    if (!read) {
      metrics.CountError(Operation::kRead);
      return read;
    }
    metrics.CountBytes(Operation::kRead, *read);
    return read;
  }

 private:
  // In the order of their dependence: the read ends first.
  struct Held {
    std::shared_ptr<WriterMount> mount;
    Gate::Entry entry;
    std::shared_ptr<OpenFile> file;
    std::unique_ptr<PendingRead> read;
  };

  std::unique_ptr<Held> held_;
  std::chrono::nanoseconds spent_{};
};

}  // namespace

VolumeHandle::~VolumeHandle() {
  IgnoreError(Close());  // the error is sticky in the file: other handles still see it
  const Result<Gate::Entry> entry = mount_->Enter();
  if (!entry) return;  // unmounted: the table of open files is not used any more
  mount_->parts().opener.Release(*file_);
}

Result<Gate::Entry> VolumeHandle::EnterWriting() const {
  if (!writable_)
    return Fail(Code::kReadOnly, fmt::format("file {}: opened for reading only", file_->id.value));
  if (closed_)
    return Fail(Code::kInvalidArgument, fmt::format("file {}: written after Close", file_->id.value));
  return mount_->EnterToWrite();
}

void VolumeHandle::RecordGrowth() const {
  if (TraceRecorder* const trace = Trace()) trace->Grew(file_->id, file_->size());
}

Result<std::size_t> VolumeHandle::Read(std::uint64_t offset, ByteSpan into, ReadSource source) const {
  ZENFS_ASSIGN_OR_RETURN(const Gate::Entry entry, mount_->Enter());
  Meter meter(mount_->metrics(), Operation::kRead);
  Result<std::size_t> read = file_->Read(offset, into, source);
  const std::size_t bytes = read.value_or(0);
  return meter.Done(std::move(read), bytes);
}

Result<std::size_t> VolumeHandle::ReadVerified(std::uint64_t offset, ByteSpan into) const {
  ZENFS_ASSIGN_OR_RETURN(const Gate::Entry entry, mount_->Enter());
  Meter meter(mount_->metrics(), Operation::kRead);
  Result<std::size_t> read = file_->ReadVerified(offset, into);
  const std::size_t bytes = read.value_or(0);
  return meter.Done(std::move(read), bytes);
}

std::unique_ptr<PendingRead> VolumeHandle::StartRead(std::uint64_t offset, ByteSpan into,
                                                     ReadSource source) const {
  Result<Gate::Entry> entry = mount_->Enter();
  if (!entry) return std::make_unique<FinishedRead>(Fail(entry.error()));
  return std::make_unique<CountedRead>(mount_, *std::move(entry), file_, offset, into, source);
}

void VolumeHandle::Advise(std::uint64_t offset, std::uint64_t length, CacheAdvice advice) const {
  const Result<Gate::Entry> entry = mount_->Enter();
  if (entry) file_->Advise(offset, length, advice);
}

void VolumeHandle::ReadMany(std::span<ReadRequest> requests, ReadSource source) const {
  const Result<Gate::Entry> entry = mount_->Enter();
  if (!entry) {
    for (ReadRequest& request : requests) {
      request.status = Fail(entry.error());
      request.into = {};
    }
    return;
  }
  const SteadyTime begin = SteadyNow();
  file_->ReadMany(requests, source);
  const std::chrono::nanoseconds together = SteadyNow() - begin;
  Metrics& metrics = mount_->metrics();
  for (const ReadRequest& request : requests) {
    metrics.Count(Operation::kRead);
    metrics.Time(Operation::kRead, together);
    if (request.status.ok()) {
      metrics.CountBytes(Operation::kRead, request.into.size());
    } else {
      metrics.CountError(Operation::kRead);
    }
  }
}

Status VolumeHandle::Append(ByteView bytes, KnownCrc crc) {
  ZENFS_ASSIGN_OR_RETURN(const Gate::Entry entry, EnterWriting());
  Status appended = file_->Append(bytes, crc);
  RecordGrowth();
  return appended;
}

Status VolumeHandle::PositionedAppend(ByteView bytes, std::uint64_t offset, KnownCrc crc) {
  ZENFS_ASSIGN_OR_RETURN(const Gate::Entry entry, EnterWriting());
  Status appended = file_->PositionedAppend(bytes, offset, crc);
  RecordGrowth();
  return appended;
}

Status VolumeHandle::Truncate(std::uint64_t size) {
  ZENFS_ASSIGN_OR_RETURN(const Gate::Entry entry, EnterWriting());
  return file_->Truncate(size);
}

Status VolumeHandle::Flush() {
  ZENFS_ASSIGN_OR_RETURN(const Gate::Entry entry, EnterWriting());
  return file_->Flush();
}

Status VolumeHandle::Sync() {
  ZENFS_ASSIGN_OR_RETURN(const Gate::Entry entry, EnterWriting());
  return file_->Sync();
}

Status VolumeHandle::Close() {
  if (!writable_ || closed_.exchange(true)) return {};
  ZENFS_ASSIGN_OR_RETURN(const Gate::Entry entry, mount_->EnterToWrite());
  Meter meter(mount_->metrics(), Operation::kClose);
  Status closed = meter.Done(file_->EndWriting());
  mount_->parts().accounting.Publish();
  if (TraceRecorder* const trace = Trace()) trace->Closed(file_->id, file_->size());
  return closed;
}

void VolumeHandle::SetLifetime(Lifetime lifetime) {
  const Result<Gate::Entry> entry = EnterWriting();
  if (entry) mount_->parts().opener.SetLifetime(*file_, lifetime);
}

}  // namespace zenfs
