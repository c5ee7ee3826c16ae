#include "open/open_file_table.h"

namespace zenfs {

std::shared_ptr<OpenFile> OpenFileTable::Find(FileId id) const {
  MutexLock lock(mutex_);
  return FindLocked(id);
}

std::shared_ptr<OpenFile> OpenFileTable::FindLocked(FileId id) const {
  const auto it = files_.find(id);
  return it == files_.end() ? nullptr : it->second.lock();
}

std::vector<std::shared_ptr<OpenFile>> OpenFileTable::All() {
  MutexLock lock(mutex_);
  std::vector<std::shared_ptr<OpenFile>> open;
  for (const auto& [id, weak] : files_) {
    std::shared_ptr<OpenFile> file = weak.lock();
    if (file == nullptr) continue;
    CountHandle(*file);
    open.push_back(std::move(file));
  }
  return open;
}

std::shared_ptr<OpenFile> OpenFileTable::Open(FileId id, const Make& make) {
  MutexLock lock(mutex_);
  std::shared_ptr<OpenFile> file = FindLocked(id);
  if (file == nullptr) {
    file = make();
    if (file == nullptr) return nullptr;
    files_[id] = file;
  }
  CountHandle(*file);
  return file;
}

void OpenFileTable::Add(const std::shared_ptr<OpenFile>& file) {
  MutexLock lock(mutex_);
  files_[file->id] = file;
  CountHandle(*file);
}

bool OpenFileTable::Release(OpenFile& file) {
  metrics_.Change(Value::kOpenFiles, -1);
  MutexLock lock(mutex_);
  if (--file.handles != 0) return false;
  files_.erase(file.id);
  holders_.erase(file.id);
  return true;
}

void OpenFileTable::CountHandle(OpenFile& file) {
  ++file.handles;
  metrics_.Change(Value::kOpenFiles, 1);
}

void OpenFileTable::AddWriter(OpenFile& file) {
  MutexLock lock(mutex_);
  file.writers.fetch_add(1);
  holders_.insert(file.id);
}

void OpenFileTable::MarkUnlinked(FileId id) {
  buffers_.Forget(id);
  MutexLock lock(mutex_);
  const std::shared_ptr<OpenFile> open = FindLocked(id);
  if (open == nullptr) return;
  open->unlinked = true;
  holders_.insert(id);
}

std::vector<std::shared_ptr<FramedFile>> OpenFileTable::DeletedLogs() const {
  MutexLock lock(mutex_);
  std::vector<std::shared_ptr<FramedFile>> deleted;
  for (const FileId id : holders_) {
    const std::shared_ptr<OpenFile> file = FindLocked(id);
    std::shared_ptr<FramedFile> log = file != nullptr && file->unlinked ? file->log() : nullptr;
    if (log != nullptr) deleted.push_back(std::move(log));
  }
  return deleted;
}

bool OpenFileTable::HoldsZone(ZoneId zone) {
  MutexLock lock(mutex_);
  for (auto it = holders_.begin(); it != holders_.end();) {
    const std::shared_ptr<OpenFile> file = FindLocked(*it);
    if (file == nullptr || (!file->unlinked && file->writers.load() == 0)) {
      it = holders_.erase(it);
      continue;
    }
    if (file->HoldsZone(zone)) return true;
    ++it;
  }
  return false;
}

}  // namespace zenfs
