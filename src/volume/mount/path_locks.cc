#include "volume/mount/path_locks.h"

#include <fmt/format.h>

#include <set>
#include <string>

#include "base/mutex.h"
#include "catalog/path.h"

namespace zenfs {

struct PathLocks::Held {
  Mutex mutex{LockRank::kVolumeLeaf};
  std::set<std::string> paths GUARDED_BY(mutex);
};

class PathLocks::HeldPath final : public PathLock {
 public:
  HeldPath(std::shared_ptr<Held> held, std::string path) : held_(std::move(held)), path_(std::move(path)) {}
  ~HeldPath() override {
    MutexLock lock(held_->mutex);
    held_->paths.erase(path_);
  }

 private:
  const std::shared_ptr<Held> held_;
  const std::string path_;
};

PathLocks::PathLocks() : held_(std::make_shared<Held>()) {}

Result<std::unique_ptr<PathLock>> PathLocks::Take(std::string_view path) {
  std::string normal = NormalizePath(path);
  {
    MutexLock lock(held_->mutex);
    if (!held_->paths.insert(normal).second) {
      return Fail(Code::kBusy, fmt::format("{}: lock is held by this process already", path));
    }
  }
  return std::make_unique<HeldPath>(held_, std::move(normal));
}

}  // namespace zenfs
