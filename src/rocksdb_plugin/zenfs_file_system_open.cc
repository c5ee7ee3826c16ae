#include <type_traits>

#include "rocksdb_plugin/directory_handle.h"
#include "rocksdb_plugin/logger.h"
#include "rocksdb_plugin/open_metadata.h"
#include "rocksdb_plugin/random_access_file.h"
#include "rocksdb_plugin/sequential_file.h"
#include "rocksdb_plugin/status_conversion.h"
#include "rocksdb_plugin/writable_file.h"
#include "rocksdb_plugin/zenfs_file_system.h"

namespace zenfs {

template <typename File, typename Base>
IOStatus ZenFileSystem::Wrap(Result<std::unique_ptr<FileHandle>> handle, const std::string& path,
                             std::string_view doing, const FileOptions& options,
                             std::unique_ptr<Base>* result) {
  if (!handle && std::is_same_v<File, WritableFile>) return ToWriteStatus(handle.error(), doing, path);
  if (!handle) return ToIOStatus(handle.error(), doing, path);
  *result = std::make_unique<File>(MountedFile{volume_, std::move(*handle), path}, options);
  return IOStatus::OK();
}

IOStatus ZenFileSystem::NewSequentialFile(const std::string& fname, const FileOptions& file_opts,
                                          std::unique_ptr<rocksdb::FSSequentialFile>* result,
                                          IODebugContext*) {
  result->reset();
  return Guarded([&] {
    return Wrap<SequentialFile>(volume_->OpenForRead(fname), fname, "opening for sequential reads", file_opts,
                                result);
  });
}

IOStatus ZenFileSystem::NewRandomAccessFile(const std::string& fname, const FileOptions& file_opts,
                                            std::unique_ptr<rocksdb::FSRandomAccessFile>* result,
                                            IODebugContext*) {
  result->reset();
  return Guarded([&] {
    const FileId known = FileOfOpenMetadata(*volume_, MetadataAtOpen(file_opts));
    return Wrap<RandomAccessFile>(volume_->OpenForRead(fname, known), fname, "opening for random reads",
                                  file_opts, result);
  });
}

IOStatus ZenFileSystem::NewWritableFile(const std::string& fname, const FileOptions& file_opts,
                                        std::unique_ptr<rocksdb::FSWritableFile>* result, IODebugContext*) {
  result->reset();
  return Guarded([&] {
    return Wrap<WritableFile>(volume_->Create(fname, LifetimeAtOpen(file_opts)), fname, "creating", file_opts,
                              result);
  });
}

IOStatus ZenFileSystem::ReopenWritableFile(const std::string& fname, const FileOptions& file_opts,
                                           std::unique_ptr<rocksdb::FSWritableFile>* result,
                                           IODebugContext*) {
  result->reset();
  return Guarded([&] {
    return Wrap<WritableFile>(volume_->OpenForAppend(fname, /*create=*/true), fname, "opening for appending",
                              file_opts, result);
  });
}

IOStatus ZenFileSystem::ReuseWritableFile(const std::string& fname, const std::string& old_fname,
                                          const FileOptions& file_opts,
                                          std::unique_ptr<rocksdb::FSWritableFile>* result,
                                          IODebugContext* dbg) {
  result->reset();
  IOStatus deleted = DeleteFile(old_fname, file_opts.io_options, dbg);
  return deleted.ok() ? NewWritableFile(fname, file_opts, result, dbg) : deleted;
}

IOStatus ZenFileSystem::NewRandomRWFile(const std::string& fname, const FileOptions&,
                                        std::unique_ptr<rocksdb::FSRandomRWFile>* result, IODebugContext*) {
  result->reset();
  return Guarded([&] {
    return IOStatus::NotSupported(WhileDoing("opening for random writes", fname),
                                  "zones can only be written sequentially");
  });
}

IOStatus ZenFileSystem::NewMemoryMappedFileBuffer(const std::string& fname,
                                                  std::unique_ptr<rocksdb::MemoryMappedFileBuffer>* result) {
  result->reset();
  return Guarded([&] {
    return IOStatus::NotSupported(WhileDoing("mapping", fname), "files in zones can't be mapped into memory");
  });
}

IOStatus ZenFileSystem::NewDirectory(const std::string& name, const IOOptions&,
                                     std::unique_ptr<rocksdb::FSDirectory>* result, IODebugContext*) {
  result->reset();
  return Guarded([&] {
    const Result<FileStat> stat = volume_->Stat(name);
    if (!stat) return ToIOStatus(stat.error(), "opening directory", name);
    if (!stat->is_directory) {
      return IOStatus::IOError(WhileDoing("opening directory", name), "it is a file");
    }
    *result = std::make_unique<DirectoryHandle>(volume_, name);
    return IOStatus::OK();
  });
}

IOStatus ZenFileSystem::NewLogger(const std::string& fname, const IOOptions&,
                                  std::shared_ptr<rocksdb::Logger>* result, IODebugContext*) {
  result->reset();
  return Guarded([&] {
    auto handle = volume_->Create(fname, Lifetime::kNotSet);
    if (!handle) return ToIOStatus(handle.error(), "creating", fname);
    *result = std::make_shared<VolumeLogger>(MountedFile{volume_, std::move(*handle), fname});
    LogNotices(volume_->notices(), **result);
    return IOStatus::OK();
  });
}

}  // namespace zenfs
