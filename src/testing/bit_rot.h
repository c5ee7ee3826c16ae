// A device with flipped bits: reads return them inverted.
//
// Threads: all functions, from any thread: a volume's own threads read while a test flips and heals.
#pragma once

#include <map>
#include <memory>

#include "base/mutex.h"
#include "device/forwarding_device.h"

namespace zenfs {

class BitRot final : public ForwardingDevice {
 public:
  // `device` must outlive this.
  explicit BitRot(ZonedDevice& device) : ForwardingDevice(device) {}

  // From now on, reads return the byte at `place` with these bits inverted.
  void Flip(DeviceOffset place, std::uint8_t bits = 1) EXCLUDES(mutex_);
  void Heal() EXCLUDES(mutex_);

  Status Read(DeviceOffset offset, ByteSpan into) override EXCLUDES(mutex_);
  std::unique_ptr<IoQueue> CreateQueue(std::size_t depth) override;

 private:
  Mutex mutex_;
  std::map<std::uint64_t, std::uint8_t> bits_ GUARDED_BY(mutex_);
};

}  // namespace zenfs
