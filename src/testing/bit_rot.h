// A device of which single bits have gone bad: it reads them the other way round.
//
// Threads: flips before and between commands, by whoever issues these.
#pragma once

#include <map>
#include <memory>

#include "device/zoned_device.h"

namespace zenfs {

class BitRot final : public ZonedDevice {
 public:
  // `device` outlives this.
  explicit BitRot(ZonedDevice& device) : device_(device) {}

  // From now on the byte at `place` is read with these bits turned round.
  void Flip(DeviceOffset place, std::uint8_t bits = 1) { bits_[place.value] = bits; }
  void Heal() { bits_.clear(); }

  const Geometry& geometry() const override { return device_.geometry(); }
  const std::string& name() const override { return device_.name(); }
  const std::string& identity() const override { return device_.identity(); }
  std::optional<std::uint32_t> owner() const override { return device_.owner(); }
  OpenMode mode() const override { return device_.mode(); }
  Result<std::vector<ZoneInfo>> Report(ZoneId first, std::uint32_t count) override {
    return device_.Report(first, count);
  }
  Status Read(DeviceOffset offset, ByteSpan into) override;
  using ZonedDevice::Write;
  Status Write(DeviceOffset offset, std::span<const ByteView> pieces) override {
    return device_.Write(offset, pieces);
  }
  Result<DeviceOffset> Append(ZoneId zone, ByteView bytes) override { return device_.Append(zone, bytes); }
  Status Reset(ZoneId zone) override { return device_.Reset(zone); }
  Status Finish(ZoneId zone) override { return device_.Finish(zone); }
  Status Open(ZoneId zone) override { return device_.Open(zone); }
  Status Close(ZoneId zone) override { return device_.Close(zone); }
  Status Flush() override { return device_.Flush(); }
  std::unique_ptr<IoQueue> CreateQueue(std::size_t depth) override;

 private:
  ZonedDevice& device_;
  std::map<std::uint64_t, std::uint8_t> bits_;
};

}  // namespace zenfs
