#include "volume/open_file_table.h"

#include <algorithm>

namespace zenfs {

std::shared_ptr<OpenFile> OpenFileTable::Find(FileId id) const {
  MutexLock lock(mutex_);
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
  std::shared_ptr<OpenFile> file;
  if (const auto it = files_.find(id); it != files_.end()) file = it->second.lock();
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
  return true;
}

void OpenFileTable::CountHandle(OpenFile& file) {
  ++file.handles;
  metrics_.Change(Value::kOpenFiles, 1);
}

void OpenFileTable::MarkUnlinked(FileId id) {
  buffers_.Forget(id);
  if (const std::shared_ptr<OpenFile> open = Find(id)) open->unlinked = true;
}

bool OpenFileTable::HoldsZone(ZoneId zone) const {
  MutexLock lock(mutex_);
  return std::ranges::any_of(files_, [zone](const auto& entry) {
    const std::shared_ptr<OpenFile> file = entry.second.lock();
    if (file == nullptr || !file->plain) return false;
    return (file->unlinked || file->writers.load() != 0) && file->plain->LiesIn(zone);
  });
}

}  // namespace zenfs
