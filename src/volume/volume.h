// A mounted ZenFS: the library's front door.
//
// Paths are UTF-8 or any bytes but NUL, with '/' between components; a leading, trailing or doubled '/' and
// "." change nothing, ".." goes up lexically, the root is "" or "/". Names are at most 255 bytes.
//
// Durability: every call below that changes names has made its change durable when it returns, but for Create:
// a new file becomes durable with its first Flush (framed), Sync or Close, with SyncDirectory of its directory,
// with a Link or Rename of it, or with a Truncate (framed). Until then a file of the same name that existed
// before is what a crash leaves.
//
// Threads: any. Errors beside those named: kReadOnly on a read-only mount or after the metadata log has
// failed (health() says why), kShutdown after Unmount, and in the child after fork().
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "catalog/path.h"
#include "device/zoned_device.h"
#include "format/superblock.h"
#include "metalog/metalog.h"
#include "volume/file_handle.h"
#include "volume/mount_options.h"
#include "zone/zone_manager.h"

namespace zenfs {

struct FileStat {
  FileId id;
  bool is_directory = false;
  FileShape shape = FileShape::kPlain;
  std::uint64_t size = 0;
  // Since 1970. When the file was last appended to or truncated, unsynced appends included; durable with them. A
  // directory: when it was made.
  std::uint64_t mtime_seconds = 0;
  std::uint32_t links = 0;
  Lifetime lifetime = Lifetime::kNotSet;
};

struct DirectoryEntry {
  std::string name;
  FileStat stat;
};

// Where the bytes of a file lie, for dump and fs-info: extents, then frames of a framed file.
struct FileLayout {
  std::vector<Extent> extents;
  std::vector<Extent> frames;       // place is that of the payload, not block-aligned
  std::uint64_t last_sequence = 0;  // of these frames; never used twice in a file
};

// Constant during a mount.
struct VolumeInfo {
  Superblock superblock;
  Geometry geometry;
  std::string device_name;
  bool read_only = false;
};

struct WriteCounters {  // bytes written to the device since the mount, by cause
  std::uint64_t plain_data = 0;
  std::uint64_t log_data = 0;
  std::uint64_t log_padding = 0;  // frame headers and padding
  std::uint64_t metadata = 0;
  std::uint64_t cleaned = 0;            // log data rewritten as extents to free a log zone
  std::uint64_t reclaimed = 0;          // file data moved to free a zone
  std::uint64_t log_reserve_waits = 0;  // syncs that waited for a log zone; a count, not bytes
};

// The counters of a mount. A read-only mount knows only those in the metadata log: the epoch of the last read-write mount,
// the generation and the sequence; the others are zero.
struct VolumeCounters {
  std::uint64_t epoch = 0;
  MetalogStats metalog;
  WriteCounters written;
  ByteView metrics_page;  // for DecodeMetrics; valid until the unmount. Empty for a read-only mount
};

// Held on a path within this process, as RocksDB's LockFile wants it. Destroying it releases it.
class PathLock {
 public:
  virtual ~PathLock() = default;
};

class Volume {
 public:
  // Takes the device. Recovery seals logs, so that what this mount shows can never change behind its back,
  // and returns when that is durable. Errors: those of PlanSlots, ProbeSuperblock and Metalog::Open; kReadOnly
  // for read-only-compatible bits.
  // A device that was opened read-only is mounted read-only, beside a writer if there is one: each call sees
  // what is committed when it is made, and the frames on the device (volume/reader_volume.h).
  [[nodiscard]] static Result<std::shared_ptr<Volume>> Mount(std::unique_ptr<ZonedDevice> device,
                                                             const MountOptions& options);
  // Unmounts if that was not done. Open handles may outlive it; their calls fail with kShutdown.
  virtual ~Volume() = default;
  // Writes out what files have buffered, stops all threads, releases the device. Returns the first error.
  [[nodiscard]] virtual Status Unmount() = 0;
  // The process is about to exit without Unmount: writes out what files have buffered, and from now on a Flush does so
  // itself, so that nothing of the mount stays behind on the host. Everything else goes on.
  [[nodiscard]] virtual Status PrepareForExit() = 0;

  // --- files ---
  // A new, empty file; a file that has the name is replaced, durably once the new one is durable.
  // The shape follows from the name (see ShapeForName). Errors: kNotFound (directory), kIsADirectory.
  [[nodiscard]] virtual Result<std::unique_ptr<FileHandle>> Create(std::string_view path,
                                                                   Lifetime lifetime = Lifetime::kNotSet) = 0;
  // For appending behind what is there; with `create`, an empty file if there is none.
  [[nodiscard]] virtual Result<std::unique_ptr<FileHandle>> OpenForAppend(std::string_view path,
                                                                          bool create) = 0;
  // `known`, if it is what the path was found to lead to as far as is known here, spares a read-only mount the
  // look for newer names on the device.
  [[nodiscard]] virtual Result<std::unique_ptr<FileHandle>> OpenForRead(std::string_view path,
                                                                        FileId known = kNoFile) = 0;

  // --- names ---
  [[nodiscard]] virtual Status Unlink(std::string_view path) = 0;
  [[nodiscard]] virtual Status Link(std::string_view existing, std::string_view new_name) = 0;
  // Files and directories; atomic; replaces a file by a file and an empty directory by a directory.
  [[nodiscard]] virtual Status Rename(std::string_view from, std::string_view to) = 0;
  // Errors: kExists; with `parents` missing parents are made and an existing directory is fine.
  [[nodiscard]] virtual Status MakeDirectory(std::string_view path, bool parents) = 0;
  [[nodiscard]] virtual Status RemoveDirectory(std::string_view path) = 0;  // kNotEmpty
  [[nodiscard]] virtual Status SyncDirectory(std::string_view path) = 0;
  [[nodiscard]] virtual Result<FileStat> Stat(std::string_view path) const = 0;
  // Sorted by name. Errors: kNotFound, kNotADirectory.
  [[nodiscard]] virtual Result<std::vector<DirectoryEntry>> List(std::string_view path) const = 0;
  [[nodiscard]] virtual Result<FileLayout> Layout(std::string_view path) const = 0;
  // kBusy with the path when this process holds it already. Creates the file if there is none.
  [[nodiscard]] virtual Result<std::unique_ptr<PathLock>> Lock(std::string_view path) = 0;

  // --- state ---
  const VolumeInfo& info() const { return info_; }
  virtual SpaceReport Space() const = 0;
  virtual std::vector<ZoneStatus> Zones() const = 0;
  virtual VolumeCounters counters() const = 0;
  // The file on the host with the append buffers and metrics of the read-write mount; on a read-only mount, that of the
  // writer, even after it died. Empty if there is none.
  virtual std::string shared_memory_path() const = 0;
  // Damage that the mount found and worked around, and damage that reclaim has found since. A read-only mount also reports
  // the bytes that a dead writer flushed and the next read-write mount will write. One sentence each; none on a sound
  // volume.
  virtual std::vector<std::string> notices() const = 0;
  virtual Status health() const = 0;

 protected:
  explicit Volume(VolumeInfo info) : info_(std::move(info)) {}

 private:
  const VolumeInfo info_;
};

// Truncates a file, and syncs and closes it. Errors: those of Volume::OpenForAppend and FileHandle::Truncate.
[[nodiscard]] Status TruncateFile(Volume& volume, std::string_view path, std::uint64_t size);

// Framed: *.log, MANIFEST-*, LOG and LOG.*; else plain. Matters for speed only.
[[nodiscard]] FileShape ShapeForName(std::string_view file_name);

}  // namespace zenfs
