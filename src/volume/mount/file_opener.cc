#include "volume/mount/file_opener.h"

#include <fmt/format.h>

#include "base/sync_point.h"
#include "volume/mount/name_plans.h"
#include "volume/volume.h"

namespace zenfs {

// Called under the catalog's lock, so the record is the newest, and its extents can't be freed before the new OpenFile has
// pinned them. Null if the file is gone.
std::shared_ptr<OpenFile> FileOpener::OpenCommitted(const CatalogView& view, FileId id) {
  return deps_.files.Open(id, [&]() -> std::shared_ptr<OpenFile> {
    const auto record = view.state().FindFile(id);
    return record == nullptr ? nullptr : deps_.factory.Committed(*record);
  });
}

Result<std::shared_ptr<OpenFile>> FileOpener::Open(std::string_view path) {
  Meter meter(deps_.metrics, Operation::kOpen);
  Result<std::shared_ptr<OpenFile>> file = nullptr;
  deps_.catalog.Look([&](const CatalogView& view) {
    const Result<Entry> entry = view.Resolve(path);
    if (!entry) {
      file = Fail(entry.error());
    } else if (entry->kind == Entry::Kind::kDirectory) {
      file = Fail(Code::kIsADirectory, fmt::format("{}: is a directory", path));
    } else if (entry->kind == Entry::Kind::kFile) {
      file = OpenCommitted(view, entry->id);
    }
  });
  if (file && *file == nullptr) file = Fail(Code::kNotFound, fmt::format("{}: no such file", path));
  if (!file) meter.Failed();
  return file;
}

Result<std::shared_ptr<OpenFile>> FileOpener::Create(std::string_view path, Lifetime lifetime) {
  Meter meter(deps_.metrics, Operation::kCreate);
  return meter.Done(CreatePending(path, lifetime));
}

Result<std::shared_ptr<OpenFile>> FileOpener::CreatePending(std::string_view path, Lifetime lifetime) {
  ZENFS_ASSIGN_OR_RETURN(const FileId id, deps_.ids.Next());
  Entry entry;
  ZENFS_ASSIGN_OR_RETURN(const Catalog::Action action,
                         deps_.catalog.BeginPlanned(entry, [&](const CatalogView& view, LockKeys& keys) {
                           return PlanCreate(view, path, keys);
                         }));
  // Checked after the name is locked, because an earlier action on it may have an unknown outcome.
  ZENFS_RETURN_IF_ERROR(deps_.commits.health());
  std::shared_ptr<OpenFile> file = deps_.factory.New(id, ShapeForName(entry.name), lifetime);
  deps_.files.Add(file);
  // Before the file can be found, so that its deletion is recorded later.
  if (deps_.trace != nullptr) deps_.trace->Created(id, entry.name, lifetime);
  const FileId replaced = deps_.catalog.AddPending({.id = id,
                                                    .parent = entry.parent,
                                                    .name = entry.name,
                                                    .shape = file->shape,
                                                    .lifetime = lifetime,
                                                    .mtime_seconds = WallSeconds()});
  SyncPoint::Reach("FileOpener::Create:replaced");
  if (replaced != kNoFile) deps_.files.MarkUnlinked(replaced);
  return file;
}

void FileOpener::Release(OpenFile& file) {
  if (!deps_.files.Release(file)) return;
  file.NoteReleased();
  if (file.committed) return;
  deps_.catalog.DropPending(file.id);
  if (deps_.trace != nullptr) deps_.trace->Deleted(file.id);
}

void FileOpener::SetLifetime(OpenFile& file, Lifetime lifetime) {
  file.SetLifetime(lifetime);
  deps_.catalog.SetPendingLifetime(file.id, lifetime);
  if (deps_.trace != nullptr) deps_.trace->SetLifetime(file.id, lifetime);
}

}  // namespace zenfs
