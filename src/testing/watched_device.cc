#include "testing/watched_device.h"

#include <utility>

#include "testing/immediate_queue.h"

namespace zenfs {

class WatchedDevice::Use {
 public:
  explicit Use(WatchedDevice& device) : device_(device) {
    MutexLock lock(device_.mutex_);
    if (!device_.watching_) return;
    hooks_ = &device_.hooks_;
    ++device_.uses_;
  }
  ~Use() {
    if (hooks_ == &kNone) return;
    MutexLock lock(device_.mutex_);
    if (--device_.uses_ == 0) device_.unused_.NotifyAll();
  }
  Use(const Use&) = delete;
  Use& operator=(const Use&) = delete;
  const Hooks* operator->() const { return hooks_; }

 private:
  static inline const Hooks kNone;
  WatchedDevice& device_;
  const Hooks* hooks_ = &kNone;
};

WatchedDevice::Watch::Watch(WatchedDevice& device, Hooks hooks) : device_(device) {
  MutexLock lock(device_.mutex_);
  device_.hooks_ = std::move(hooks);
  device_.watching_ = true;
}

WatchedDevice::Watch::~Watch() {
  MutexLock lock(device_.mutex_);
  device_.watching_ = false;
  while (device_.uses_ != 0) device_.unused_.Wait(device_.mutex_);
}

Result<std::vector<ZoneInfo>> WatchedDevice::Report(ZoneId first, std::uint32_t count) {
  const Use hooks(*this);
  Result<std::vector<ZoneInfo>> report = inner().Report(first, count);
  if (report && hooks->reported) hooks->reported(*report);
  return report;
}

Status WatchedDevice::Read(DeviceOffset offset, ByteSpan into) {
  const Use hooks(*this);
  if (hooks->before_read) ZENFS_RETURN_IF_ERROR(hooks->before_read(offset, into.size()));
  ZENFS_RETURN_IF_ERROR(inner().Read(offset, into));
  if (hooks->was_read) hooks->was_read(offset, into);
  return {};
}

Status WatchedDevice::Write(DeviceOffset offset, std::span<const ByteView> pieces) {
  const Use hooks(*this);
  std::size_t bytes = 0;
  for (const ByteView piece : pieces) bytes += piece.size();
  if (hooks->before_write) ZENFS_RETURN_IF_ERROR(hooks->before_write(offset, bytes));
  return inner().Write(offset, pieces);
}

Result<DeviceOffset> WatchedDevice::Append(ZoneId zone, ByteView bytes) {
  const Use hooks(*this);
  if (hooks->before_write) {
    ZENFS_RETURN_IF_ERROR(hooks->before_write(geometry().ZoneStart(zone), bytes.size()));
  }
  return inner().Append(zone, bytes);
}

Status WatchedDevice::Reset(ZoneId zone) {
  const Use hooks(*this);
  if (hooks->before_reset) ZENFS_RETURN_IF_ERROR(hooks->before_reset(zone));
  return inner().Reset(zone);
}

std::unique_ptr<IoQueue> WatchedDevice::CreateQueue(std::size_t) {
  return std::make_unique<ImmediateQueue>(*this);
}

}  // namespace zenfs
