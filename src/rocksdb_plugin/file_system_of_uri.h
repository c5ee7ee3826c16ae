// From a URI to RocksDB's FileSystem.
#pragma once

#include <memory>
#include <string>

#include "base/status.h"
#include "rocksdb_plugin/rocksdb_version.h"

namespace zenfs {

// Mounts the volume; if it has an aux directory, the file system is one that keeps LOG and LOCK there.
// Errors: those of MountUri; kIo naming the aux directory when that can't be used. Threads: any.
[[nodiscard]] Result<std::unique_ptr<rocksdb::FileSystem>> FileSystemOfUri(const std::string& uri);

}  // namespace zenfs
