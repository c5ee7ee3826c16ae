#include "rocksdb_plugin/environments.h"

#include <unistd.h>

#include <atomic>
#include <map>
#include <memory>

#include "base/mutex.h"
#include "rocksdb_plugin/file_system_of_uri.h"

namespace zenfs {

namespace {

struct Environments {
  const pid_t owner = getpid();
  // Held during a mount, so that two callers with one URI get the same Env. Taken before every lock
  // of the volume.
  Mutex mutex;
  std::map<std::string, std::unique_ptr<rocksdb::Env>> by_uri GUARDED_BY(mutex);
};

// The object of this process, never destroyed. A child of fork() gets its own: a thread that does
// not exist in the child may have held the inherited mutex.
Environments& OfThisProcess() {
  static std::atomic<Environments*> current{nullptr};
  Environments* found = current.load(std::memory_order_acquire);
  while (found == nullptr || found->owner != getpid()) {
    auto fresh = std::make_unique<Environments>();
    if (current.compare_exchange_strong(found, fresh.get(), std::memory_order_acq_rel))
      return *fresh.release();
  }
  return *found;
}

}  // namespace

Result<rocksdb::Env*> EnvironmentOf(const std::string& uri) {
  Environments& environments = OfThisProcess();
  MutexLock lock(environments.mutex);
  if (auto known = environments.by_uri.find(uri); known != environments.by_uri.end())
    return known->second.get();
  ZENFS_ASSIGN_OR_RETURN(std::unique_ptr<rocksdb::FileSystem> file_system, FileSystemOfUri(uri));
  auto env = rocksdb::NewCompositeEnv(std::move(file_system));
  return environments.by_uri.emplace(uri, std::move(env)).first->second.get();
}

}  // namespace zenfs
