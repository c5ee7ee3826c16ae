#include "testing/borrowed_device.h"

namespace zenfs {
namespace {

class BorrowedDevice final : public ZonedDevice {
 public:
  BorrowedDevice(ZonedDevice& device, const Geometry& geometry) : device_(device), geometry_(geometry) {}

  const Geometry& geometry() const override { return geometry_; }
  const std::string& name() const override { return device_.name(); }
  const std::string& identity() const override { return device_.identity(); }
  std::optional<std::uint32_t> owner() const override { return device_.owner(); }
  std::vector<std::string> notices() const override { return device_.notices(); }
  OpenMode mode() const override { return device_.mode(); }
  std::uint64_t emulation_cpu_ns() const override { return device_.emulation_cpu_ns(); }
  DeviceErrors errors() const override { return device_.errors(); }
  Result<std::vector<ZoneInfo>> Report(ZoneId first, std::uint32_t count) override {
    return device_.Report(first, count);
  }
  Status Read(DeviceOffset offset, ByteSpan into) override { return device_.Read(offset, into); }
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
  std::unique_ptr<IoQueue> CreateQueue(std::size_t depth) override { return device_.CreateQueue(depth); }

 private:
  ZonedDevice& device_;
  const Geometry geometry_;
};

}  // namespace

std::unique_ptr<ZonedDevice> Borrow(ZonedDevice& device) {
  return std::make_unique<BorrowedDevice>(device, device.geometry());
}

std::unique_ptr<ZonedDevice> BorrowWithSlots(ZonedDevice& device, std::uint32_t max_open,
                                             std::uint32_t max_active) {
  Geometry geometry = device.geometry();
  geometry.max_open = max_open;
  geometry.max_active = max_active;
  return std::make_unique<BorrowedDevice>(device, geometry);
}

}  // namespace zenfs
