#include <fmt/format.h>

#include "rocksdb_plugin/status_conversion.h"
#include "rocksdb_plugin/zenfs_file_system.h"

namespace zenfs {

IOStatus ZenFileSystem::FileExists(const std::string& fname, const IOOptions&, IODebugContext*) {
  return Guarded([&] {
    const Result<FileStat> stat = volume_->Stat(fname);
    return stat ? IOStatus::OK() : ToIOStatusOrNotFound(stat.error(), "looking for", fname);
  });
}

IOStatus ZenFileSystem::GetChildren(const std::string& dir, const IOOptions&,
                                    std::vector<std::string>* result, IODebugContext*) {
  return Guarded([&] {
    result->clear();
    auto entries = volume_->List(dir);
    if (!entries) return ToIOStatusOrNotFound(entries.error(), "listing", dir);
    for (DirectoryEntry& entry : *entries) result->push_back(std::move(entry.name));
    return IOStatus::OK();
  });
}

IOStatus ZenFileSystem::GetChildrenFileAttributes(const std::string& dir, const IOOptions&,
                                                  std::vector<rocksdb::FileAttributes>* result,
                                                  IODebugContext*) {
  return Guarded([&] {
    result->clear();
    auto entries = volume_->List(dir);
    if (!entries) return ToIOStatusOrNotFound(entries.error(), "listing", dir);
    for (DirectoryEntry& entry : *entries) {
      rocksdb::FileAttributes attributes;
      attributes.name = std::move(entry.name);
      attributes.size_bytes = entry.stat.size;
      result->push_back(std::move(attributes));
    }
    return IOStatus::OK();
  });
}

IOStatus ZenFileSystem::DeleteFile(const std::string& fname, const IOOptions&, IODebugContext*) {
  return Guarded([&] { return ToWriteStatus(volume_->Unlink(fname), "deleting", fname); });
}

IOStatus ZenFileSystem::Truncate(const std::string& fname, size_t size, const IOOptions&, IODebugContext*) {
  return Guarded([&] { return ToWriteStatus(TruncateFile(*volume_, fname, size), "truncating", fname); });
}

IOStatus ZenFileSystem::CreateDir(const std::string& dirname, const IOOptions&, IODebugContext*) {
  return Guarded([&] {
    return ToWriteStatus(volume_->MakeDirectory(dirname, /*parents=*/false), "creating directory", dirname);
  });
}

IOStatus ZenFileSystem::CreateDirIfMissing(const std::string& dirname, const IOOptions&, IODebugContext*) {
  return Guarded([&] {
    return ToWriteStatus(volume_->MakeDirectory(dirname, /*parents=*/true), "creating directory", dirname);
  });
}

IOStatus ZenFileSystem::DeleteDir(const std::string& dirname, const IOOptions&, IODebugContext*) {
  return Guarded(
      [&] { return ToWriteStatus(volume_->RemoveDirectory(dirname), "deleting directory", dirname); });
}

IOStatus ZenFileSystem::GetFileSize(const std::string& fname, const IOOptions&, uint64_t* file_size,
                                    IODebugContext*) {
  return Guarded([&] {
    *file_size = 0;
    const Result<FileStat> stat = volume_->Stat(fname);
    if (!stat) return ToIOStatus(stat.error(), "asking for the size of", fname);
    *file_size = stat->size;
    return IOStatus::OK();
  });
}

IOStatus ZenFileSystem::GetFileModificationTime(const std::string& fname, const IOOptions&,
                                                uint64_t* file_mtime, IODebugContext*) {
  return Guarded([&] {
    *file_mtime = 0;
    const Result<FileStat> stat = volume_->Stat(fname);
    if (!stat) return ToIOStatus(stat.error(), "asking for the modification time of", fname);
    *file_mtime = stat->mtime_seconds;
    return IOStatus::OK();
  });
}

IOStatus ZenFileSystem::RenameFile(const std::string& src, const std::string& target, const IOOptions&,
                                   IODebugContext*) {
  return Guarded([&] {
    const Status renamed = volume_->Rename(src, target);
    return renamed.ok() ? IOStatus::OK()
                        : ToWriteStatus(renamed.error(), fmt::format("renaming {} to", src), target);
  });
}

IOStatus ZenFileSystem::LinkFile(const std::string& src, const std::string& target, const IOOptions&,
                                 IODebugContext*) {
  return Guarded([&] {
    const Status linked = volume_->Link(src, target);
    return linked.ok() ? IOStatus::OK()
                       : ToWriteStatus(linked.error(), fmt::format("linking {} as", src), target);
  });
}

#if ZENFS_ROCKSDB_HAS_SYNC_FILE
IOStatus ZenFileSystem::SyncFile(const std::string& fname, const FileOptions&, const IOOptions&, bool,
                                 IODebugContext*) {
  return Guarded([&] {
    const auto handle = volume_->OpenForAppend(fname, /*create=*/false);
    if (!handle) return ToIOStatus(handle.error(), "syncing", fname);
    IOStatus synced = ToWriteStatus((*handle)->Sync(), "syncing", fname);
    return synced.ok() ? ToWriteStatus((*handle)->Close(), "syncing", fname) : synced;
  });
}
#endif

IOStatus ZenFileSystem::NumFileLinks(const std::string& fname, const IOOptions&, uint64_t* count,
                                     IODebugContext*) {
  return Guarded([&] {
    *count = 0;
    const Result<FileStat> stat = volume_->Stat(fname);
    if (!stat) return ToIOStatus(stat.error(), "counting links of", fname);
    *count = stat->links;
    return IOStatus::OK();
  });
}

IOStatus ZenFileSystem::AreFilesSame(const std::string& first, const std::string& second, const IOOptions&,
                                     bool* res, IODebugContext*) {
  return Guarded([&] {
    *res = false;
    const Result<FileStat> one = volume_->Stat(first);
    if (!one) return ToIOStatus(one.error(), "comparing", first);
    const Result<FileStat> other = volume_->Stat(second);
    if (!other) return ToIOStatus(other.error(), "comparing", second);
    *res = one->id == other->id;
    return IOStatus::OK();
  });
}

IOStatus ZenFileSystem::IsDirectory(const std::string& path, const IOOptions&, bool* is_dir,
                                    IODebugContext*) {
  return Guarded([&] {
    if (is_dir != nullptr) *is_dir = false;
    const Result<FileStat> stat = volume_->Stat(path);
    if (!stat) return ToIOStatus(stat.error(), "looking at", path);
    if (is_dir != nullptr) *is_dir = stat->is_directory;
    return IOStatus::OK();
  });
}

}  // namespace zenfs
