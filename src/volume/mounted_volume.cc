#include "volume/mounted_volume.h"

#include <fmt/format.h>

#include "volume/volume_handle.h"

namespace zenfs {

Result<Gate::Entry> MountedVolume::Enter(bool writing) const {
  if (fork_guard_.InChild()) {
    return Fail(Code::kShutdown,
                fmt::format("{}: this process was forked from the one that mounted it; a forked "
                            "child can't use the volume",
                            device_name()));
  }
  Gate::Entry entry = gate_.Enter();
  if (!entry) return Fail(Code::kShutdown, fmt::format("{}: the volume is unmounted", device_name()));
  if (writing) ZENFS_RETURN_IF_ERROR(parts_->effects.health());
  return entry;
}

std::unique_ptr<FileHandle> MountedVolume::MakeHandle(std::shared_ptr<OpenFile> file, bool writable) {
  if (writable) parts_->files.AddWriter(*file);
  return std::make_unique<VolumeHandle>(shared_from_this(), std::move(file), writable);
}

Result<std::unique_ptr<FileHandle>> MountedVolume::Create(std::string_view path, Lifetime lifetime) {
  ZENFS_ASSIGN_OR_RETURN(const Gate::Entry entry, Enter(true));
  ZENFS_ASSIGN_OR_RETURN(std::shared_ptr<OpenFile> file, parts_->opener.Create(path, lifetime));
  return MakeHandle(std::move(file), true);
}

Result<std::unique_ptr<FileHandle>> MountedVolume::OpenForAppend(std::string_view path, bool create) {
  ZENFS_ASSIGN_OR_RETURN(const Gate::Entry entry, Enter(true));
  Result<std::shared_ptr<OpenFile>> opened = parts_->opener.Open(path);
  if (opened) return MakeHandle(*std::move(opened), true);
  if (!create || opened.error().code() != Code::kNotFound) return Fail(std::move(opened).error());
  ZENFS_ASSIGN_OR_RETURN(std::shared_ptr<OpenFile> file, parts_->opener.Create(path, Lifetime::kNotSet));
  return MakeHandle(std::move(file), true);
}

Result<std::unique_ptr<FileHandle>> MountedVolume::OpenForRead(std::string_view path, FileId) {
  ZENFS_ASSIGN_OR_RETURN(const Gate::Entry entry, Enter(false));
  ZENFS_ASSIGN_OR_RETURN(std::shared_ptr<OpenFile> file, parts_->opener.Open(path));
  return MakeHandle(std::move(file), false);
}

Status MountedVolume::Truncate(std::string_view path, std::uint64_t size) {
  ZENFS_ASSIGN_OR_RETURN(const std::unique_ptr<FileHandle> handle, OpenForAppend(path, false));
  ZENFS_RETURN_IF_ERROR(handle->Truncate(size));
  ZENFS_RETURN_IF_ERROR(handle->Sync());
  return handle->Close();
}

Status MountedVolume::Unlink(std::string_view path) {
  ZENFS_ASSIGN_OR_RETURN(const Gate::Entry entry, Enter(true));
  return parts_->names.Unlink(path);
}

Status MountedVolume::Link(std::string_view existing, std::string_view new_name) {
  ZENFS_ASSIGN_OR_RETURN(const Gate::Entry entry, Enter(true));
  return parts_->names.Link(existing, new_name);
}

Status MountedVolume::Rename(std::string_view from, std::string_view to) {
  ZENFS_ASSIGN_OR_RETURN(const Gate::Entry entry, Enter(true));
  return parts_->names.Rename(from, to);
}

Status MountedVolume::MakeDirectory(std::string_view path, bool parents) {
  ZENFS_ASSIGN_OR_RETURN(const Gate::Entry entry, Enter(true));
  return parts_->names.MakeDirectory(path, parents);
}

Status MountedVolume::RemoveDirectory(std::string_view path) {
  ZENFS_ASSIGN_OR_RETURN(const Gate::Entry entry, Enter(true));
  return parts_->names.RemoveDirectory(path);
}

Status MountedVolume::SyncDirectory(std::string_view path) {
  ZENFS_ASSIGN_OR_RETURN(const Gate::Entry entry, Enter(true));
  return parts_->names.SyncDirectory(path);
}

Result<FileStat> MountedVolume::Stat(std::string_view path) const {
  ZENFS_ASSIGN_OR_RETURN(const Gate::Entry entry, Enter(false));
  return parts_->view.Stat(path);
}

Result<std::vector<DirectoryEntry>> MountedVolume::List(std::string_view path) const {
  ZENFS_ASSIGN_OR_RETURN(const Gate::Entry entry, Enter(false));
  return parts_->view.List(path);
}

Result<FileLayout> MountedVolume::Layout(std::string_view path) const {
  ZENFS_ASSIGN_OR_RETURN(const Gate::Entry entry, Enter(false));
  return parts_->view.Layout(path);
}

Result<std::unique_ptr<PathLock>> MountedVolume::Lock(std::string_view path) {
  ZENFS_ASSIGN_OR_RETURN(const Gate::Entry entry, Enter(true));
  ZENFS_ASSIGN_OR_RETURN(std::unique_ptr<PathLock> lock, parts_->path_locks.Take(path));
  ZENFS_ASSIGN_OR_RETURN(const std::unique_ptr<FileHandle> file, OpenForAppend(path, true));
  ZENFS_RETURN_IF_ERROR(file->Close());
  return lock;
}

Status MountedVolume::EmptyZone(ZoneId zone) {
  ZENFS_ASSIGN_OR_RETURN(const Gate::Entry entry, Enter(true));
  return parts_->relocation.EmptyZone(zone);
}

std::vector<std::string> MountedVolume::notices() const {
  std::vector<std::string> all = device_->notices;
  const std::vector<std::string> damage = parts_->relocation.damage();
  all.insert(all.end(), damage.begin(), damage.end());
  return all;
}

Status MountedVolume::health() const {
  ZENFS_RETURN_IF_ERROR(parts_->effects.health());
  return parts_->commits.health();
}

Status MountedVolume::KeepMetrics() const {
  parts_->accounting.Publish();
  return device_->KeepMetrics();
}

Status MountedVolume::PrepareForExit() {
  const Result<Gate::Entry> entry = Enter(false);
  if (!entry) return {};
  Status first;
  if (parts_->buffers->Retire()) first = parts_->shutdown.EndBuffers();
  first.Update(KeepMetrics());
  return first;
}

// What open files have buffered is written and committed; then the threads end and the device is given back, so that it can be
// mounted again, in this process too. Handles that are still open find the gate closed.
Status MountedVolume::Unmount() {
  if (fork_guard_.InChild() || gate_.closed()) return {};
  gate_.Close();
  VolumeParts& parts = *parts_;
  parts.drain.Stop();
  const bool end_buffers = parts.buffers->Retire();
  Status first = parts.shutdown.WriteBackOpenFiles();
  const Status written = end_buffers ? parts.shutdown.WriteBackFlushed() : Status();
  first.Update(written);
  parts.StopMoving(first.ok());
  if (written.ok()) first.Update(parts.shutdown.SealLogs(end_buffers));
  if (first.ok()) first = parts.metalog->health();
  parts.metalog->Stop();
  first.Update(KeepMetrics());
  device_->device.reset();
  device_->metrics.MoveHome();  // nobody counts any more, and the shared page may go
  return first;
}

}  // namespace zenfs
