#include "default_files.h"

#include <utility>

namespace zenfs::myrocks {

namespace {

// RocksDB 6.29 has no function for this, and the engine's options point to that Env as soon as the engine is loaded. A
// derived class may name the protected member.
struct FilesOfEnv : rocksdb::Env {
  static auto Member() { return &FilesOfEnv::file_system_; }
};

}  // namespace

std::shared_ptr<rocksdb::FileSystem> ExchangeDefaultFiles(std::shared_ptr<rocksdb::FileSystem> files) {
  return std::exchange(rocksdb::Env::Default()->*FilesOfEnv::Member(), std::move(files));
}

}  // namespace zenfs::myrocks
