// A mounted ZenFS: the library's entry point.
//
// Paths consist of any bytes except NUL, with '/' between components. A leading, trailing or doubled '/' and "." have no
// effect. ".." goes up lexically. The root is "" or "/". Names are at most kMaxNameBytes, paths of new names at most kMaxPathBytes.
//
// Durability: every function below that changes names has made its change durable when it returns, except Create. A new file
// becomes durable with its first Flush, Sync or Close, with SyncDirectory of its directory, with a Link or Rename of it, or,
// if it is framed, with a Truncate. After an earlier crash, a file of the same name that existed before is still there.
//
// Threads: any.
// Errors, in addition to those named: kReadOnly on a read-only mount, and after the metadata log has failed (health() returns
// the reason); kShutdown after Unmount, and in the child after fork().
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "catalog/path.h"
#include "device/zoned_device.h"
#include "format/superblock.h"
#include "metalog/metalog.h"
#include "open/mount_options.h"
#include "open/write_accounting.h"
#include "volume/file_handle.h"
#include "volume/fsck/finding.h"
#include "zone/zone_manager.h"

namespace zenfs {

class AuxDirectory;

struct FileStat {
  FileId id;
  bool is_directory = false;
  FileShape shape = FileShape::kPlain;
  std::uint64_t size = 0;
  // Seconds since 1970. File: the last append or truncation, including unsynced ones; durable with them. Directory: its
  // creation.
  std::uint64_t mtime_seconds = 0;
  std::uint32_t links = 0;
  Lifetime lifetime = Lifetime::kNotSet;
};

// In the root: what a volume says about directories of its host (rocksdb_plugin/bound_records.h).
inline constexpr std::string_view kBoundRecords = ".zenfs-bound";

struct DirectoryEntry {
  std::string name;
  FileStat stat;
};

// The places of a file's bytes, for dump: extents, then the frames of a framed file, then bytes of a read-only mount that the
// device does not have yet.
struct FileLayout {
  std::vector<Extent> extents;
  std::vector<Extent> frames;  // `place` is the payload's, so not block-aligned
  std::vector<Extent>
      flushed;  // read-only mount: behind the others, in shared memory; `place` has no meaning
  std::uint64_t last_sequence = 0;  // of these frames; a file never uses a sequence twice
  std::uint64_t frame_bytes =
      0;  // read-only mount: bytes of these frames on the device, with headers and padding
};

// Constant during a mount.
struct VolumeInfo {
  Superblock superblock;
  Geometry geometry;
  std::string device_name;
  bool read_only = false;
};

// The counters of a mount. A read-only mount knows only those in the metadata log: the epoch of the last read-write mount,
// the generation and the sequence; the others are zero.
struct VolumeCounters {
  std::uint64_t epoch = 0;
  MetalogStats metalog;
  WriteCounters written;
  ByteView metrics_page;  // for DecodeMetrics; valid until the unmount. Empty for a read-only mount
};

// A lock on a path within this process, for RocksDB's LockFile. The destructor releases it.
class PathLock {
 public:
  virtual ~PathLock() = default;
};

// Bytes that a mount does not show although they were written and not deleted.
struct Shortfall {
  // One sentence: why bytes that the last writer flushed and did not sync may be missing. Empty if none can be missing.
  std::string unsynced;
  // Bytes that the device has lost; they may have been synced.
  Findings lost;
  std::set<FileId> lost_files;  // all files that have lost bytes, or may have
};

class Volume {
 public:
  // Takes the device, recovers the volume, and returns when the recovery is durable: later mounts see the same data. Errors:
  // those of RecoverVolume and ProbeSuperblock; kReadOnly for unknown read-only-compatible feature bits.
  //
  // If the device is open read-only, the volume is mounted read-only, also beside a writer. Then each call sees the commits
  // and frames that are on the device at that moment, and what the writer has flushed (volume/reader/reader_volume.h).
  [[nodiscard]] static Result<std::shared_ptr<Volume>> Mount(std::unique_ptr<ZonedDevice> device,
                                                             const MountOptions& options);
  // Unmounts if Unmount was not called. Open handles may outlive it; their calls fail with kShutdown.
  virtual ~Volume() = default;
  // Writes the buffered bytes of all files, stops all threads, and releases the device. Returns the first error. It is no
  // error if the device has no room for flushed bytes: they stay in shared memory for the next mount, and notices() says so.
  [[nodiscard]] virtual Status Unmount() = 0;
  // Call this before the process exits without Unmount. Writes the flushed bytes to the device and removes the append
  // buffers; from now on each Flush is a write to the device. The volume stays mounted.
  [[nodiscard]] virtual Status PrepareForExit() = 0;

  // --- files ---
  // Creates an empty file. It replaces a file of that name; the replacement is durable when the new file is. The name
  // determines the shape (ShapeForName). Errors: kNotFound (directory), kIsADirectory.
  [[nodiscard]] virtual Result<std::unique_ptr<FileHandle>> Create(std::string_view path,
                                                                   Lifetime lifetime = Lifetime::kNotSet) = 0;
  // Opens a file for appends. With `create`, creates an empty file if there is none.
  [[nodiscard]] virtual Result<std::unique_ptr<FileHandle>> OpenForAppend(std::string_view path,
                                                                          bool create) = 0;
  // `known` may be the file id to which the path led before. If it still fits the known names, a read-only mount opens the
  // file without looking for newer names on the device.
  [[nodiscard]] virtual Result<std::unique_ptr<FileHandle>> OpenForRead(std::string_view path,
                                                                        FileId known = kNoFile) = 0;

  // --- names ---
  [[nodiscard]] virtual Status Unlink(std::string_view path) = 0;
  [[nodiscard]] virtual Status Link(std::string_view existing, std::string_view new_name) = 0;
  // Renames a file or directory atomically. A file may replace a file, and a directory an empty directory.
  [[nodiscard]] virtual Status Rename(std::string_view from, std::string_view to) = 0;
  // With `parents`, makes missing parents and accepts an existing directory. Errors: kExists.
  [[nodiscard]] virtual Status MakeDirectory(std::string_view path, bool parents) = 0;
  [[nodiscard]] virtual Status RemoveDirectory(std::string_view path) = 0;  // kNotEmpty
  // Removes a directory with all that is below it, also what others add meanwhile. Many names are one commit; after an error or
  // a crash, the names that are left are still reachable. The cost is linear in their number, at any depth.
  [[nodiscard]] virtual Status RemoveTree(std::string_view path) = 0;
  [[nodiscard]] virtual Status SyncDirectory(std::string_view path) = 0;
  [[nodiscard]] virtual Result<FileStat> Stat(std::string_view path) const = 0;
  // Sorted by name. `known` may be the id of the directory to which the path led before: then the volume does not look the path
  // up, which would cost time in proportion to its depth. Errors: kNotFound, kNotADirectory.
  [[nodiscard]] virtual Result<std::vector<DirectoryEntry>> List(std::string_view path,
                                                                 FileId known = kNoFile) const = 0;
  [[nodiscard]] virtual Result<FileLayout> Layout(std::string_view path) const = 0;
  // Calls `each` with an index in `files` and the layout of that file, in this order, without those that are gone. A read-only
  // mount looks at the device once for many files, for Layout once for each. Errors: those of Layout and of `each`.
  using EachLayout = std::function<Status(std::size_t, const FileLayout&)>;
  [[nodiscard]] virtual Status ForEachLayout(std::span<const FileId> files, const EachLayout& each) const = 0;
  // Creates the file if there is none. Errors: kBusy, with the path, if this process holds the lock.
  [[nodiscard]] virtual Result<std::unique_ptr<PathLock>> Lock(std::string_view path) = 0;

  // --- state ---
  const VolumeInfo& info() const { return info_; }
  // Whether FileHandle::StartRead returns while the device reads.
  virtual bool StartsReads() const { return false; }
  virtual SpaceReport Space() const = 0;
  // The directory on the host for all files that AuxDirectory::Keeps; null if the volume has none.
  virtual const AuxDirectory* aux_directory() const { return nullptr; }
  virtual std::vector<ZoneStatus> Zones() const = 0;
  virtual VolumeCounters counters() const = 0;
  // The file on the host with the append buffers and metrics of the read-write mount; on a read-only mount, that of the
  // writer, even after it died. Empty if there is none.
  virtual std::string shared_memory_path() const = 0;
  // Damage that the mount found and worked around, and damage that reclaim has found since. A read-only mount also reports
  // its shortfall. One sentence each; none on a sound volume.
  virtual std::vector<std::string> notices() const = 0;
  // For a read-only mount, as it is now. A read-write mount has put it into its notices. Errors: as Stat.
  [[nodiscard]] virtual Result<Shortfall> shortfall() const { return Shortfall(); }
  // Read-write mount: the error that has ended all writes. Read-only mount: the error of reading the metadata now. OK if
  // there is none.
  virtual Status health() const = 0;

 protected:
  explicit Volume(VolumeInfo info) : info_(std::move(info)) {}

 private:
  const VolumeInfo info_;
};

// Truncates a file, and syncs and closes it. Errors: those of Volume::OpenForAppend and FileHandle::Truncate.
[[nodiscard]] Status TruncateFile(Volume& volume, std::string_view path, std::uint64_t size);

// kFramed for *.log, MANIFEST-*, LOG and LOG.*; kPlain for all others. The shape affects only speed.
[[nodiscard]] FileShape ShapeForName(std::string_view file_name);

}  // namespace zenfs
