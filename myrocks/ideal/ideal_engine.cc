// ha_rocksdb_ideal.so: MariaDB's storage engine on the ideal file system (docs/use/bench.md), for measurements. The profile
// is in the environment variable ZENFS_IDEAL: "ideal://zn540".
#include <cstdlib>

#include "default_files.h"
#include "engine_hooks.h"
#include "ideal/file_system.h"

namespace zenfs::myrocks {

st_maria_plugin WithOtherFiles(const st_maria_plugin& rocksdb) {
  const char* const uri = std::getenv("ZENFS_IDEAL");
  auto files = IdealFileSystemOfUri(uri == nullptr ? "" : uri);
  if (files) {
    // Never given back: the process ends with its engine.
    ExchangeDefaultFiles(*std::move(files));
    return rocksdb;
  }
  sql_print_error("ideal: ZENFS_IDEAL: %s", files.error().ToString().c_str());
  st_maria_plugin refusing = rocksdb;
  refusing.init = [](void*) { return 1; };
  return refusing;
}

}  // namespace zenfs::myrocks
