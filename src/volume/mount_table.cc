#include "volume/mount_table.h"

#include <fmt/format.h>

#include <map>

#include "base/mutex.h"

namespace zenfs {
namespace {

struct Slot {
  Mutex mutex;  // held while the volume is being mounted; before everything in the volume
  CondVar unmounted;
  bool mounted GUARDED_BY(mutex) = false;  // until the device has been given back
  std::weak_ptr<Volume> volume GUARDED_BY(mutex);
  MountOptions options GUARDED_BY(mutex);
};

// The pointer that users share. With the last of them the volume is unmounted, and only then may the next
// mount open the device.
std::shared_ptr<Volume> Share(std::shared_ptr<Volume> volume, const std::shared_ptr<Slot>& slot) {
  Volume* const raw = volume.get();
  return std::shared_ptr<Volume>(raw, [volume = std::move(volume), slot](Volume*) mutable {
    volume.reset();
    MutexLock lock(slot->mutex);
    slot->mounted = false;
    slot->unmounted.NotifyAll();
  });
}

class MountTable {
 public:
  std::shared_ptr<Slot> Find(const std::string& key) EXCLUDES(mutex_) {
    MutexLock lock(mutex_);
    std::shared_ptr<Slot>& slot = slots_[key];
    if (slot == nullptr) slot = std::make_shared<Slot>();
    return slot;
  }

 private:
  Mutex mutex_;  // leaf
  std::map<std::string, std::shared_ptr<Slot>> slots_ GUARDED_BY(mutex_);
};

// Never destroyed: a program may mount in its own static destructors.
MountTable& Table() {
  static auto* const table = new MountTable();
  return *table;
}

}  // namespace

Result<std::shared_ptr<Volume>> MountShared(
    const std::string& key, const MountOptions& options,
    const std::function<Result<std::unique_ptr<ZonedDevice>>()>& open) {
  const std::shared_ptr<Slot> slot = Table().Find(key + (options.read_only ? "?ro" : ""));
  MutexLock lock(slot->mutex);
  while (slot->mounted && slot->volume.expired()) slot->unmounted.Wait(slot->mutex);
  if (std::shared_ptr<Volume> mounted = slot->volume.lock()) {
    if (slot->options == options) return mounted;
    return Fail(Code::kInvalidArgument,
                fmt::format("{}: mounted in this process already, with other options", key));
  }
  ZENFS_ASSIGN_OR_RETURN(std::unique_ptr<ZonedDevice> device, open());
  ZENFS_ASSIGN_OR_RETURN(std::shared_ptr<Volume> volume, Volume::Mount(std::move(device), options));
  volume = Share(std::move(volume), slot);
  slot->mounted = true;
  slot->volume = volume;
  slot->options = options;
  return volume;
}

}  // namespace zenfs
