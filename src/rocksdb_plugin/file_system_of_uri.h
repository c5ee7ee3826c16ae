// The volume of a URI as RocksDB's programs see it, and their FileSystem on it.
#pragma once

#include <memory>
#include <string>

#include "base/status.h"
#include "rocksdb_plugin/rocksdb_version.h"
#include "volume/volume.h"

namespace zenfs {

// Mounts the volume, with its aux directory if it has one (volume/aux_directory/aux_volume.h). Errors: those of
// MountUri and WithAuxDirectory. Threads: any.
[[nodiscard]] Result<std::shared_ptr<Volume>> VolumeOfUri(const std::string& uri);
// The files of VolumeOfUri.
[[nodiscard]] Result<std::unique_ptr<rocksdb::FileSystem>> FileSystemOfUri(const std::string& uri);

}  // namespace zenfs
