// The Env objects that option strings ("env=zenfs://...") and Env::CreateFromString ask for.
//
// RocksDB never gives such an Env back, and a DB may use it until the process ends: each is made once for its
// URI and lives, with its volume mounted, as long as the process. Its threads, clock and the like are those
// of Env::Default(); its files are the volume's.
#pragma once

#include <string>

#include "base/status.h"
#include "rocksdb_plugin/rocksdb_version.h"

namespace zenfs {

// The Env of `uri`, made at the first call that succeeds. Never null. Errors: those of MountUri.
// Threads: any; a child of fork() starts without any.
[[nodiscard]] Result<rocksdb::Env*> EnvironmentOf(const std::string& uri);

}  // namespace zenfs
