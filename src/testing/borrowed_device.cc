#include "testing/borrowed_device.h"

#include "device/forwarding_device.h"

namespace zenfs {
namespace {

class BorrowedDevice final : public ForwardingDevice {
 public:
  using ForwardingDevice::ForwardingDevice;
  HostCache* host_cache() override { return inner().host_cache(); }
  std::uint64_t KnownZeros(DeviceOffset from, std::uint64_t length) override {
    return inner().KnownZeros(from, length);
  }
};

class DeviceWithSlots final : public ForwardingDevice {
 public:
  DeviceWithSlots(ZonedDevice& device, const Geometry& geometry)
      : ForwardingDevice(device), geometry_(geometry) {}
  const Geometry& geometry() const override { return geometry_; }

 private:
  const Geometry geometry_;
};

}  // namespace

std::unique_ptr<ZonedDevice> Borrow(ZonedDevice& device) { return std::make_unique<BorrowedDevice>(device); }

std::unique_ptr<ZonedDevice> BorrowWithSlots(ZonedDevice& device, std::uint32_t max_open,
                                             std::uint32_t max_active) {
  Geometry geometry = device.geometry();
  geometry.max_open = max_open;
  geometry.max_active = max_active;
  return std::make_unique<DeviceWithSlots>(device, geometry);
}

}  // namespace zenfs
