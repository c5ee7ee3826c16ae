#include "volume/mount/mounted_volume.h"

#include "volume/mount/volume_handle.h"

namespace zenfs {
namespace {

// `file` already counts this handle.
std::unique_ptr<FileHandle> MakeHandle(const std::shared_ptr<WriterMount>& mount,
                                       std::shared_ptr<OpenFile> file, bool writable) {
  if (writable) mount->parts().files.AddWriter(*file);
  return std::make_unique<VolumeHandle>(mount, std::move(file), writable);
}

}  // namespace

Result<std::unique_ptr<FileHandle>> MountedVolume::Create(std::string_view path, Lifetime lifetime) {
  ZENFS_ASSIGN_OR_RETURN(const Gate::Entry entry, mount_->EnterToWrite());
  ZENFS_ASSIGN_OR_RETURN(std::shared_ptr<OpenFile> file, mount_->parts().opener.Create(path, lifetime));
  return MakeHandle(mount_, std::move(file), true);
}

Result<std::unique_ptr<FileHandle>> MountedVolume::OpenForAppend(std::string_view path, bool create) {
  ZENFS_ASSIGN_OR_RETURN(const Gate::Entry entry, mount_->EnterToWrite());
  FileOpener& opener = mount_->parts().opener;
  Result<std::shared_ptr<OpenFile>> opened = opener.Open(path);
  if (opened) return MakeHandle(mount_, *std::move(opened), true);
  if (!create || opened.error().code() != Code::kNotFound) return Fail(std::move(opened).error());
  ZENFS_ASSIGN_OR_RETURN(std::shared_ptr<OpenFile> file, opener.Create(path, Lifetime::kNotSet));
  return MakeHandle(mount_, std::move(file), true);
}

Result<std::unique_ptr<FileHandle>> MountedVolume::OpenForRead(std::string_view path, FileId) {
  ZENFS_ASSIGN_OR_RETURN(const Gate::Entry entry, mount_->Enter());
  ZENFS_ASSIGN_OR_RETURN(std::shared_ptr<OpenFile> file, mount_->parts().opener.Open(path));
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
  return mount_->parts().view.Stat(path);
}

Result<std::vector<DirectoryEntry>> MountedVolume::List(std::string_view path, FileId known) const {
  ZENFS_ASSIGN_OR_RETURN(const Gate::Entry entry, mount_->Enter());
  return mount_->parts().view.List(path, known);
}

Result<FileLayout> MountedVolume::Layout(std::string_view path) const {
  ZENFS_ASSIGN_OR_RETURN(const Gate::Entry entry, mount_->Enter());
  return mount_->parts().view.Layout(path);
}

Status MountedVolume::ForEachLayout(std::span<const FileId> files, const EachLayout& each) const {
  ZENFS_ASSIGN_OR_RETURN(const Gate::Entry entry, mount_->Enter());
  for (std::size_t i = 0; i < files.size(); ++i) {
    const std::optional<FileLayout> layout = mount_->parts().view.LayoutOf(files[i]);
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

}  // namespace zenfs
