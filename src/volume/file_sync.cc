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
    // Before the file counts as committed: from then on it may be flushed, and the end of the mount writes out what is in
    // the store.
    deps_.logs.Add(file.framed);
    deps_.drain.NoteBuffered();  // the file may hold bytes by now that the drain did not see
  }
  file.committed = true;
}

Status FileSync::SyncPlain(OpenFile& file) {
  if (file.unlinked || (file.committed && !file.plain->dirty())) return {};
  // Before the file is locked: a write that waits for space with the lock keeps reclaim from what the file replaces.
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
  if (!has_name) return {};  // it lost its name while this waited for its turn, and need not be marked yet
  ZENFS_ASSIGN_OR_RETURN(const PlainFile::Drained drained, file.plain->Drain());
  if (drained.changed) edits.push_back(drained.ToEdit(file.id));
  if (edits.empty()) return {};
  ZENFS_RETURN_IF_ERROR(deps_.commits.Commit(std::move(edits), {.data_since = drained.data_since}));
  if (drained.changed) file.plain->MarkCommitted(drained);
  file.committed = true;
  return {};
}

// The first flush of a file that is in memory only is a whole sync, because RocksDB flushes small files once, directly before
// it syncs them: that sync then finds nothing left to do. Of a table that is being written only the name is committed.
Status FileSync::FlushPlain(OpenFile& file) {
  if (file.unlinked) return {};
  if (file.plain->on_device()) ZENFS_RETURN_IF_ERROR(EnsureCommitted(file));
  if (file.committed) {
    ZENFS_ASSIGN_OR_RETURN(const bool flushed, file.plain->TryFlush());
    if (flushed) return {};
  }
  Meter meter(deps_.metrics, Operation::kNonWalSync);
  Status synced = meter.Done(SyncPlain(file));
  deps_.accounting.Publish();
  return synced;
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
  const std::optional<Extent> front =
      record == nullptr ? std::nullopt : FrontOfDivided(deps_.device, record->extents, size);
  ZENFS_ASSIGN_OR_RETURN(FramedFile::Rewrite rewrite, file.framed->BeginTruncate(size, front));
  // The frames that stay are now vouched for by a window, so they must not be in the cache only.
  const Status committed =
      record == nullptr  // it has lost its name
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
