// A library that waits, while it is loaded, for a thread that asks for RocksDB's default Env.
#include <rocksdb/env.h>

#include "base/thread.h"

namespace {

[[gnu::constructor]] void AskWhileLoading() {
  zenfs::Thread thread("asks", [] { rocksdb::Env::Default(); });
}

}  // namespace
