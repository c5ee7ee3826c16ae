#include "rocksdb_plugin/rocksdb_version.h"

#include <fmt/format.h>

namespace zenfs {

std::string CompiledRocksVersion() {
  return fmt::format("{}.{}.{}", ROCKSDB_MAJOR, ROCKSDB_MINOR, ROCKSDB_PATCH);
}

std::optional<std::string> VersionMismatch(std::string_view running) {
  const std::string compiled = CompiledRocksVersion();
  if (running == compiled) return std::nullopt;
  return fmt::format(
      "zenfs: built for RocksDB {}, but this process runs RocksDB {}; use the libzenfs.so built for {}",
      compiled, running, running);
}

}  // namespace zenfs
