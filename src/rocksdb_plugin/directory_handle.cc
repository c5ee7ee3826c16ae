#include "rocksdb_plugin/directory_handle.h"

#include <utility>

#include "rocksdb_plugin/status_conversion.h"

namespace zenfs {

DirectoryHandle::DirectoryHandle(std::shared_ptr<Volume> volume, std::string path)
    : volume_(std::move(volume)), path_(std::move(path)) {}

IOStatus DirectoryHandle::Fsync(const IOOptions&, IODebugContext*) {
  return Guarded([&] { return ToWriteStatus(volume_->SyncDirectory(path_), "syncing directory", path_); });
}

IOStatus DirectoryHandle::FsyncWithDirOptions(const IOOptions& options, IODebugContext* dbg,
                                              const rocksdb::DirFsyncOptions& dir_fsync_options) {
  // Renames and deletions are durable on return (volume/volume.h), and a renamed directory may no
  // longer exist under the name it was opened by.
  if (dir_fsync_options.reason == rocksdb::DirFsyncOptions::kDirRenamed) return IOStatus::OK();
  return Fsync(options, dbg);
}

#if ZENFS_ROCKSDB_HAS_DIRECTORY_CLOSE
IOStatus DirectoryHandle::Close(const IOOptions&, IODebugContext*) { return IOStatus::OK(); }
#endif

}  // namespace zenfs
