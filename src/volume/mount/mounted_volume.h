// A read-write mount (read-only: volume/reader/reader_volume.h): its front door, its handles, its end.
//
// MountedVolume admits calls and passes them to the parts (volume_parts.h). It shares the WriterMount, which has the parts and the
// gate in front of them, with all open handles. They keep only its memory: the destructor of MountedVolume unmounts, and from then on
// calls of the handles find the gate closed.
//
// RecoverVolume makes the WriterMount.
//
// Threads: any.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "volume/mount/mount_gate.h"
#include "volume/mount/volume_parts.h"
#include "volume/volume.h"

namespace zenfs {

class WriterMount {
 public:
  // `parts` use `device`. The first commit of the mount has succeeded.
  WriterMount(std::unique_ptr<MountedDevice> device, std::unique_ptr<VolumeParts> parts)
      : device_(std::move(device)), parts_(std::move(parts)), gate_(device_->name) {}
  ~WriterMount() { IgnoreError(Unmount()); }

  // Errors: those of MountGate::Enter.
  [[nodiscard]] Result<Gate::Entry> Enter() const { return gate_.Enter(); }
  // Errors: those of MountGate::CheckNotForked.
  [[nodiscard]] Status CheckNotForked() const { return gate_.CheckNotForked(); }
  // Errors: also that of CommitEffects::health, once the volume must not write any more.
  [[nodiscard]] Result<Gate::Entry> EnterToWrite() const;

  // As in Volume.
  [[nodiscard]] Status PrepareForExit();
  [[nodiscard]] Status Unmount();

  // Writes the present counters to the file that the option metrics_file names.
  [[nodiscard]] Status KeepMetrics() const;

  MountedDevice& device() const { return *device_; }
  VolumeParts& parts() const { return *parts_; }
  Metrics& metrics() const { return device_->metrics; }

 private:
  // The last writes of a mount: the buffered bytes of open files and append buffers go to the device and are committed. The last
  // commit seals the open windows of all logs and, unless they keep bytes for the next mount, removes the place of the append
  // buffers from the metadata. So after a clean unmount each frame belongs to a sealed window, and a missing frame is damage, even
  // the last one of a log.
  //
  // One thread at a time. The volume may be in use during WriteBackFlushed and EndBuffers, but not during the others.

  // kKept: the device has no room for some bytes; the next mount finds all of them in the append buffers.
  enum class Written { kAll, kKept };
  class Outcome;  // of writing many files
  // Writes and commits the buffered bytes of all open files. Tries all files; returns the first error.
  // Bytes that the next mount finds are no error.
  [[nodiscard]] Status WriteBackOpenFiles();
  // Writes all bytes that are only in the append buffers, which are retired. Tries all files, so that one error does not
  // prevent the write of other files; returns the first error.
  [[nodiscard]] Result<Written> WriteBackFlushed();
  // WriteBackFlushed. If all is written, commits that there are no append buffers, and removes their file.
  [[nodiscard]] Status EndBuffers();
  // Makes the last commit of the mount; no other thread writes or commits any more. `forget_buffers`: the append buffers are
  // empty, so this also commits that there are none, and removes their file.
  [[nodiscard]] Status SealLogs(bool forget_buffers);

  const std::unique_ptr<MountedDevice> device_;
  const std::unique_ptr<VolumeParts> parts_;
  MountGate gate_;
};

class MountedVolume final : public Volume {
 public:
  explicit MountedVolume(std::shared_ptr<WriterMount> mount);
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
  bool StartsReads() const override;
  SpaceReport Space() const override { return mount_->parts().Space(); }
  std::vector<ZoneStatus> Zones() const override { return mount_->parts().zones->Zones(); }
  VolumeCounters counters() const override;
  std::string shared_memory_path() const override { return mount_->parts().buffers->path(); }
  std::vector<std::string> notices() const override;
  Status health() const override;

  WriterMount& mount() const { return *mount_; }

 private:
  const std::shared_ptr<WriterMount> mount_;
  // What the device said when it was first asked: RocksDB 11.8 asks before each read. If the process had no descriptor left for a
  // ring at that moment, reads end before they return until the next mount.
  mutable std::atomic<std::optional<bool>> starts_reads_{std::nullopt};
};

}  // namespace zenfs
