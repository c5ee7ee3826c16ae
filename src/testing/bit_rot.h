// A device with flipped bits: reads return them inverted.
//
// Threads: call Flip before and between commands, from the thread that issues them.
#pragma once

#include <map>
#include <memory>

#include "device/forwarding_device.h"

namespace zenfs {

class BitRot final : public ForwardingDevice {
 public:
  // `device` must outlive this.
  explicit BitRot(ZonedDevice& device) : ForwardingDevice(device) {}

  // From now on, reads return the byte at `place` with these bits inverted.
  void Flip(DeviceOffset place, std::uint8_t bits = 1) { bits_[place.value] = bits; }
  void Heal() { bits_.clear(); }

  Status Read(DeviceOffset offset, ByteSpan into) override;
  std::unique_ptr<IoQueue> CreateQueue(std::size_t depth) override;

 private:
  std::map<std::uint64_t, std::uint8_t> bits_;
};

}  // namespace zenfs
