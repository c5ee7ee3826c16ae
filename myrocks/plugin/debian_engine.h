// MariaDB's own storage engine, ha_rocksdb.so, which this library names as needed: the loader has mapped it before this
// library's first instruction runs.
#pragma once

#include <span>
#include <string_view>

#include "base/status.h"
#include "plugin_interface.h"

namespace zenfs::myrocks {

struct DebianEngine {
  int interface_version = 0;  // of MariaDB's plugin interface that the engine was compiled for
  std::span<const st_maria_plugin>
      plugins;  // what it declares, ROCKSDB among them; valid until the process ends
};

// Finds the engine in this process. Calls none of its functions except GetRocksVersionAsString.
// Errors: kNotSupported, with both versions, if its RocksDB or its plugin interface is not the one of the headers that this
// library was compiled with. Threads: any.
[[nodiscard]] Result<DebianEngine> FindDebianEngine();

// Returns where a plugin keeps the string variable `name`, null if it has none. Valid until the process ends. Call it before
// the server has seen the plugin: the server puts the plugin's name before the names of variables.
[[nodiscard]] char** FindStringVariable(const st_maria_plugin& plugin, std::string_view name);

}  // namespace zenfs::myrocks
