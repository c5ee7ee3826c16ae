// The volume mounted for writing (read-only: reader_volume.h): the front door, which lets calls in and hands them to the
// parts (volume_parts.h). Made by RecoverVolume.
//
// Every public call enters gate_, so Unmount can wait for those inside. Handles share this object: its memory, not its mount,
// lasts until the last one is gone.
//
// Threads: any.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/fork_guard.h"
#include "base/gate.h"
#include "volume/volume.h"
#include "volume/volume_parts.h"

namespace zenfs {

class MountedVolume final : public Volume, public std::enable_shared_from_this<MountedVolume> {
 public:
  // `parts` use `device`; the mount's first commit is made.
  MountedVolume(std::unique_ptr<MountedDevice> device, std::unique_ptr<VolumeParts> parts)
      : device_(std::move(device)), parts_(std::move(parts)) {}
  ~MountedVolume() override { IgnoreError(Unmount()); }

  // --- Volume ---
  [[nodiscard]] Status Unmount() override;
  [[nodiscard]] Status PrepareForExit() override;
  std::string shared_memory_path() const override { return parts_->buffers->path(); }
  [[nodiscard]] Result<std::unique_ptr<FileHandle>> Create(std::string_view path, Lifetime lifetime) override;
  [[nodiscard]] Result<std::unique_ptr<FileHandle>> OpenForAppend(std::string_view path,
                                                                  bool create) override;
  [[nodiscard]] Result<std::unique_ptr<FileHandle>> OpenForRead(std::string_view path, FileId known) override;
  [[nodiscard]] Status Truncate(std::string_view path, std::uint64_t size) override;
  [[nodiscard]] Status Unlink(std::string_view path) override;
  [[nodiscard]] Status Link(std::string_view existing, std::string_view new_name) override;
  [[nodiscard]] Status Rename(std::string_view from, std::string_view to) override;
  [[nodiscard]] Status MakeDirectory(std::string_view path, bool parents) override;
  [[nodiscard]] Status RemoveDirectory(std::string_view path) override;
  [[nodiscard]] Status SyncDirectory(std::string_view path) override;
  [[nodiscard]] Result<FileStat> Stat(std::string_view path) const override;
  [[nodiscard]] Result<std::vector<DirectoryEntry>> List(std::string_view path) const override;
  [[nodiscard]] Result<FileLayout> Layout(std::string_view path) const override;
  [[nodiscard]] Result<std::unique_ptr<PathLock>> Lock(std::string_view path) override;
  [[nodiscard]] Status EmptyZone(ZoneId zone) override;
  SpaceReport Space() const override { return parts_->zones->Space(); }
  std::vector<ZoneStatus> Zones() const override { return parts_->zones->Zones(); }
  const Superblock& superblock() const override { return device_->superblock; }
  const Geometry& geometry() const override { return device_->geometry; }
  const std::string& device_name() const override { return device_->name; }
  bool read_only() const override { return false; }
  std::uint64_t epoch() const override { return parts_->epoch; }
  MetalogStats metalog_stats() const override { return parts_->metalog->stats(); }
  WriteCounters write_counters() const override { return parts_->accounting.Counters(); }
  ByteView metrics_page() const override { return device_->metrics.page(); }
  std::vector<std::string> notices() const override;
  Status health() const override;

  // --- for handles and recovery ---
  // Fails in a forked child and after Unmount; with `writing`, also once the volume must not write any more.
  [[nodiscard]] Result<Gate::Entry> Enter(bool writing) const;
  VolumeParts& parts() const { return *parts_; }
  Metrics& metrics() const { return device_->metrics; }
  // Writes the counters, as they are now, to the file that the option metrics_file names.
  [[nodiscard]] Status KeepMetrics() const;

 private:
  // `file` has a handle counted already, for this one.
  std::unique_ptr<FileHandle> MakeHandle(std::shared_ptr<OpenFile> file, bool writable);

  const ForkGuard fork_guard_;
  mutable Gate gate_;
  const std::unique_ptr<MountedDevice> device_;
  const std::unique_ptr<VolumeParts> parts_;
};

}  // namespace zenfs
