// What stands around the engine's own start and end: the volume is mounted before the one and unmounted after the other.
#pragma once

#include "plugin_interface.h"

namespace zenfs::myrocks {

// Returns `rocksdb`, the engine's declaration, so that its files are elsewhere. In ha_rocksdb_fs.so: with these hooks, the
// variables rocksdb_fs_* and the status variables Zenfs_*. Call it once, before the server has seen the declaration.
[[nodiscard]] st_maria_plugin WithOtherFiles(const st_maria_plugin& rocksdb);

}  // namespace zenfs::myrocks
