#include "volume/file_sync.h"

#include "file/extent_checksum.h"

namespace zenfs {

Status FileSync::EnsureCommitted(OpenFile& file) {
  if (file.committed || file.unlinked) return {};
  std::vector<Edit> edits;
  ZENFS_ASSIGN_OR_RETURN(const Catalog::Action action,
                         deps_.catalog.Begin([&](const CatalogView& view, LockKeys& keys) -> Status {
                           edits = view.Promote(file.id, keys);
                           return {};
                         }));
  if (edits.empty()) return {};
  ZENFS_RETURN_IF_ERROR(deps_.commits.Commit(std::move(edits)));
  NoteCommitted(file);
  return {};
}

void FileSync::NoteCommitted(OpenFile& file) {
  if (file.framed) {
    // Before `committed` is set: from then on the file may be flushed, and the unmount writes only the files in the store.
    deps_.logs.Add(file.framed);
    deps_.drain.NoteBuffered();  // the file may already hold bytes that the drain does not know
  }
  file.committed = true;
}

Status FileSync::SyncPlain(OpenFile& file) {
  if (file.unlinked || (file.committed && !file.plain->dirty())) return {};
  // Before the file is locked: if a write waited for space with the lock, reclaim could not free what the file replaces.
  ZENFS_RETURN_IF_ERROR(file.plain->WriteAll());
  std::vector<Edit> edits;
  bool has_name = false;
  ZENFS_ASSIGN_OR_RETURN(const Catalog::Action action,
                         deps_.catalog.Begin([&](const CatalogView& view, LockKeys& keys) -> Status {
                           edits = view.Promote(file.id, keys);
                           has_name = !edits.empty() || view.state().FindFile(file.id) != nullptr;
                           keys.exclusive.push_back(file.id);
                           return {};
                         }));
  if (!has_name) return {};  // it lost its name while this waited for the lock; `unlinked` may not be set yet
  ZENFS_ASSIGN_OR_RETURN(const PlainFile::Drained drained, file.plain->Drain());
  if (drained.changed) edits.push_back(drained.ToEdit(file.id));
  if (edits.empty()) return {};
  ZENFS_RETURN_IF_ERROR(deps_.commits.Commit(std::move(edits), {.data_since = drained.data_since}));
  if (drained.changed) file.plain->MarkCommitted(drained);
  file.committed = true;
  return {};
}

// The first flush of a file without data on the device is a whole sync: RocksDB flushes small files once, directly before it
// syncs them, and that sync then has nothing to do. For a table that already has data on the device, only the name is
// committed.
Status FileSync::FlushPlain(OpenFile& file) {
  if (file.unlinked) return {};
  if (file.plain->on_device()) ZENFS_RETURN_IF_ERROR(EnsureCommitted(file));
  if (file.committed) {
    ZENFS_ASSIGN_OR_RETURN(const bool flushed, file.plain->TryFlush());
    if (flushed) return {};
  }
  return SyncMetered(file);
}

Status FileSync::SyncMetered(OpenFile& file) {
  Meter meter(deps_.metrics, Operation::kNonWalSync);
  Status synced = meter.Done(SyncPlain(file));
  deps_.accounting.Publish();
  return synced;
}

Status FileSync::TruncatePlain(OpenFile& file, std::uint64_t size) {
  ZENFS_ASSIGN_OR_RETURN(const bool survives, file.plain->Truncate(size));
  return survives ? Status() : SyncMetered(file);
}

Status FileSync::TruncateFramed(OpenFile& file, std::uint64_t size) {
  ZENFS_RETURN_IF_ERROR(EnsureCommitted(file));
  // Before the file is locked: a clean that frees a log zone for these bytes may be waiting for that lock.
  ZENFS_RETURN_IF_ERROR(file.framed->WriteBack());
  std::shared_ptr<const FileRecord> record;
  ZENFS_ASSIGN_OR_RETURN(const Catalog::Action action,
                         deps_.catalog.Begin([&](const CatalogView& view, LockKeys& keys) -> Status {
                           keys.exclusive.push_back(file.id);
                           record = view.state().FindFile(file.id);
                           return {};
                         }));
  std::optional<Extent> front;
  if (record != nullptr) {
    ZENFS_ASSIGN_OR_RETURN(front, FrontOfDivided(deps_.device, record->extents, size));
  }
  ZENFS_ASSIGN_OR_RETURN(FramedFile::Rewrite rewrite, file.framed->BeginTruncate(size, front));
  // After the commit, a window in the metadata covers the remaining frames, so they must be on stable media before it.
  const Status committed =
      record == nullptr  // the file has lost its name
          ? Status()
          : deps_.commits.Commit(rewrite.edits(), {.data_since = rewrite.unstable_since()});
  rewrite.End(committed);
  return committed;
}

Status FileSync::WriteBack(OpenFile& file) {
  if (file.unlinked) return {};
  if (file.plain) return SyncPlain(file);
  ZENFS_RETURN_IF_ERROR(EnsureCommitted(file));
  return file.framed->WriteBack();
}

Status FileSync::EndWriting(OpenFile& file) {
  const Status status = WriteBack(file);
  if (file.writers.fetch_sub(1) != 1) return status;
  if (file.plain) {
    file.plain->EndWriting();
  } else {
    file.framed->EndWriting();
  }
  return status;
}

}  // namespace zenfs
