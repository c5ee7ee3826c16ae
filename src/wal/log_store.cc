#include "wal/log_store.h"

namespace zenfs {

void LogStore::Add(std::shared_ptr<FramedFile> file) {
  MutexLock lock(mutex_);
  const FileId id = file->id();
  files_.insert_or_assign(id, std::move(file));
}

std::shared_ptr<FramedFile> LogStore::Find(FileId id) const {
  MutexLock lock(mutex_);
  const auto it = files_.find(id);
  return it == files_.end() ? nullptr : it->second;
}

void LogStore::Remove(FileId id) {
  std::shared_ptr<FramedFile> removed;
  MutexLock lock(mutex_);
  const auto it = files_.find(id);
  if (it == files_.end()) return;
  removed = std::move(it->second);
  files_.erase(it);
  lock.Unlock();
  removed->NoteDeleted();
}

std::vector<std::shared_ptr<FramedFile>> LogStore::All() const {
  MutexLock lock(mutex_);
  std::vector<std::shared_ptr<FramedFile>> all;
  all.reserve(files_.size());
  for (const auto& [id, file] : files_) all.push_back(file);
  return all;
}

}  // namespace zenfs
