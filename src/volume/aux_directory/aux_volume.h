// A volume whose files named LOG, LOG.old.* and LOCK are in an aux directory of the host (volume/aux_directory/aux_directory.h). It is the
// volume below it in all other respects, and the one place that knows which of both a name is in.
//
// One view of a name. The volume may have files of these names too: programs that do not know the aux directory put them
// there, or wrote them before. A file on the host hides the volume's file of that path. The visible file is opened, renamed
// and linked where it is; a deletion or replacement removes both. New files are created on the host.
//
// A renaming between the host and another name in the volume copies the bytes. A link from the host to another name in the
// volume is refused. Directories belong to the volume, which says whether they exist; the host has a directory of that path
// once a file needs it.
//
// After a crash, an action on a name here is done or not, except the renaming of a directory: the files on the host may
// have stayed under the old path. Names on the host survive a power loss as the host's file system keeps them.
//
// Threads: any.
// Errors, in addition to those of Volume: kIo, with a text that names the aux directory, if it can't be used.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "volume/aux_directory/aux_directory.h"
#include "volume/volume.h"

namespace zenfs {

class AuxVolume final : public Volume {
 public:
  AuxVolume(std::shared_ptr<Volume> volume, AuxDirectory directory)
      : Volume(volume->info()), volume_(std::move(volume)), directory_(std::move(directory)) {}

  Status Unmount() override { return volume_->Unmount(); }
  Status PrepareForExit() override { return volume_->PrepareForExit(); }

  Result<std::unique_ptr<FileHandle>> Create(std::string_view path, Lifetime lifetime) override;
  Result<std::unique_ptr<FileHandle>> OpenForAppend(std::string_view path, bool create) override;
  Result<std::unique_ptr<FileHandle>> OpenForRead(std::string_view path, FileId known) override;

  Status Unlink(std::string_view path) override;
  Status Link(std::string_view existing, std::string_view new_name) override;
  Status Rename(std::string_view from, std::string_view to) override;
  Status MakeDirectory(std::string_view path, bool parents) override;
  Status RemoveDirectory(std::string_view path) override;
  Status RemoveTree(std::string_view path) override;
  Status SyncDirectory(std::string_view path) override { return volume_->SyncDirectory(path); }
  Result<FileStat> Stat(std::string_view path) const override;
  Result<std::vector<DirectoryEntry>> List(std::string_view path, FileId known) const override;
  Result<FileLayout> Layout(std::string_view path) const override;
  // Files on the host are gone for it.
  Status ForEachLayout(std::span<const FileId> files, const EachLayout& each) const override {
    return volume_->ForEachLayout(files, each);
  }
  Result<std::unique_ptr<PathLock>> Lock(std::string_view path) override;

  bool StartsReads() const override { return volume_->StartsReads(); }
  SpaceReport Space() const override { return volume_->Space(); }
  const AuxDirectory* aux_directory() const override { return &directory_; }
  std::vector<ZoneStatus> Zones() const override { return volume_->Zones(); }
  VolumeCounters counters() const override { return volume_->counters(); }
  std::string shared_memory_path() const override { return volume_->shared_memory_path(); }
  std::vector<std::string> notices() const override { return volume_->notices(); }
  Status health() const override { return volume_->health(); }

 private:
  struct Place {
    std::string path;           // normalised
    bool kept = false;          // a new file of this name is on the host
    HostStat host;              // the file there; kMissing if there is none
    bool is_directory = false;  // the volume has a directory of this name

    bool on_host() const { return host.kind == HostStat::Kind::kFile; }
  };

  [[nodiscard]] Result<Place> Locate(std::string_view path) const;
  [[nodiscard]] Result<bool> IsDirectory(std::string_view path) const;
  [[nodiscard]] Status CheckMayWrite(std::string_view path) const;
  // Removes the volume's file of that path, which a file on the host hides. OK if there is none.
  [[nodiscard]] Status RemoveHidden(const std::string& path);
  [[nodiscard]] Status RenameDirectory(const std::string& from, const std::string& to);
  [[nodiscard]] Status RenameFromHost(const Place& from, const Place& to);
  [[nodiscard]] Status CopyFromHost(const Place& from, const std::string& to);

  const std::shared_ptr<Volume> volume_;
  const AuxDirectory directory_;
};

// `volume` itself if its superblock names no aux directory; otherwise an AuxVolume on it.
//
// The image names the directory, and anybody may have made the image. So it is used only if this host consents: by the marker
// that mkfs leaves there (volume/aux_directory/aux_directory.h), or by `consent`, the option aux_path of the mount, which must name the same
// directory. Errors: kPermission without consent; kInvalidArgument if `consent` is another directory; kIo if the directory
// can't be used.
[[nodiscard]] Result<std::shared_ptr<Volume>> WithAuxDirectory(std::shared_ptr<Volume> volume,
                                                               const std::string& consent);

}  // namespace zenfs
