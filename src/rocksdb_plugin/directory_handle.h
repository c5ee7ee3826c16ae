// A directory that RocksDB holds open to sync it. Threads: any.
#pragma once

#include <memory>
#include <string>

#include "rocksdb_plugin/rocksdb_version.h"
#include "volume/volume.h"

namespace zenfs {

class DirectoryHandle final : public rocksdb::FSDirectory {
 public:
  DirectoryHandle(std::shared_ptr<Volume> volume, std::string path);

  // One commit of the metadata log; none if all changes in the directory are durable already.
  IOStatus Fsync(const IOOptions& options, IODebugContext* dbg) override;
  IOStatus FsyncWithDirOptions(const IOOptions& options, IODebugContext* dbg,
                               const rocksdb::DirFsyncOptions& dir_fsync_options) override;
#if ZENFS_ROCKSDB_HAS_DIRECTORY_CLOSE
  IOStatus Close(const IOOptions& options, IODebugContext* dbg) override;
#endif

 private:
  const std::shared_ptr<Volume> volume_;
  const std::string path_;
};

}  // namespace zenfs
