// The Env objects for option strings ("env=zenfs://...") and Env::CreateFromString.
//
// RocksDB never returns such an Env, and a DB may use it until the process ends. Therefore one is
// made per URI; it keeps its volume mounted and lives as long as the process. Its threads, clock
// and other services are those of Env::Default(); its files are those of the volume.
#pragma once

#include <string>

#include "base/status.h"
#include "rocksdb_plugin/rocksdb_version.h"

namespace zenfs {

// Returns the Env of `uri`, made by the first call that succeeds. Never null. Errors: those of
// MountUri. Threads: any; a child of fork() starts without any Env.
[[nodiscard]] Result<rocksdb::Env*> EnvironmentOf(const std::string& uri);

}  // namespace zenfs
