// The open files of a mount, by id.
//
// A file is in the table while it has handles. Every function that returns a file, except Find, counts a handle of it, which
// the caller must give back with Release.
//
// Ownership: handles own their files; the table has weak references.
// Threads: any. mutex_ is taken after the catalog's lock, and before the locks that OpenFileFactory takes.
#pragma once

#include <functional>
#include <memory>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "base/mutex.h"
#include "metrics/metrics.h"
#include "open/append_buffers.h"
#include "open/open_file.h"

namespace zenfs {

class OpenFileTable {
 public:
  // `metrics` counts the handles. `buffers` discards the flushed bytes of deleted files. Both outlive the table.
  OpenFileTable(Metrics& metrics, AppendBuffers& buffers) : metrics_(metrics), buffers_(buffers) {}

  // Null if the file is not open.
  std::shared_ptr<OpenFile> Find(FileId id) const EXCLUDES(mutex_);
  // All open files. The counted handles keep them open, so no file gets a second OpenFile meanwhile.
  std::vector<std::shared_ptr<OpenFile>> All() EXCLUDES(mutex_);
  // The open file, or else the result of `make`, which is called with the lock held and may return null.
  using Make = std::function<std::shared_ptr<OpenFile>()>;
  std::shared_ptr<OpenFile> Open(FileId id, const Make& make) EXCLUDES(mutex_);
  // Adds a file that was never open before.
  void Add(const std::shared_ptr<OpenFile>& file) EXCLUDES(mutex_);
  // Gives back one handle. True if it was the last one.
  [[nodiscard]] bool Release(OpenFile& file) EXCLUDES(mutex_);

  // Counts a handle that is open for writing in OpenFile::writers. OpenFile::EndWriting counts it down.
  void AddWriter(OpenFile& file) EXCLUDES(mutex_);
  // Call this when the file has lost its last name.
  void MarkUnlinked(FileId id) EXCLUDES(mutex_);
  // True if reclaim can't free the zone now: a plain file in it is being written, or a file with extents in it is deleted and
  // still open. The cost is O(such files and their extents); files that are open for reading cost nothing.
  bool HoldsZone(ZoneId zone) EXCLUDES(mutex_);
  // The framed files that are deleted and still open, also those that were never committed.
  std::vector<std::shared_ptr<FramedFile>> DeletedLogs() const EXCLUDES(mutex_);

 private:
  void CountHandle(OpenFile& file) REQUIRES(mutex_);
  std::shared_ptr<OpenFile> FindLocked(FileId id) const REQUIRES(mutex_);

  Metrics& metrics_;
  AppendBuffers& buffers_;
  mutable Mutex mutex_{LockRank::kOpenFiles};
  std::unordered_map<FileId, std::weak_ptr<OpenFile>> files_ GUARDED_BY(mutex_);
  // All open files that are being written or are deleted. HoldsZone removes files whose last writer is gone.
  std::unordered_set<FileId> holders_ GUARDED_BY(mutex_);
};

}  // namespace zenfs
