// Forwards every call to another device. Decorators derive from it and override only the calls that they change.
//
// All decorators forward a call that is added to ZonedDevice later. A decorator that refuses calls must override it too. Only
// host_cache is not forwarded: reads through it would pass by what a decorator does to reads.
//
// Ownership: constructed from a pointer, it owns the other device. Constructed from a reference, the other device must
// outlive it.
// Threads: as the other device.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "device/zoned_device.h"

namespace zenfs {

class ForwardingDevice : public ZonedDevice {
 public:
  explicit ForwardingDevice(std::unique_ptr<ZonedDevice> device)
      : owned_(std::move(device)), inner_(*owned_) {}
  explicit ForwardingDevice(ZonedDevice& device) : inner_(device) {}

  const Geometry& geometry() const override { return inner_.geometry(); }
  const std::string& name() const override { return inner_.name(); }
  OpenMode mode() const override { return inner_.mode(); }
  const std::string& identity() const override { return inner_.identity(); }
  std::optional<DeviceOwner> owner() const override { return inner_.owner(); }
  std::vector<std::string> notices() const override { return inner_.notices(); }
  std::uint64_t emulation_cpu_ns() const override { return inner_.emulation_cpu_ns(); }
  JoinedParts parts() const override { return inner_.parts(); }
  DeviceErrors errors() const override { return inner_.errors(); }
  bool IsGone() const override { return inner_.IsGone(); }
  Result<std::vector<ZoneInfo>> Report(ZoneId first, std::uint32_t count) override {
    return inner_.Report(first, count);
  }
  Status Read(DeviceOffset offset, ByteSpan into) override { return inner_.Read(offset, into); }
  using ZonedDevice::Write;
  Status Write(DeviceOffset offset, std::span<const ByteView> pieces) override {
    return inner_.Write(offset, pieces);
  }
  Result<DeviceOffset> Append(ZoneId zone, ByteView bytes) override { return inner_.Append(zone, bytes); }
  Status Reset(ZoneId zone) override { return inner_.Reset(zone); }
  Status Finish(ZoneId zone) override { return inner_.Finish(zone); }
  Status Open(ZoneId zone) override { return inner_.Open(zone); }
  Status Close(ZoneId zone) override { return inner_.Close(zone); }
  Status OpenRandom(ZoneId zone) override { return inner_.OpenRandom(zone); }
  Status CommitRandom(DeviceOffset to) override { return inner_.CommitRandom(to); }
  Status Copy(DeviceOffset from, DeviceOffset to, std::uint64_t length) override {
    return inner_.Copy(from, to, length);
  }
  Status Flush() override { return inner_.Flush(); }
  // A decorator of one device overrides only Flush.
  Status FlushDeviceOf(ZoneId zone) override {
    return inner_.geometry().log_zones == 0 ? Flush() : inner_.FlushDeviceOf(zone);
  }
  std::unique_ptr<IoQueue> CreateQueue(std::size_t depth) override { return inner_.CreateQueue(depth); }

 protected:
  ZonedDevice& inner() const { return inner_; }

 private:
  const std::unique_ptr<ZonedDevice> owned_;  // null if constructed from a reference
  ZonedDevice& inner_;
};

}  // namespace zenfs
