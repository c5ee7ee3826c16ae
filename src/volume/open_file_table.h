// The files of a mount that are open, by id.
//
// A file is here while it has handles. Every function that returns a file counts a handle of it, but for Find; whoever got
// one must call Release.
//
// Ownership: handles own their files, the table only finds them.
// Threads: any. mutex_ comes after the catalog's; below it are the locks that the making of a file takes.
#pragma once

#include <functional>
#include <memory>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "base/mutex.h"
#include "metrics/metrics.h"
#include "volume/append_buffers.h"
#include "volume/open_file.h"

namespace zenfs {

class OpenFileTable {
 public:
  // `metrics` counts the handles; flushed bytes of files that are deleted are forgotten in `buffers`. Both outlive the table.
  OpenFileTable(Metrics& metrics, AppendBuffers& buffers) : metrics_(metrics), buffers_(buffers) {}

  // Null if the file is not open.
  std::shared_ptr<OpenFile> Find(FileId id) const EXCLUDES(mutex_);
  // Keeps all files open until they are released, so that none is opened anew meanwhile.
  std::vector<std::shared_ptr<OpenFile>> All() EXCLUDES(mutex_);
  // The open file, or what `make` returns, which is called with the lock held. Null if that is.
  using Make = std::function<std::shared_ptr<OpenFile>()>;
  std::shared_ptr<OpenFile> Open(FileId id, const Make& make) EXCLUDES(mutex_);
  // A file that was never open before.
  void Add(const std::shared_ptr<OpenFile>& file) EXCLUDES(mutex_);
  // A handle is gone. True if it was the last one.
  [[nodiscard]] bool Release(OpenFile& file) EXCLUDES(mutex_);

  // A handle of the file is open for writing; OpenFile::writers counts it until its owner takes it off.
  void AddWriter(OpenFile& file) EXCLUDES(mutex_);
  // The file has lost its last name.
  void MarkUnlinked(FileId id) EXCLUDES(mutex_);
  // True if reclaim can't free the zone for now: a plain file that is being written, or was deleted, lies in it. The cost is
  // O(such files and their extents), however many files are open for reading.
  bool HoldsZone(ZoneId zone) EXCLUDES(mutex_);

 private:
  void CountHandle(OpenFile& file) REQUIRES(mutex_);
  std::shared_ptr<OpenFile> FindLocked(FileId id) const REQUIRES(mutex_);

  Metrics& metrics_;
  AppendBuffers& buffers_;
  mutable Mutex mutex_{LockRank::kOpenFiles};
  std::unordered_map<FileId, std::weak_ptr<OpenFile>> files_ GUARDED_BY(mutex_);
  // All open files that are being written or are deleted. A file whose last writer is gone stays until HoldsZone meets it.
  std::unordered_set<FileId> holders_ GUARDED_BY(mutex_);
};

}  // namespace zenfs
