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

struct WriteCounters {  // bytes handed to the device since mount, by cause
  std::uint64_t plain_data = 0;
  std::uint64_t log_data = 0;
  std::uint64_t log_padding = 0;  // frame headers and padding
  std::uint64_t metadata = 0;
  std::uint64_t cleaned = 0;            // log data rewritten as extents to free a log zone
  std::uint64_t reclaimed = 0;          // file data moved together to free a zone
  std::uint64_t log_reserve_waits = 0;  // syncs that had to wait for a log zone
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
  [[nodiscard]] virtual Status Truncate(std::string_view path, std::uint64_t size) = 0;

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

  // --- space ---
  // Moves all live data out of the zone, which is reset when nobody reads there any more. It need not be called: a
  // mounted volume does so by itself when space is short. Errors: kInvalidArgument for a zone that is not full, or not of
  // file data; kBusy when a file in it is being changed; those of reading and writing.
  [[nodiscard]] virtual Status EmptyZone(ZoneId zone) = 0;

  // --- looking ---
  virtual SpaceReport Space() const = 0;
  virtual std::vector<ZoneStatus> Zones() const = 0;
  virtual const Superblock& superblock() const = 0;
  virtual const Geometry& geometry() const = 0;
  virtual const std::string& device_name() const = 0;
  virtual bool read_only() const = 0;
  // Of the file on the host that holds the append buffers and metrics of the mount that is writing, or was when it
  // died; empty if there is none.
  virtual std::string shared_memory_path() const = 0;
  virtual std::uint64_t epoch() const = 0;
  virtual MetalogStats metalog_stats() const = 0;
  virtual WriteCounters write_counters() const = 0;
  // The page that this mount counts in, for DecodeMetrics; empty for a volume that counts nothing.
  virtual ByteView metrics_page() const { return {}; }
  // What a mount found damaged and worked around, or came upon since when it moved files, and of a read-only one also what waits for the next read-write mount
  // after the death of a writer; one sentence each, none on a sound volume.
  virtual std::vector<std::string> notices() const = 0;
  virtual Status health() const = 0;
};

// Framed: *.log, MANIFEST-*, LOG and LOG.*; else plain. Matters for speed only.
[[nodiscard]] FileShape ShapeForName(std::string_view file_name);

}  // namespace zenfs
