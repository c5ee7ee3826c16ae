// The files of rocksdb::Env::Default(), which is the Env of MariaDB's engine.
#pragma once

#include <memory>

#include "rocksdb_plugin/rocksdb_version.h"

namespace zenfs::myrocks {

// Gives Env::Default() other files and returns those that it had. Threads: call it while no database is open.
std::shared_ptr<rocksdb::FileSystem> ExchangeDefaultFiles(std::shared_ptr<rocksdb::FileSystem> files);

}  // namespace zenfs::myrocks
