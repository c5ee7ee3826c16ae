// A zoned device in memory for fuzz targets: without lock contention, time and threads. An input
// sets the zones, and blocks can be unreadable. Uses the rules of the emulator's ZoneMachine.
//
// Threads: any; one mutex for everything.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "backends/emulator/zone_machine.h"
#include "base/mutex.h"
#include "device/zoned_device.h"

namespace zenfs {

// The last zones of a device are a second one (testing/split_device.h), with `active` of the open and active zones.
struct ImageLogDevice {
  std::uint32_t zones = 0;  // 0: there is none
  std::uint32_t active = 0;
};

class ImageDevice final : public ZonedDevice {
 public:
  // Without an `identity`, mounts have no append buffers.
  explicit ImageDevice(const EmulatorGeometry& geometry, OpenMode mode = OpenMode::kExclusive,
                       std::string identity = "", ImageLogDevice log_device = {});

  // The contents and states of all zones.
  struct Image {
    struct Zone {
      MachineZone state;
      std::vector<std::byte> bytes;       // from the start of the zone
      std::vector<std::uint64_t> broken;  // unreadable blocks
    };
    std::vector<Zone> zones;
  };
  // Replaces impossible states by the nearest possible ones.
  void Load(const Image& image) EXCLUDES(mutex_);
  Image Save() const EXCLUDES(mutex_);
  // The number of writes, resets and finishes since the last Load.
  std::uint64_t changes() const EXCLUDES(mutex_);

  const EmulatorGeometry& shape() const { return shape_; }
  const Geometry& geometry() const override { return geometry_; }
  const std::string& name() const override { return name_; }
  OpenMode mode() const override { return mode_; }
  const std::string& identity() const override { return identity_; }

  Result<std::vector<ZoneInfo>> Report(ZoneId first, std::uint32_t count) override EXCLUDES(mutex_);
  Status Read(DeviceOffset offset, ByteSpan into) override EXCLUDES(mutex_);
  using ZonedDevice::Write;
  Status Write(DeviceOffset offset, std::span<const ByteView> pieces) override EXCLUDES(mutex_);
  Result<DeviceOffset> Append(ZoneId zone, ByteView bytes) override EXCLUDES(mutex_);
  Status Reset(ZoneId zone) override EXCLUDES(mutex_);
  Status Finish(ZoneId zone) override EXCLUDES(mutex_);
  Status Open(ZoneId zone) override EXCLUDES(mutex_);
  Status Close(ZoneId zone) override EXCLUDES(mutex_);
  Status Flush() override { return {}; }
  std::unique_ptr<IoQueue> CreateQueue(std::size_t depth) override;

 private:
  struct Place {
    ZoneId zone;
    std::uint64_t block = 0;
    std::uint64_t count = 0;
  };
  [[nodiscard]] Result<Place> Locate(DeviceOffset offset, std::uint64_t bytes) const;
  void LoadZone(ZoneId id, const Image::Zone& zone) REQUIRES(mutex_);
  void Store(const Place& place, std::span<const ByteView> pieces) REQUIRES(mutex_);
  [[nodiscard]] Status CheckWritable() const;

  const EmulatorGeometry shape_;
  const Geometry geometry_;
  const OpenMode mode_;
  const std::string name_ = "image";
  const std::string identity_;
  mutable Mutex mutex_;  // leaf
  ZoneMachine machine_ GUARDED_BY(mutex_);
  std::vector<std::byte> bytes_ GUARDED_BY(mutex_);      // of all zones
  std::vector<std::uint8_t> broken_ GUARDED_BY(mutex_);  // of all blocks
  std::uint64_t changes_ GUARDED_BY(mutex_) = 0;
};

}  // namespace zenfs
