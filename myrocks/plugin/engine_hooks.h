// What stands around the engine's own start and end: the volume is mounted before the one and unmounted after the other.
#pragma once

#include "plugin_interface.h"

namespace zenfs::myrocks {

// The value of the system variable rocksdb_fs_uri: the server sets it before it starts the engine. Null or empty: the
// engine keeps its files in the host's file system.
extern char* fs_uri;

// Returns `rocksdb`, the engine's declaration, with these hooks, the variable rocksdb_fs_uri and the status variables
// Zenfs_*. Call it once.
[[nodiscard]] st_maria_plugin WithVolume(const st_maria_plugin& rocksdb);

}  // namespace zenfs::myrocks
