// A device of which single bits have gone bad: it reads them the other way round.
//
// Threads: flips before and between commands, by whoever issues these.
#pragma once

#include <map>
#include <memory>

#include "device/forwarding_device.h"

namespace zenfs {

class BitRot final : public ForwardingDevice {
 public:
  // `device` outlives this.
  explicit BitRot(ZonedDevice& device) : ForwardingDevice(device) {}

  // From now on the byte at `place` is read with these bits turned round.
  void Flip(DeviceOffset place, std::uint8_t bits = 1) { bits_[place.value] = bits; }
  void Heal() { bits_.clear(); }

  Status Read(DeviceOffset offset, ByteSpan into) override;
  std::unique_ptr<IoQueue> CreateQueue(std::size_t depth) override;

 private:
  std::map<std::uint64_t, std::uint8_t> bits_;
};

}  // namespace zenfs
