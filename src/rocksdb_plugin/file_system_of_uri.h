// Makes RocksDB's FileSystem for a URI.
#pragma once

#include <memory>
#include <string>

#include "base/status.h"
#include "rocksdb_plugin/rocksdb_version.h"

namespace zenfs {

// Mounts the volume, with its aux directory if it has one (volume/aux_volume.h). Errors: those of
// MountUri and WithAuxDirectory. Threads: any.
[[nodiscard]] Result<std::unique_ptr<rocksdb::FileSystem>> FileSystemOfUri(const std::string& uri);

}  // namespace zenfs
