#include "open/open_plain_file.h"

#include <fmt/format.h>

namespace zenfs {

Status OpenPlainFile::Append(ByteView bytes, KnownCrc crc) {
  Meter meter(deps().metrics, Operation::kNonWalWrite);
  Status appended = meter.Done(content_.Append(bytes, crc), bytes.size());
  deps().accounting.Publish();
  return appended;
}

Status OpenPlainFile::PositionedAppend(ByteView bytes, std::uint64_t offset, KnownCrc crc) {
  Meter meter(deps().metrics, Operation::kNonWalWrite);
  return meter.Done(content_.PositionedAppend(bytes, offset, crc), bytes.size());
}

void OpenPlainFile::SetLifetime(Lifetime later) {
  OpenFile::SetLifetime(later);
  content_.SetLifetime(later);
}

Status OpenPlainFile::Truncate(std::uint64_t size) {
  const Result<bool> survives = content_.Truncate(size);
  const Status cut = survives ? (*survives ? Status() : SyncMetered()) : Fail(survives.error());
  return cut.ok() ? cut : Fail(cut.error().With(fmt::format("file {}", id.value)));
}

// The first flush of a file without data on the device is a whole sync: RocksDB flushes small files once, directly before it
// syncs them, and that sync then has nothing to do. For a table that already has data on the device, only the name is
// committed.
Status OpenPlainFile::Flush() {
  if (unlinked) return {};
  if (content_.on_device()) ZENFS_RETURN_IF_ERROR(EnsureCommitted());
  if (committed) {
    ZENFS_ASSIGN_OR_RETURN(const bool flushed, content_.TryFlush());
    if (flushed) return {};
  }
  return SyncMetered();
}

Status OpenPlainFile::Sync() {
  Status synced = SyncMetered();
  if (deps().trace != nullptr) deps().trace->Synced(id, size());
  return synced;
}

Status OpenPlainFile::SyncMetered() {
  Meter meter(deps().metrics, Operation::kNonWalSync);
  Status synced = meter.Done(WriteBack());
  deps().accounting.Publish();
  return synced;
}

Status OpenPlainFile::WriteBack() {
  if (unlinked || (committed && !content_.dirty())) return {};
  // Before the file is locked: if a write waited for space with the lock, reclaim could not free what the file replaces.
  ZENFS_RETURN_IF_ERROR(content_.WriteAll());
  std::vector<Edit> edits;
  bool has_name = false;
  ZENFS_ASSIGN_OR_RETURN(const Catalog::Action action,
                         deps().catalog.Begin([&](const CatalogView& view, LockKeys& keys) -> Status {
                           edits = view.Promote(id, keys);
                           has_name = !edits.empty() || view.state().FindFile(id) != nullptr;
                           keys.exclusive.push_back(id);
                           return {};
                         }));
  if (!has_name) return {};  // it lost its name while this waited for the lock; `unlinked` may not be set yet
  ZENFS_ASSIGN_OR_RETURN(const Uncommitted drained, content_.Drain());
  if (drained.changed) edits.push_back(drained.ToEdit(id));
  if (edits.empty()) return {};
  ZENFS_RETURN_IF_ERROR(deps().commits.Commit(std::move(edits), {.data_since = drained.data_since}));
  NoteCommitted(drained);
  return {};
}

void OpenPlainFile::NoteCommitted(const Uncommitted& drained) {
  if (drained.changed) content_.MarkCommitted(drained);
  committed = true;
}

void OpenPlainFile::NoteReleased() {
  if (unlinked) content_.ForgetFlushedBytes();
}

}  // namespace zenfs
