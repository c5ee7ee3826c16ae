#include "device/paced_view.h"

#include "base/clock.h"
#include "device/forwarding_device.h"

namespace zenfs {
namespace {

class PacedView final : public ForwardingDevice {
 public:
  PacedView(ZonedDevice& device, std::uint64_t bytes_per_second)
      : ForwardingDevice(device), rate_(bytes_per_second) {}

  std::uint64_t KnownZeros(DeviceOffset from, std::uint64_t length) override {
    return inner().KnownZeros(from, length);
  }
  Status Read(DeviceOffset offset, ByteSpan into) override {
    if (rate_ == 0) return inner().Read(offset, into);
    const SteadyTime begin = SteadyNow();
    Status read = inner().Read(offset, into);
    const double seconds = static_cast<double>(into.size()) / static_cast<double>(rate_);
    SleepUntil(begin +
               std::chrono::duration_cast<SteadyTime::duration>(std::chrono::duration<double>(seconds)));
    return read;
  }

 private:
  const std::uint64_t rate_;
};

}  // namespace

std::unique_ptr<ZonedDevice> MakePacedView(ZonedDevice& device, std::uint64_t bytes_per_second) {
  return std::make_unique<PacedView>(device, bytes_per_second);
}

}  // namespace zenfs
