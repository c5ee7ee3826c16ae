// A volume whose files are named by their ids, as the kernel names the inodes of a mount; a Volume names them by paths.
//
// For each id that the kernel has, VolumeInodes keeps the name that last led to it. A writer may have renamed, replaced or deleted the
// file since. So each access verifies that the path still leads to the id. If it does not, the error is kNotFound with the errno
// ESTALE: then the kernel looks the user's path up again. A directory that was renamed while a program works in it can be listed, but its
// names are stale until somebody looks up its new path.
//
// Ownership: the kernel counts how often it was given an id (Remember), and tells when it no longer needs it (Forget). An open file
// can be read until Close, also if its id is forgotten or the writer deletes it (volume/reader/reader_handle.h).
//
// Threads: any. mutex_ is a leaf lock: the volume is not called while it is held.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "backup/source_file.h"
#include "base/mutex.h"
#include "base/status.h"
#include "volume/volume.h"

namespace zenfs {

class VolumeInodes {
 public:
  // `volume` is mounted read-only, and outlives this.
  explicit VolumeInodes(Volume& volume) : volume_(volume) {}

  // The entry of a directory. The caller remembers it, once the kernel has it. Errors: those of Volume::Stat; ESTALE.
  [[nodiscard]] Result<FileStat> Find(FileId directory, std::string_view name) const;
  // A file that was deleted and is open has no links. Errors: as Find.
  [[nodiscard]] Result<FileStat> Stat(FileId id) const;
  // Sorted by name. Errors: those of Volume::List; ESTALE.
  [[nodiscard]] Result<std::vector<DirectoryEntry>> List(FileId directory) const;
  // The directory that the directory is in; that of the root is the root.
  [[nodiscard]] FileId ParentOf(FileId directory) const;

  void Remember(FileId directory, std::string_view name, const FileStat& stat);
  void Forget(FileId id, std::uint64_t times);

  // Returns a number for Read and Close. Errors: those of Volume::OpenForRead; ESTALE.
  [[nodiscard]] Result<std::uint64_t> Open(FileId id);
  // Returns the bytes read; fewer than `into` has only at the end of the file. Frames of logs are verified; extents are, while the file is
  // read from its start on without a gap. Errors: those of FileHandle::ReadVerified; kCorruption; ESTALE if the writer has deleted the
  // file and its bytes are gone.
  [[nodiscard]] Result<std::size_t> Read(std::uint64_t open, std::uint64_t offset, ByteSpan into);
  void Close(std::uint64_t open);

 private:
  struct Inode {
    FileId directory;
    std::string name;
    std::uint64_t mtime_seconds = 0;  // when it was last looked up
    std::uint64_t lookups = 0;        // by the kernel, which it has not forgotten
  };
  struct OpenFile {
    std::string path;  // that led to it
    std::unique_ptr<FileHandle> handle;
    std::uint64_t mtime_seconds = 0;
    // Compares the bytes of a program that reads the file from start to end. Null while such a read runs, and after any other.
    std::unique_ptr<VerifiedSource> source;
    std::uint64_t next = 0;  // the offset at which `source` goes on
    // Why it did not match there. The kernel hides the error of a read behind bytes that it has already; then the program reads again.
    std::optional<Error> damage;
  };

  // The path that led to `id`. Errors: ESTALE.
  [[nodiscard]] Result<std::string> PathOf(FileId id) const EXCLUDES(mutex_);
  // What the path leads to now. Errors: those of Volume::Stat, but ESTALE if it is not `id`.
  [[nodiscard]] Result<FileStat> StatSame(FileId id, const std::string& path) const;
  [[nodiscard]] std::shared_ptr<OpenFile> FindOpen(FileId id) const EXCLUDES(mutex_);

  Volume& volume_;
  mutable Mutex mutex_{LockRank::kLeaf};
  std::unordered_map<FileId, Inode> inodes_ GUARDED_BY(mutex_);  // without the root
  std::map<std::uint64_t, std::shared_ptr<OpenFile>> open_ GUARDED_BY(mutex_);
  std::uint64_t next_open_ GUARDED_BY(mutex_) = 1;
};

}  // namespace zenfs
