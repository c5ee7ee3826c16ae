#include "volume/mount/mounted_volume.h"

#include <fmt/format.h>

#include <atomic>
#include <tuple>

#include "base/assert.h"

namespace zenfs {

Result<Gate::Entry> WriterMount::EnterToWrite() const {
  ZENFS_ASSIGN_OR_RETURN(Gate::Entry entry, Enter());
  ZENFS_RETURN_IF_ERROR(parts_->effects.health());
  return entry;
}

// --- handles ---

namespace {

// A FileHandle on a mounted volume. Keeps the volume's memory (not its mount) and the open file alive.
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

VolumeHandle::~VolumeHandle() {
  IgnoreError(Close());  // the error is sticky in the file: other handles still see it
  const Result<Gate::Entry> entry = mount_->Enter();
  if (!entry) return;  // unmounted: the table of open files is not used any more
  mount_->parts().names.Release(*file_);
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
  if (entry) mount_->parts().names.SetLifetime(*file_, lifetime);
}

// `file` already counts this handle.
std::unique_ptr<FileHandle> MakeHandle(const std::shared_ptr<WriterMount>& mount,
                                       std::shared_ptr<OpenFile> file, bool writable) {
  if (writable) mount->parts().files.AddWriter(*file);
  return std::make_unique<VolumeHandle>(mount, std::move(file), writable);
}

}  // namespace

// --- calls ---

MountedVolume::MountedVolume(std::shared_ptr<WriterMount> mount)
    : Volume(VolumeInfo{.superblock = mount->device().superblock,
                        .geometry = mount->device().geometry,
                        .device_name = mount->device().name,
                        .read_only = false}),
      mount_(std::move(mount)) {}

Result<std::unique_ptr<FileHandle>> MountedVolume::Create(std::string_view path, Lifetime lifetime) {
  ZENFS_ASSIGN_OR_RETURN(const Gate::Entry entry, mount_->EnterToWrite());
  ZENFS_ASSIGN_OR_RETURN(std::shared_ptr<OpenFile> file, mount_->parts().names.Create(path, lifetime));
  return MakeHandle(mount_, std::move(file), true);
}

Result<std::unique_ptr<FileHandle>> MountedVolume::OpenForAppend(std::string_view path, bool create) {
  ZENFS_ASSIGN_OR_RETURN(const Gate::Entry entry, mount_->EnterToWrite());
  Namespace& names = mount_->parts().names;
  Result<std::shared_ptr<OpenFile>> opened = names.Open(path);
  if (opened) return MakeHandle(mount_, *std::move(opened), true);
  if (!create || opened.error().code() != Code::kNotFound) return Fail(std::move(opened).error());
  ZENFS_ASSIGN_OR_RETURN(std::shared_ptr<OpenFile> file, names.Create(path, Lifetime::kNotSet));
  return MakeHandle(mount_, std::move(file), true);
}

Result<std::unique_ptr<FileHandle>> MountedVolume::OpenForRead(std::string_view path, FileId) {
  ZENFS_ASSIGN_OR_RETURN(const Gate::Entry entry, mount_->Enter());
  ZENFS_ASSIGN_OR_RETURN(std::shared_ptr<OpenFile> file, mount_->parts().names.Open(path));
  return MakeHandle(mount_, std::move(file), false);
}

Status MountedVolume::Unlink(std::string_view path) {
  ZENFS_ASSIGN_OR_RETURN(const Gate::Entry entry, mount_->EnterToWrite());
  return mount_->parts().names.Unlink(path);
}

Status MountedVolume::Link(std::string_view existing, std::string_view new_name) {
  ZENFS_ASSIGN_OR_RETURN(const Gate::Entry entry, mount_->EnterToWrite());
  return mount_->parts().names.Link(existing, new_name);
}

Status MountedVolume::Rename(std::string_view from, std::string_view to) {
  ZENFS_ASSIGN_OR_RETURN(const Gate::Entry entry, mount_->EnterToWrite());
  return mount_->parts().names.Rename(from, to);
}

Status MountedVolume::MakeDirectory(std::string_view path, bool parents) {
  ZENFS_ASSIGN_OR_RETURN(const Gate::Entry entry, mount_->EnterToWrite());
  return mount_->parts().names.MakeDirectory(path, parents);
}

Status MountedVolume::RemoveDirectory(std::string_view path) {
  ZENFS_ASSIGN_OR_RETURN(const Gate::Entry entry, mount_->EnterToWrite());
  return mount_->parts().names.RemoveDirectory(path);
}

Status MountedVolume::RemoveTree(std::string_view path) {
  ZENFS_ASSIGN_OR_RETURN(const Gate::Entry entry, mount_->EnterToWrite());
  return mount_->parts().names.RemoveTree(path);
}

Status MountedVolume::SyncDirectory(std::string_view path) {
  ZENFS_ASSIGN_OR_RETURN(const Gate::Entry entry, mount_->EnterToWrite());
  return mount_->parts().names.SyncDirectory(path);
}

Result<FileStat> MountedVolume::Stat(std::string_view path) const {
  ZENFS_ASSIGN_OR_RETURN(const Gate::Entry entry, mount_->Enter());
  return mount_->parts().names.Stat(path);
}

Result<std::vector<DirectoryEntry>> MountedVolume::List(std::string_view path, FileId known) const {
  ZENFS_ASSIGN_OR_RETURN(const Gate::Entry entry, mount_->Enter());
  return mount_->parts().names.List(path, known);
}

Result<FileLayout> MountedVolume::Layout(std::string_view path) const {
  ZENFS_ASSIGN_OR_RETURN(const Gate::Entry entry, mount_->Enter());
  return mount_->parts().names.Layout(path);
}

Status MountedVolume::ForEachLayout(std::span<const FileId> files, const EachLayout& each) const {
  ZENFS_ASSIGN_OR_RETURN(const Gate::Entry entry, mount_->Enter());
  for (std::size_t i = 0; i < files.size(); ++i) {
    const std::optional<FileLayout> layout = mount_->parts().names.LayoutOf(files[i]);
    if (layout) ZENFS_RETURN_IF_ERROR(each(i, *layout));
  }
  return {};
}

Result<std::unique_ptr<PathLock>> MountedVolume::Lock(std::string_view path) {
  ZENFS_ASSIGN_OR_RETURN(const Gate::Entry entry, mount_->EnterToWrite());
  ZENFS_ASSIGN_OR_RETURN(std::unique_ptr<PathLock> lock, mount_->parts().path_locks.Take(path));
  ZENFS_ASSIGN_OR_RETURN(const std::unique_ptr<FileHandle> file, OpenForAppend(path, true));
  ZENFS_RETURN_IF_ERROR(file->Close());
  return lock;
}

bool MountedVolume::StartsReads() const {
  if (const std::optional<bool> known = starts_reads_.load(std::memory_order_relaxed)) return *known;
  const Result<Gate::Entry> entry = mount_->Enter();
  if (!entry) return false;
  const bool starts = mount_->device().reads->Lend()->Overlaps();
  starts_reads_.store(starts, std::memory_order_relaxed);
  return starts;
}

VolumeCounters MountedVolume::counters() const {
  const VolumeParts& parts = mount_->parts();
  return {.epoch = parts.epoch,
          .metalog = parts.metalog->stats(),
          .written = parts.accounting.Counters(),
          .metrics_page = mount_->metrics().page()};
}

std::vector<std::string> MountedVolume::notices() const {
  const VolumeParts& parts = mount_->parts();
  std::vector<std::string> all = mount_->device().notices;
  const std::vector<std::string> damage = parts.mover.damage();
  all.insert(all.end(), damage.begin(), damage.end());
  if (parts.trace) {
    if (auto problem = parts.trace->problem()) all.push_back(*std::move(problem));
  }
  return all;
}

Status MountedVolume::health() const {
  ZENFS_RETURN_IF_ERROR(mount_->parts().effects.health());
  return mount_->parts().commits.health();
}

// --- the end of the mount ---

Status WriterMount::KeepMetrics() const {
  parts_->accounting.Publish();
  return device_->KeepMetrics();
}

namespace {

std::string KeptText(const std::string& path) {
  return fmt::format(
      "the device has no room for all bytes that were flushed and not synced; they wait in {} until a mount "
      "on this host finds "
      "room, and are lost if the host restarts before. Delete files to make room",
      path);
}

}  // namespace

Status WriterMount::PrepareForExit() {
  const Result<Gate::Entry> entry = Enter();
  if (!entry) return {};
  Status first;
  if (parts_->buffers->Retire()) first = EndBuffers();
  first.Update(KeepMetrics());
  return first;
}

// Writes and commits the buffers of open files, ends the threads, and releases the device, so that it can be mounted again,
// in this process too. The calls of handles that are still open find the gate closed.
Status WriterMount::Unmount() {
  if (!gate_.Close()) return {};
  VolumeParts& parts = *parts_;
  ZENFS_ASSERT(device_->device != nullptr);  // the gate closes once
  parts.drain.Stop();
  const bool end_buffers = parts.buffers->Retire();
  Status first = WriteBackOpenFiles();
  const Result<Written> written = end_buffers ? WriteBackFlushed() : Written::kAll;
  if (!written) first.Update(Fail(written.error()));
  const bool kept = written && *written == Written::kKept;
  if (kept) device_->notices.push_back(KeptText(parts.buffers->path()));
  parts.StopMoving(first.ok());
  if (written) first.Update(SealLogs(end_buffers && !kept));
  if (first.ok() && !kept) parts.log.sync_area().Release();
  if (first.ok()) first = parts.metalog->health();
  parts.metalog->Stop();
  if (parts.trace) parts.trace->End();
  first.Update(KeepMetrics());
  device_->reads.reset();
  device_->device.reset();
  device_->metrics.MoveHome();  // no thread counts any more, so the shared page may be unmapped
  parts.buffers->HandOver();
  return first;
}

// The results of writing many files.
class WriterMount::Outcome {
 public:
  // `kept`: the next mount finds the file's bytes in the append buffers.
  void Add(const Status& written, bool kept) {
    if (!written.ok() && written.error().code() == Code::kNoSpace && kept) {
      written_ = Written::kKept;
    } else {
      first_.Update(written);
    }
  }
  // The first error.
  const Status& error() const { return first_; }
  Result<Written> Get() const {
    if (!first_.ok()) return Fail(first_.error());
    return written_;
  }

 private:
  Status first_;
  Written written_ = Written::kAll;
};

Status WriterMount::WriteBackOpenFiles() {
  ZENFS_ASSERT(gate_.closed());
  Outcome outcome;
  for (const std::shared_ptr<OpenFile>& file : parts_->files.All()) {
    const Status written = file->WriteBack();
    outcome.Add(written, file->KeptForNextMount());
    parts_->names.Release(*file);
  }
  return outcome.error();
}

Result<WriterMount::Written> WriterMount::WriteBackFlushed() {
  Outcome outcome;
  for (const std::shared_ptr<OpenFile>& file : parts_->files.All()) {
    if (file->HasFlushedBytes()) {
      const Status written = file->WriteBack();
      outcome.Add(written, file->KeptForNextMount());
    }
    parts_->names.Release(*file);
  }
  outcome.Add(parts_->buffers->CheckNothingGivenUp(device_->name), true);
  for (const std::shared_ptr<FramedFile>& file : parts_->logs.All()) {
    const Status written = file->WriteBack();
    outcome.Add(written, file->KeptForNextMount());
  }
  return outcome.Get();
}

Status WriterMount::EndBuffers() {
  ZENFS_ASSIGN_OR_RETURN(const Written written, WriteBackFlushed());
  if (written == Written::kKept) return {};
  ZENFS_RETURN_IF_ERROR(parts_->commits.Commit({SetBufferPlace{""}}));
  return parts_->buffers->Remove();
}

Status WriterMount::SealLogs(bool forget_buffers) {
  ZENFS_ASSERT(gate_.closed());
  ZENFS_ASSERT(!forget_buffers || parts_->buffers->CheckNothingGivenUp(device_->name).ok());
  const FlushMark mark = FlushMark::Now(*device_->device);
  std::vector<Edit> edits;
  for (const std::shared_ptr<FramedFile>& file : parts_->logs.All()) {
    std::optional<SealLog> seal = file->SealOfOpenWindow();
    if (!seal || parts_->catalog.FindFile(file->id()) == nullptr) continue;
    edits.push_back(*std::move(seal));
  }
  const bool seals = !edits.empty();
  if (forget_buffers) edits.push_back(SetBufferPlace{""});
  if (edits.empty()) return {};
  // The frames must be on stable media before the seal that covers them.
  ZENFS_RETURN_IF_ERROR(
      parts_->commits.Commit(std::move(edits), {.data_since = seals ? std::optional(mark) : std::nullopt}));
  return forget_buffers ? parts_->buffers->Remove() : Status();
}

}  // namespace zenfs
