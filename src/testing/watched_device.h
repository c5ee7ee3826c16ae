// A decorator that shows commands of a device to a test and lets it change the results: other
// reports, other bytes, refused commands.
//
// Threads: any. Hooks are called on the thread of the command, several at once. Commands of a queue
// pass them too and are executed by Submit.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/mutex.h"
#include "device/forwarding_device.h"

namespace zenfs {

class WatchedDevice final : public ForwardingDevice {
 public:
  // Unset hooks do nothing. If a hook before a command returns an error, the command is not
  // executed and returns that error.
  struct Hooks {
    std::function<void(std::vector<ZoneInfo>&)> reported;          // after the command; may change the report
    std::function<Status(DeviceOffset, std::size_t)> before_read;  // offset and length
    std::function<void(DeviceOffset, ByteSpan)> was_read;  // after a successful read; may change the bytes
    std::function<Status(DeviceOffset, std::size_t)> before_write;  // also for appends, with the zone's start
    std::function<Status(ZoneId)> before_reset;
  };

  explicit WatchedDevice(std::unique_ptr<ZonedDevice> device) : ForwardingDevice(std::move(device)) {}

  // While it lives, commands pass its hooks; after its destruction no hook is running any more. One
  // at a time; the device must outlive it.
  class Watch {
   public:
    Watch(WatchedDevice& device, Hooks hooks);
    ~Watch();
    Watch(const Watch&) = delete;
    Watch& operator=(const Watch&) = delete;

   private:
    WatchedDevice& device_;
  };

  Result<std::vector<ZoneInfo>> Report(ZoneId first, std::uint32_t count) override;
  Status Read(DeviceOffset offset, ByteSpan into) override;
  using ZonedDevice::Write;
  Status Write(DeviceOffset offset, std::span<const ByteView> pieces) override;
  Result<DeviceOffset> Append(ZoneId zone, ByteView bytes) override;
  Status Reset(ZoneId zone) override;
  std::unique_ptr<IoQueue> CreateQueue(std::size_t depth) override;

 private:
  class Use;  // the hooks, for one command

  Mutex mutex_;  // leaf
  CondVar unused_;
  Hooks hooks_ GUARDED_BY(mutex_);  // unchanged while they are in use
  bool watching_ GUARDED_BY(mutex_) = false;
  int uses_ GUARDED_BY(mutex_) = 0;
};

}  // namespace zenfs
