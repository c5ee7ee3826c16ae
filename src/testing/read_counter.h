// A decorator that counts the bytes of reads, also of those that fail.
//
// Threads: one at a time.
#pragma once

#include <cstdint>

#include "device/forwarding_device.h"

namespace zenfs {

class ReadCounter : public ForwardingDevice {
 public:
  using ForwardingDevice::ForwardingDevice;
  std::uint64_t bytes_read = 0;

  Status Read(DeviceOffset offset, ByteSpan into) override {
    bytes_read += into.size();
    return inner().Read(offset, into);
  }
};

}  // namespace zenfs
