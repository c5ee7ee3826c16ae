// A device for one pass over many zones, which asks only once where a hole ends that reaches over several of them. Behind allocated
// space without data, a host takes long to find the next data, and an emulated device may have a million zones in front of it.
//
// Make it after the report of the zones: bytes below a reported write pointer were written before.
//
// Threads: KnownZeros one at a time; else as the device.
#pragma once

#include <algorithm>

#include "device/forwarding_device.h"

namespace zenfs {

class RememberedHoles final : public ForwardingDevice {
 public:
  // `device` outlives it.
  explicit RememberedHoles(ZonedDevice& device) : ForwardingDevice(device) {}

  std::uint64_t KnownZeros(DeviceOffset from, std::uint64_t length) override {
    if (from < begin_ || from >= end_) {
      begin_ = from;
      end_ = from + inner().KnownZeros(from, geometry().size_bytes() - from.value);
    }
    return std::min(length, end_ - from);
  }

 private:
  DeviceOffset begin_;
  DeviceOffset end_;
};

}  // namespace zenfs
