// Opening, creating and ending files.
#include <fmt/format.h>

#include "base/sync_point.h"
#include "file/extent_checksum.h"
#include "volume/volume_core.h"
#include "volume/volume_handle.h"

namespace zenfs {

PlainFile::Env VolumeCore::PlainEnv(FileId id) {
  return {.device = device_.get(),
          .zones = zones_.get(),
          .sink = sink_.get(),
          .buffer_bytes = options_.plain_buffer_bytes,
          .space_wait = options_.space_wait,
          .padding = &plain_padding_,
          .staging = staging_,
          .id = id};
}

FramedFile::Env VolumeCore::FramedEnv() {
  return {.device = device_.get(),
          .zones = zones_.get(),
          .log = log_.get(),
          .drain = drain_.get(),
          .staging = staging_,
          .epoch = epoch_};
}

std::shared_ptr<OpenFile> VolumeCore::FindOpen(FileId id) const {
  MutexLock lock(files_mutex_);
  const auto it = open_files_.find(id);
  return it == open_files_.end() ? nullptr : it->second.lock();
}

std::vector<std::shared_ptr<OpenFile>> VolumeCore::AllOpen() {
  MutexLock lock(files_mutex_);
  std::vector<std::shared_ptr<OpenFile>> open;
  for (const auto& [id, weak] : open_files_) {
    std::shared_ptr<OpenFile> file = weak.lock();
    if (file == nullptr) continue;
    ++file->handles;
    metrics_.Change(Value::kOpenFiles, 1);
    open.push_back(std::move(file));
  }
  return open;
}

// Called under the catalog's lock: the record is the newest, and what it points to can't be freed before the
// new file has pinned it. Null when the file is not there any more.
std::shared_ptr<OpenFile> VolumeCore::OpenById(const CatalogView& view, FileId id) {
  MutexLock lock(files_mutex_);
  std::shared_ptr<OpenFile> file;
  if (const auto it = open_files_.find(id); it != open_files_.end()) file = it->second.lock();
  if (file == nullptr) {
    const auto record = view.state().FindFile(id);
    if (record == nullptr) return nullptr;
    file = std::make_shared<OpenFile>();
    file->id = id;
    file->shape = record->shape;
    file->lifetime = record->lifetime;
    file->committed = true;
    if (record->shape == FileShape::kFramed) {
      file->framed = logs_.Find(id);
      if (file->framed == nullptr) return nullptr;
    } else {
      // Its last writer was told that these could not be written.
      if (staging_ != nullptr) staging_->Forget(id.value);
      file->plain =
          std::make_unique<PlainFile>(PlainEnv(id), record->extents, record->size, record->lifetime);
    }
    open_files_[id] = file;
  }
  ++file->handles;
  return file;
}

Result<std::shared_ptr<OpenFile>> VolumeCore::OpenExisting(std::string_view path) {
  Meter meter(metrics_, Operation::kOpen);
  Result<std::shared_ptr<OpenFile>> file = nullptr;
  catalog_->Look([&](const CatalogView& view) {
    const Result<Entry> entry = view.Resolve(path);
    if (!entry) {
      file = Fail(entry.error());
    } else if (entry->kind == Entry::Kind::kDirectory) {
      file = Fail(Code::kIsADirectory, fmt::format("{}: is a directory", path));
    } else if (entry->kind == Entry::Kind::kFile) {
      file = OpenById(view, entry->id);
    }
  });
  if (file && *file == nullptr) file = Fail(Code::kNotFound, fmt::format("{}: no such file", path));
  if (!file) meter.Failed();
  return file;
}

Result<std::shared_ptr<OpenFile>> VolumeCore::CreateFileAt(std::string_view path, Lifetime lifetime) {
  ZENFS_ASSIGN_OR_RETURN(const FileId id, ids_->Next());
  Entry entry;
  ZENFS_ASSIGN_OR_RETURN(const Catalog::Action action,
                         catalog_->Begin([&](const CatalogView& view, ReservationKeys& keys) -> Status {
                           ZENFS_ASSIGN_OR_RETURN(entry, view.Resolve(path));
                           if (entry.kind == Entry::Kind::kDirectory) {
                             return Fail(Code::kIsADirectory, fmt::format("{}: is a directory", path));
                           }
                           keys.names.emplace_back(entry.parent, entry.name);
                           keys.shared.push_back(entry.parent);
                           return {};
                         }));
  // Here, behind those who had the names: of what they did the outcome may be unknown.
  ZENFS_RETURN_IF_ERROR(metalog_->health());
  auto file = std::make_shared<OpenFile>();
  file->id = id;
  file->shape = ShapeForName(entry.name);
  file->lifetime = lifetime;
  if (file->shape == FileShape::kFramed) {
    file->framed = std::make_shared<FramedFile>(FramedEnv(), id);
  } else {
    file->plain = std::make_unique<PlainFile>(PlainEnv(id), std::vector<Extent>(), 0, lifetime);
  }
  {
    MutexLock lock(files_mutex_);
    file->handles = 1;
    open_files_[id] = file;
  }
  const FileId replaced = catalog_->AddPending({.id = id,
                                                .parent = entry.parent,
                                                .name = entry.name,
                                                .shape = file->shape,
                                                .lifetime = lifetime,
                                                .mtime_seconds = WallSeconds()});
  SyncPoint::Reach("VolumeCore::CreateFileAt:replaced");
  if (replaced != kNoFile) MarkUnlinked(replaced);
  return file;
}

Result<std::unique_ptr<FileHandle>> VolumeCore::Create(std::string_view path, Lifetime lifetime) {
  ZENFS_ASSIGN_OR_RETURN(const Gate::Entry entry, Enter(true));
  Meter meter(metrics_, Operation::kCreate);
  ZENFS_ASSIGN_OR_RETURN(std::shared_ptr<OpenFile> file, meter.Done(CreateFileAt(path, lifetime)));
  return MakeHandle(std::move(file), true);
}

Result<std::unique_ptr<FileHandle>> VolumeCore::OpenForAppend(std::string_view path, bool create) {
  ZENFS_ASSIGN_OR_RETURN(const Gate::Entry entry, Enter(true));
  Result<std::shared_ptr<OpenFile>> opened = OpenExisting(path);
  if (opened) return MakeHandle(*std::move(opened), true);
  if (!create || opened.error().code() != Code::kNotFound) return Fail(std::move(opened).error());
  Meter meter(metrics_, Operation::kCreate);
  ZENFS_ASSIGN_OR_RETURN(std::shared_ptr<OpenFile> file, meter.Done(CreateFileAt(path, Lifetime::kNotSet)));
  return MakeHandle(std::move(file), true);
}

Result<std::unique_ptr<FileHandle>> VolumeCore::OpenForRead(std::string_view path, FileId) {
  ZENFS_ASSIGN_OR_RETURN(const Gate::Entry entry, Enter(false));
  ZENFS_ASSIGN_OR_RETURN(std::shared_ptr<OpenFile> file, OpenExisting(path));
  return MakeHandle(std::move(file), false);
}

Status VolumeCore::Truncate(std::string_view path, std::uint64_t size) {
  ZENFS_ASSIGN_OR_RETURN(const std::unique_ptr<FileHandle> handle, OpenForAppend(path, false));
  ZENFS_RETURN_IF_ERROR(handle->Truncate(size));
  ZENFS_RETURN_IF_ERROR(handle->Sync());
  return handle->Close();
}

std::unique_ptr<FileHandle> VolumeCore::MakeHandle(std::shared_ptr<OpenFile> file, bool writable) {
  if (writable) file->writers.fetch_add(1);
  metrics_.Change(Value::kOpenFiles, 1);
  return std::make_unique<VolumeHandle>(shared_from_this(), std::move(file), writable);
}

Status VolumeCore::WriteBack(OpenFile& file) {
  if (file.unlinked) return {};
  if (file.plain) return SyncPlain(file);
  ZENFS_RETURN_IF_ERROR(EnsureCommitted(file));
  return file.framed->WriteOut();
}

Status VolumeCore::EndWriting(OpenFile& file) {
  const Status status = WriteBack(file);
  if (file.writers.fetch_sub(1) != 1) return status;
  if (file.plain) {
    file.plain->EndWriting();
  } else {
    file.framed->EndWriting();
  }
  return status;
}

void VolumeCore::Release(OpenFile& file) {
  metrics_.Change(Value::kOpenFiles, -1);
  {
    MutexLock lock(files_mutex_);
    if (--file.handles != 0) return;
    open_files_.erase(file.id);
  }
  if (file.plain && file.unlinked) file.plain->ForgetFlushedBytes();
  if (!file.committed) catalog_->DropPending(file.id);
}

void VolumeCore::MarkUnlinked(FileId id) {
  if (staging_ != nullptr) staging_->Forget(id.value);
  if (const std::shared_ptr<OpenFile> open = FindOpen(id)) open->unlinked = true;
}

void VolumeCore::SetLifetime(OpenFile& file, Lifetime lifetime) {
  file.lifetime = lifetime;
  if (file.plain) file.plain->SetLifetime(lifetime);
  catalog_->SetPendingLifetime(file.id, lifetime);
}

Status VolumeCore::EnsureCommitted(OpenFile& file) {
  if (file.committed || file.unlinked) return {};
  std::vector<Edit> edits;
  ZENFS_ASSIGN_OR_RETURN(const Catalog::Action action,
                         catalog_->Begin([&](const CatalogView& view, ReservationKeys& keys) -> Status {
                           edits.clear();
                           if (const PendingFile* pending = view.FindPending(file.id)) {
                             view.ReservePromotion(*pending, keys);
                             edits = view.PromotionOf(*pending);
                           }
                           return {};
                         }));
  if (edits.empty()) return {};
  ZENFS_RETURN_IF_ERROR(Commit(std::move(edits)));
  IsCommitted(file);
  return {};
}

void VolumeCore::IsCommitted(OpenFile& file) {
  if (file.framed) {
    logs_.Add(
        file.framed);  // first: who finds the file committed may flush it, and the end of the mount looks there
    drain_->NoteBuffered();  // it may hold bytes by now that the drain did not see
  }
  file.committed = true;
}

Status VolumeCore::SyncPlain(OpenFile& file) {
  if (file.unlinked || (file.committed && !file.plain->dirty())) return {};
  // Before the file is reserved: a write that waits for space with the reservation keeps reclaim from what the file replaces.
  ZENFS_RETURN_IF_ERROR(file.plain->WriteAll());
  std::vector<Edit> edits;
  bool has_name = false;
  ZENFS_ASSIGN_OR_RETURN(const Catalog::Action action,
                         catalog_->Begin([&](const CatalogView& view, ReservationKeys& keys) -> Status {
                           edits.clear();
                           const PendingFile* pending = view.FindPending(file.id);
                           has_name = pending != nullptr || view.state().FindFile(file.id) != nullptr;
                           if (pending != nullptr) {
                             view.ReservePromotion(*pending, keys);
                             edits = view.PromotionOf(*pending);
                           }
                           keys.exclusive.push_back(file.id);
                           return {};
                         }));
  if (!has_name) return {};  // it lost its name while this waited for its turn, and need not be marked yet
  ZENFS_ASSIGN_OR_RETURN(const PlainFile::Drained drained, file.plain->Drain());
  if (drained.changed) {
    edits.push_back(
        SetExtents{file.id, drained.from_offset, drained.extents, drained.size, drained.mtime_seconds});
  }
  if (edits.empty()) return {};
  ZENFS_RETURN_IF_ERROR(Commit(std::move(edits), {.data_since = drained.data_since}));
  if (drained.changed) file.plain->MarkCommitted(drained);
  file.committed = true;
  return {};
}

// The first flush of a file that is in memory only is a whole sync, because RocksDB flushes small files once, directly before
// it syncs them: that sync then finds nothing left to do. Of a table that is being written only the name is committed.
Status VolumeCore::FlushPlain(OpenFile& file) {
  if (file.unlinked) return {};
  if (file.plain->on_device()) ZENFS_RETURN_IF_ERROR(EnsureCommitted(file));
  if (file.committed) {
    ZENFS_ASSIGN_OR_RETURN(const bool flushed, file.plain->TryFlush());
    if (flushed) return {};
  }
  Meter meter(metrics_, Operation::kNonWalSync);
  Status synced = meter.Done(SyncPlain(file));
  CountWritten();
  return synced;
}

Status VolumeCore::TruncateFramed(OpenFile& file, std::uint64_t size) {
  ZENFS_RETURN_IF_ERROR(EnsureCommitted(file));
  // Before the file is reserved: a fold that frees a log zone for these bytes may be waiting for the reservation.
  ZENFS_RETURN_IF_ERROR(file.framed->WriteOut());
  std::shared_ptr<const FileRecord> record;
  ZENFS_ASSIGN_OR_RETURN(const Catalog::Action action,
                         catalog_->Begin([&](const CatalogView& view, ReservationKeys& keys) -> Status {
                           keys.exclusive.push_back(file.id);
                           record = view.state().FindFile(file.id);
                           return {};
                         }));
  const std::optional<Extent> front =
      record == nullptr ? std::nullopt : FrontOfDivided(*device_, record->extents, size);
  ZENFS_ASSIGN_OR_RETURN(FramedFile::Rewrite rewrite, file.framed->BeginTruncate(size, front));
  // The frames that stay are now vouched for by a window, so they must not be in the cache only.
  const Status committed = record == nullptr  // it has lost its name
                               ? Status()
                               : Commit(rewrite.edits(), {.data_since = rewrite.unstable_since()});
  rewrite.End(committed);
  return committed;
}

}  // namespace zenfs
