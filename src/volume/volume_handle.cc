#include "volume/volume_handle.h"

#include <fmt/format.h>

#include <tuple>

namespace zenfs {
namespace {

// PlainFile does not know the id of its file.
Error OfFile(const Error& error, FileId id) { return error.With(fmt::format("file {}", id.value)); }

// A read of a plain file, which counts in the metrics with the time that the caller spent in it. In a forked child it fails, and
// what it holds stays: the locks of the pool may be held for ever, and the queue is the parent's.
class CountedRead final : public PendingRead {
 public:
  CountedRead(std::shared_ptr<WriterMount> mount, Gate::Entry entry, std::shared_ptr<OpenFile> file,
              std::uint64_t offset, ByteSpan into, ReadSource source)
      : held_(new Held{std::move(mount), std::move(entry), std::move(file), {}}) {
    const SteadyTime begin = SteadyNow();
    held_->read = held_->file->plain->StartRead(offset, into, source);
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
      return Fail(OfFile(read.error(), held_->file->id));
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
  Result<std::size_t> read =
      file_->plain ? file_->plain->Read(offset, into, source) : file_->framed->Read(offset, into);
  if (!read && file_->plain) read = Fail(OfFile(read.error(), file_->id));
  const std::size_t bytes = read.value_or(0);
  return meter.Done(std::move(read), bytes);
}

Result<std::size_t> VolumeHandle::ReadVerified(std::uint64_t offset, ByteSpan into) const {
  if (file_->plain) return Read(offset, into);
  ZENFS_ASSIGN_OR_RETURN(const Gate::Entry entry, mount_->Enter());
  Meter meter(mount_->metrics(), Operation::kRead);
  Result<std::size_t> read = file_->framed->Read(offset, into, FramedFile::Frames::kVerified);
  const std::size_t bytes = read.value_or(0);
  return meter.Done(std::move(read), bytes);
}

std::unique_ptr<PendingRead> VolumeHandle::StartRead(std::uint64_t offset, ByteSpan into,
                                                     ReadSource source) const {
  if (!file_->plain) return std::make_unique<FinishedRead>(Read(offset, into, source));
  Result<Gate::Entry> entry = mount_->Enter();
  if (!entry) return std::make_unique<FinishedRead>(Fail(entry.error()));
  return std::make_unique<CountedRead>(mount_, *std::move(entry), file_, offset, into, source);
}

void VolumeHandle::Advise(std::uint64_t offset, std::uint64_t length, CacheAdvice advice) const {
  const Result<Gate::Entry> entry = mount_->Enter();
  if (entry && file_->plain) file_->plain->Advise(offset, length, advice);
}

void VolumeHandle::ReadMany(std::span<ReadRequest> requests, ReadSource source) const {
  const Result<Gate::Entry> entry = mount_->Enter();
  if (entry && file_->plain) return ReadManyPlain(requests, source);
  for (ReadRequest& request : requests) {
    if (!entry) {
      request.status = Fail(entry.error());
      continue;
    }
    const Result<std::size_t> read = Read(request.offset, request.into);
    request.status = read ? Status() : Fail(read.error());
    request.into = request.into.first(read ? *read : 0);
  }
}

void VolumeHandle::ReadManyPlain(std::span<ReadRequest> requests, ReadSource source) const {
  const SteadyTime begin = SteadyNow();
  file_->plain->ReadMany(requests, source);
  const std::chrono::nanoseconds together = SteadyNow() - begin;
  Metrics& metrics = mount_->metrics();
  for (ReadRequest& request : requests) {
    if (!request.status.ok()) request.status = Fail(OfFile(request.status.error(), file_->id));
    metrics.Count(Operation::kRead);
    metrics.Time(Operation::kRead, together);
    if (request.status.ok()) {
      metrics.CountBytes(Operation::kRead, request.into.size());
    } else {
      metrics.CountError(Operation::kRead);
    }
  }
}

Status VolumeHandle::AppendFramed(ByteView bytes, KnownCrc crc) {
  Meter meter(mount_->metrics(), Operation::kWalWrite);
  if (meter.timed()) mount_->parts().accounting.Publish();
  Status appended = meter.Done(file_->framed->Append(bytes, crc), bytes.size());
  RecordGrowth();
  return appended;
}

Status VolumeHandle::SyncFile() {
  if (file_->plain) {
    Status synced = mount_->parts().sync.SyncPlain(*file_);
    if (TraceRecorder* const trace = Trace()) trace->Synced(file_->id, file_->size());
    return synced;
  }
  ZENFS_RETURN_IF_ERROR(mount_->parts().sync.EnsureCommitted(*file_));
  return file_->framed->Sync();
}

Status VolumeHandle::Append(ByteView bytes, KnownCrc crc) {
  ZENFS_ASSIGN_OR_RETURN(const Gate::Entry entry, EnterWriting());
  if (file_->framed) return AppendFramed(bytes, crc);
  Meter meter(mount_->metrics(), Operation::kNonWalWrite);
  Status appended = meter.Done(file_->plain->Append(bytes, crc), bytes.size());
  RecordGrowth();
  mount_->parts().accounting.Publish();
  return appended;
}

Status VolumeHandle::PositionedAppend(ByteView bytes, std::uint64_t offset, KnownCrc crc) {
  ZENFS_ASSIGN_OR_RETURN(const Gate::Entry entry, EnterWriting());
  if (file_->plain) {
    Meter meter(mount_->metrics(), Operation::kNonWalWrite);
    Status appended = meter.Done(file_->plain->PositionedAppend(bytes, offset, crc), bytes.size());
    RecordGrowth();
    return appended;
  }
  if (offset != file_->framed->size()) {
    return Fail(Code::kInvalidArgument, fmt::format("file {}: written at {} but its end is at {}",
                                                    file_->id.value, offset, file_->framed->size()));
  }
  return AppendFramed(bytes, crc);
}

Status VolumeHandle::Truncate(std::uint64_t size) {
  ZENFS_ASSIGN_OR_RETURN(const Gate::Entry entry, EnterWriting());
  if (file_->plain) {
    Status truncated = mount_->parts().sync.TruncatePlain(*file_, size);
    return truncated.ok() ? truncated : Fail(OfFile(truncated.error(), file_->id));
  }
  if (size != file_->framed->size()) return mount_->parts().sync.TruncateFramed(*file_, size);
  ZENFS_RETURN_IF_ERROR(mount_->parts().sync.EnsureCommitted(*file_));
  return file_->framed->Sync();
}

Status VolumeHandle::Flush() {
  ZENFS_ASSIGN_OR_RETURN(const Gate::Entry entry, EnterWriting());
  if (file_->plain) return mount_->parts().sync.FlushPlain(*file_);
  Meter meter(mount_->metrics(), Operation::kWalFlush);
  ZENFS_RETURN_IF_ERROR(meter.Done(mount_->parts().sync.EnsureCommitted(*file_)));
  return meter.Done(file_->framed->Flush());
}

Status VolumeHandle::Sync() {
  ZENFS_ASSIGN_OR_RETURN(const Gate::Entry entry, EnterWriting());
  Meter meter(mount_->metrics(), file_->plain ? Operation::kNonWalSync : Operation::kWalSync);
  Status synced = meter.Done(SyncFile());
  mount_->parts().accounting.Publish();
  return synced;
}

Status VolumeHandle::Close() {
  if (!writable_ || closed_.exchange(true)) return {};
  ZENFS_ASSIGN_OR_RETURN(const Gate::Entry entry, mount_->EnterToWrite());
  Meter meter(mount_->metrics(), Operation::kClose);
  Status closed = meter.Done(mount_->parts().sync.EndWriting(*file_));
  mount_->parts().accounting.Publish();
  if (TraceRecorder* const trace = Trace()) trace->Closed(file_->id, file_->size());
  return closed;
}

void VolumeHandle::SetLifetime(Lifetime lifetime) {
  const Result<Gate::Entry> entry = EnterWriting();
  if (entry) mount_->parts().opener.SetLifetime(*file_, lifetime);
}

}  // namespace zenfs
