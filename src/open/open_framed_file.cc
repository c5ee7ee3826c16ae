#include "open/open_framed_file.h"

#include <fmt/format.h>

#include "file/extent_checksum.h"

namespace zenfs {

Result<std::size_t> OpenFramedFile::Read(std::uint64_t offset, ByteSpan into, ReadSource) const {
  return content_->Read(offset, into);
}

Result<std::size_t> OpenFramedFile::ReadVerified(std::uint64_t offset, ByteSpan into) const {
  return content_->Read(offset, into, FramedFile::Frames::kVerified);
}

void OpenFramedFile::ReadMany(std::span<ReadRequest> requests, ReadSource) const {
  for (ReadRequest& request : requests) {
    const Result<std::size_t> read = content_->Read(request.offset, request.into);
    request.status = read ? Status() : Fail(read.error());
    request.into = request.into.first(read.value_or(0));
  }
}

std::unique_ptr<PendingRead> OpenFramedFile::StartRead(std::uint64_t offset, ByteSpan into,
                                                       ReadSource) const {
  return std::make_unique<FinishedRead>(content_->Read(offset, into));
}

Status OpenFramedFile::Append(ByteView bytes, KnownCrc crc) {
  Meter meter(deps().metrics, Operation::kWalWrite);
  if (meter.timed()) deps().accounting.Publish();
  return meter.Done(content_->Append(bytes, crc), bytes.size());
}

Status OpenFramedFile::PositionedAppend(ByteView bytes, std::uint64_t offset, KnownCrc crc) {
  if (offset == content_->size()) return Append(bytes, crc);
  return Fail(Code::kInvalidArgument,
              fmt::format("file {}: written at {} but its end is at {}", id.value, offset, content_->size()));
}

Status OpenFramedFile::Truncate(std::uint64_t size) {
  return size == content_->size() ? SyncFrames() : Shorten(size);
}

Status OpenFramedFile::Shorten(std::uint64_t size) {
  ZENFS_RETURN_IF_ERROR(EnsureCommitted());
  // Before the file is locked: a clean that frees a log zone for these bytes may be waiting for that lock.
  ZENFS_RETURN_IF_ERROR(content_->WriteBack());
  std::shared_ptr<const FileRecord> record;
  ZENFS_ASSIGN_OR_RETURN(const Catalog::Action action,
                         deps().catalog.Begin([&](const CatalogView& view, LockKeys& keys) -> Status {
                           keys.exclusive.push_back(id);
                           record = view.state().FindFile(id);
                           return {};
                         }));
  std::optional<Extent> front;
  if (record != nullptr) {
    ZENFS_ASSIGN_OR_RETURN(front, FrontOfDivided(deps().device, record->extents, size));
  }
  ZENFS_ASSIGN_OR_RETURN(FramedFile::Rewrite rewrite, content_->BeginTruncate(size, front));
  // After the commit, a window in the metadata covers the remaining frames, so they must be on stable media before it.
  const Status committed =
      record == nullptr  // the file has lost its name
          ? Status()
          : deps().commits.Commit(rewrite.edits(), {.data_since = rewrite.unstable_since()});
  rewrite.End(committed);
  return committed;
}

Status OpenFramedFile::Flush() {
  Meter meter(deps().metrics, Operation::kWalFlush);
  ZENFS_RETURN_IF_ERROR(meter.Done(EnsureCommitted()));
  return meter.Done(content_->Flush());
}

Status OpenFramedFile::Sync() {
  Meter meter(deps().metrics, Operation::kWalSync);
  Status synced = meter.Done(SyncFrames());
  deps().accounting.Publish();
  return synced;
}

Status OpenFramedFile::SyncFrames() {
  ZENFS_RETURN_IF_ERROR(EnsureCommitted());
  return content_->Sync();
}

Status OpenFramedFile::WriteBack() {
  if (unlinked) return {};
  ZENFS_RETURN_IF_ERROR(EnsureCommitted());
  return content_->WriteBack();
}

void OpenFramedFile::NoteCommitted(const Uncommitted&) {
  // Before `committed` is set: from then on the file may be flushed, and the unmount writes only the files in the store.
  deps().logs.Add(content_);
  deps().drain.NoteBuffered();  // the file may already hold bytes that the drain does not know
  committed = true;
}

bool OpenFramedFile::TakeMoved(const std::vector<Extent>& extents) {
  content_->TakeMoved(extents);
  return true;
}

}  // namespace zenfs
