#include "device/paced_view.h"

#include "base/clock.h"

namespace zenfs {
namespace {

class PacedView final : public ZonedDevice {
 public:
  PacedView(ZonedDevice& device, std::uint64_t bytes_per_second) : device_(device), rate_(bytes_per_second) {}

  const Geometry& geometry() const override { return device_.geometry(); }
  const std::string& name() const override { return device_.name(); }
  const std::string& identity() const override { return device_.identity(); }
  std::optional<std::uint32_t> owner() const override { return device_.owner(); }
  std::vector<std::string> notices() const override { return device_.notices(); }
  std::uint64_t emulation_cpu_ns() const override { return device_.emulation_cpu_ns(); }
  OpenMode mode() const override { return device_.mode(); }
  Result<std::vector<ZoneInfo>> Report(ZoneId first, std::uint32_t count) override {
    return device_.Report(first, count);
  }
  Status Read(DeviceOffset offset, ByteSpan into) override {
    if (rate_ == 0) return device_.Read(offset, into);
    const SteadyTime begin = SteadyNow();
    Status read = device_.Read(offset, into);
    const double seconds = static_cast<double>(into.size()) / static_cast<double>(rate_);
    SleepUntil(begin +
               std::chrono::duration_cast<SteadyTime::duration>(std::chrono::duration<double>(seconds)));
    return read;
  }
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
  const std::uint64_t rate_;
};

}  // namespace

std::unique_ptr<ZonedDevice> MakePacedView(ZonedDevice& device, std::uint64_t bytes_per_second) {
  return std::make_unique<PacedView>(device, bytes_per_second);
}

}  // namespace zenfs
