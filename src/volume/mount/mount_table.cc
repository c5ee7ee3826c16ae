#include "volume/mount/mount_table.h"

#include <fmt/format.h>

#include <cstdlib>
#include <map>
#include <vector>

#include "base/fork_guard.h"
#include "base/mutex.h"
#include "base/sync_point.h"
#include "base/thread.h"

namespace zenfs {
namespace {

struct Slot {
  Mutex mutex{LockRank::kMountSlot};  // held during the mount; taken before all locks of the volume
  CondVar unmounted;
  bool mounted GUARDED_BY(mutex) = false;  // until the device has been released
  std::weak_ptr<Volume> volume GUARDED_BY(mutex);
  MountOptions options GUARDED_BY(mutex);
};

// The pointer for users. The last one to go unmounts the volume, and only then may the next mount open the device.
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

  // The mounted volumes, except those that are being mounted or unmounted.
  std::vector<std::shared_ptr<Volume>> Mounted() EXCLUDES(mutex_) {
    std::vector<std::shared_ptr<Slot>> slots;
    {
      MutexLock lock(mutex_);
      for (const auto& [key, slot] : slots_) slots.push_back(slot);
    }
    std::vector<std::shared_ptr<Volume>> mounted;
    for (const auto& slot : slots) {
      if (!slot->mutex.TryLock()) continue;
      if (auto volume = slot->volume.lock()) mounted.push_back(std::move(volume));
      slot->mutex.Unlock();
    }
    return mounted;
  }

 private:
  Mutex mutex_{LockRank::kLeaf};
  std::map<std::string, std::shared_ptr<Slot>> slots_ GUARDED_BY(mutex_);
};

// Never destroyed: a program may mount in its own static destructors.
MountTable& Table() {
  static auto* const table = new MountTable();
  return *table;
}

// Prepares all mounted volumes for exit(), so that a program that ends without an unmount leaves no flushed bytes in shared
// memory. This takes a bounded time in a separate thread, because other threads may hang in the volume. If the time passes,
// or the host refuses the thread, the append buffers stay and the next mount replays them. A thread that has not ended by
// then is not joined, because the process ends.
class LastWords {
 public:
  void Run() EXCLUDES(mutex_) {
    if (fork_guard_.InChild()) return;
    Result<Thread> started = Thread::Start("zenfs-exit", [this] {
      for (const auto& volume : Table().Mounted()) IgnoreError(volume->PrepareForExit());
      MutexLock lock(mutex_);
      done_ = true;
      changed_.NotifyAll();
    });
    if (!started) return;
    speaker_ = *std::move(started);
    const Deadline deadline = Deadline::After(kTimeToSpeak);
    MutexLock lock(mutex_);
    while (!done_ && changed_.WaitUntil(mutex_, deadline)) {
    }
    const bool done = done_;
    lock.Unlock();
    if (done) speaker_.Join();
  }

 private:
  static constexpr std::chrono::seconds kTimeToSpeak{10};

  const ForkGuard fork_guard_;
  Mutex mutex_{LockRank::kLeaf};
  CondVar changed_;
  bool done_ GUARDED_BY(mutex_) = false;
  Thread speaker_;
};

void SpeakAtExit() {
  static auto* const words = new LastWords();
  static const int registered = std::atexit([] { words->Run(); });
  static_cast<void>(registered);
}

}  // namespace

Result<std::shared_ptr<Volume>> MountShared(
    const std::string& key, const MountOptions& options,
    const std::function<Result<std::unique_ptr<ZonedDevice>>()>& open) {
  const std::shared_ptr<Slot> slot = Table().Find(key + (options.read_only ? "?ro" : ""));
  std::shared_ptr<Volume> mounted;  // outlives the lock, which the unmount takes if this is the last pointer
  MutexLock lock(slot->mutex);
  // Without a pointer, a volume is mounted until its device has been released.
  while ((mounted = slot->volume.lock()) == nullptr && slot->mounted) slot->unmounted.Wait(slot->mutex);
  if (mounted != nullptr) {
    SyncPoint::Reach("MountShared:found");
    if (slot->options == options) return mounted;
    return Fail(Code::kInvalidArgument,
                fmt::format("{}: mounted in this process already, with other options", key));
  }
  ZENFS_ASSIGN_OR_RETURN(std::unique_ptr<ZonedDevice> device, open());
  ZENFS_ASSIGN_OR_RETURN(std::shared_ptr<Volume> volume, Volume::Mount(std::move(device), options));
  SpeakAtExit();
  volume = Share(std::move(volume), slot);
  slot->mounted = true;
  slot->volume = volume;
  slot->options = options;
  return volume;
}

}  // namespace zenfs
