// Makes RocksDB's FileSystem for a URI.
#pragma once

#include <memory>
#include <string>

#include "base/status.h"
#include "rocksdb_plugin/rocksdb_version.h"

namespace zenfs {

// Mounts the volume. If it has an aux directory, the file system keeps LOG and LOCK there. Errors:
// those of MountUri; kPermission if neither this host nor the URI allows the aux directory that the
// superblock names; kIo, naming the aux directory, if it can't be used. Threads: any.
[[nodiscard]] Result<std::unique_ptr<rocksdb::FileSystem>> FileSystemOfUri(const std::string& uri);

}  // namespace zenfs
