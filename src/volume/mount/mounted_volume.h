// The front door of a read-write mount (read-only: reader_volume.h): admits calls and passes them to the parts of the
// mount. Its destructor unmounts; handles that are still open keep only the memory of the mount.
//
// Threads: any.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "volume/mount/writer_mount.h"
#include "volume/volume.h"

namespace zenfs {

class MountedVolume final : public Volume {
 public:
  explicit MountedVolume(std::shared_ptr<WriterMount> mount)
      : Volume(mount->info()), mount_(std::move(mount)) {}
  ~MountedVolume() override { IgnoreError(Unmount()); }  // callers that want the error call Unmount

  // --- Volume ---
  [[nodiscard]] Status Unmount() override { return mount_->Unmount(); }
  [[nodiscard]] Status PrepareForExit() override { return mount_->PrepareForExit(); }
  [[nodiscard]] Result<std::unique_ptr<FileHandle>> Create(std::string_view path, Lifetime lifetime) override;
  [[nodiscard]] Result<std::unique_ptr<FileHandle>> OpenForAppend(std::string_view path,
                                                                  bool create) override;
  [[nodiscard]] Result<std::unique_ptr<FileHandle>> OpenForRead(std::string_view path, FileId known) override;
  [[nodiscard]] Status Unlink(std::string_view path) override;
  [[nodiscard]] Status Link(std::string_view existing, std::string_view new_name) override;
  [[nodiscard]] Status Rename(std::string_view from, std::string_view to) override;
  [[nodiscard]] Status MakeDirectory(std::string_view path, bool parents) override;
  [[nodiscard]] Status RemoveDirectory(std::string_view path) override;
  [[nodiscard]] Status RemoveTree(std::string_view path) override;
  [[nodiscard]] Status SyncDirectory(std::string_view path) override;
  [[nodiscard]] Result<FileStat> Stat(std::string_view path) const override;
  [[nodiscard]] Result<std::vector<DirectoryEntry>> List(std::string_view path, FileId known) const override;
  [[nodiscard]] Result<FileLayout> Layout(std::string_view path) const override;
  [[nodiscard]] Status ForEachLayout(std::span<const FileId> files, const EachLayout& each) const override;
  [[nodiscard]] Result<std::unique_ptr<PathLock>> Lock(std::string_view path) override;
  bool StartsReads() const override { return mount_->StartsReads(); }
  SpaceReport Space() const override { return mount_->parts().Space(); }
  std::vector<ZoneStatus> Zones() const override { return mount_->parts().zones->Zones(); }
  VolumeCounters counters() const override { return mount_->counters(); }
  std::string shared_memory_path() const override { return mount_->parts().buffers->path(); }
  std::vector<std::string> notices() const override { return mount_->notices(); }
  Status health() const override { return mount_->health(); }

  WriterMount& mount() const { return *mount_; }

 private:
  const std::shared_ptr<WriterMount> mount_;
};

}  // namespace zenfs
