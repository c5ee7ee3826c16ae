// The framed files of a mounted volume, by id. A file is here from its creation (or the mount) until its
// last name is removed. Open handles keep the file itself after that.
//
// Threads: any. mutex_ is a leaf lock; the destructor of a removed file runs without it.
#pragma once

#include <memory>
#include <unordered_map>
#include <vector>

#include "base/mutex.h"
#include "wal/framed_file.h"

namespace zenfs {

class LogStore {
 public:
  void Add(std::shared_ptr<FramedFile> file) EXCLUDES(mutex_);
  // Returns null if there is no such file.
  std::shared_ptr<FramedFile> Find(FileId id) const EXCLUDES(mutex_);
  // The file has lost its last name.
  void Remove(FileId id) EXCLUDES(mutex_);
  std::vector<std::shared_ptr<FramedFile>> All() const EXCLUDES(mutex_);

 private:
  mutable Mutex mutex_{LockRank::kFramedFiles};
  std::unordered_map<FileId, std::shared_ptr<FramedFile>> files_ GUARDED_BY(mutex_);
};

}  // namespace zenfs
