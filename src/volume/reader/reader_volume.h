// A volume mounted read-only, perhaps beside a writer in this or another process, or after one has died. It takes no lock and
// writes nothing. Each call sees the state of the device at that moment, and the bytes that the writer has flushed
// (volume/reader/live_state.h). Its destructor unmounts; handles that are still open keep only the memory of the mount.
//
// Threads: any.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "volume/reader/reader_mount.h"
#include "volume/volume.h"

namespace zenfs {

class ReaderVolume final : public Volume {
 public:
  explicit ReaderVolume(std::shared_ptr<ReaderMount> mount)
      : Volume(mount->info()), mount_(std::move(mount)) {}
  ~ReaderVolume() override { mount_->Unmount(); }

  // --- Volume ---
  [[nodiscard]] Status Unmount() override;
  [[nodiscard]] Status PrepareForExit() override { return {}; }
  [[nodiscard]] Result<std::unique_ptr<FileHandle>> Create(std::string_view, Lifetime) override;
  [[nodiscard]] Result<std::unique_ptr<FileHandle>> OpenForAppend(std::string_view, bool) override;
  [[nodiscard]] Result<std::unique_ptr<FileHandle>> OpenForRead(std::string_view path, FileId known) override;
  [[nodiscard]] Status Unlink(std::string_view) override { return mount_->Refuse(); }
  [[nodiscard]] Status Link(std::string_view, std::string_view) override { return mount_->Refuse(); }
  [[nodiscard]] Status Rename(std::string_view, std::string_view) override { return mount_->Refuse(); }
  [[nodiscard]] Status MakeDirectory(std::string_view, bool) override { return mount_->Refuse(); }
  [[nodiscard]] Status RemoveDirectory(std::string_view) override { return mount_->Refuse(); }
  [[nodiscard]] Status RemoveTree(std::string_view) override { return mount_->Refuse(); }
  [[nodiscard]] Status SyncDirectory(std::string_view) override { return mount_->Refuse(); }
  [[nodiscard]] Result<FileStat> Stat(std::string_view path) const override;
  [[nodiscard]] Result<std::vector<DirectoryEntry>> List(std::string_view path, FileId known) const override;
  [[nodiscard]] Result<FileLayout> Layout(std::string_view path) const override;
  [[nodiscard]] Status ForEachLayout(std::span<const FileId> files, const EachLayout& each) const override;
  [[nodiscard]] Result<std::unique_ptr<PathLock>> Lock(std::string_view) override;
  // Computed for each call from the metadata and a report of all zones; empty if they can't be read (health).
  SpaceReport Space() const override;
  std::vector<ZoneStatus> Zones() const override;
  // Only the epoch and the position of the metadata log; zeros if the metadata can't be read (health).
  VolumeCounters counters() const override;
  std::string shared_memory_path() const override;
  std::vector<std::string> notices() const override { return mount_->notices(); }
  [[nodiscard]] Result<Shortfall> shortfall() const override { return mount_->FindShortfall(); }
  // OK if the metadata can be read now.
  Status health() const override;

 private:
  const std::shared_ptr<ReaderMount> mount_;
};

}  // namespace zenfs
