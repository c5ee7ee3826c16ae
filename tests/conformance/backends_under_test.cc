#include <gtest/gtest.h>

#include <filesystem>

#include "backend_under_test.h"
#include "backends/device_uri.h"
#include "backends/emulator/emulator.h"
#include "backends/open_device.h"
#include "backends/zonefs/zone_file_device.h"
#include "device/checked_device.h"
#include "testing/borrowed_device.h"
#include "testing/crash_device.h"
#include "testing/faulty_device.h"
#include "testing/plain_zone_files.h"
#include "testing/temp_directory.h"

namespace zenfs {
namespace {

std::uint64_t LongestCopy(const DeviceWish& wish, std::uint32_t block_size) {
  return wish.copies ? std::uint64_t{8} * block_size : 0;
}

EmulatorGeometry GeometryFor(const DeviceWish& wish, std::uint32_t block_size) {
  return {.zones = 12 + wish.conventional,
          .zone_size = 64 * block_size,
          .zone_capacity = 48 * block_size,
          .max_open = wish.limited ? 3u : 0u,
          .max_active = wish.limited ? 4u : 0u,
          .conventional = wish.conventional,
          .block_size = block_size,
          .random_area = wish.random_area ? 8 * block_size : 0,
          .random_unit = wish.random_area ? 2 * block_size : 0,
          .random_zones = wish.random_area ? 2u : 0u,
          .max_copy_bytes = LongestCopy(wish, block_size)};
}

// Devices that live in memory, as long as the fixture.
class InMemory final : public DeviceFixture {
 public:
  explicit InMemory(std::unique_ptr<ZonedDevice> device) : device_(std::move(device)) {}
  Result<std::unique_ptr<ZonedDevice>> Open(OpenMode) override { return Borrow(*device_); }

 private:
  const std::unique_ptr<ZonedDevice> device_;
};

class EmulatedFile final : public DeviceFixture {
 public:
  EmulatedFile(const DeviceWish& wish, std::uint32_t block_size, bool volatile_cache = false,
               bool reserve = false)
      : longest_copy_(LongestCopy(wish, block_size)) {
    EXPECT_TRUE(CreateEmulatedFile(directory_.File("device.img"), GeometryFor(wish, block_size), false,
                                   Timing::kNone, volatile_cache, {.reserve = reserve})
                    .ok());
  }
  Result<std::unique_ptr<ZonedDevice>> Open(OpenMode mode) override {
    DeviceOptions unclaimed;
    ZENFS_ASSIGN_OR_RETURN(DeviceUri uri, ParseDeviceUri("zenfs://emu:" + directory_.File("device.img")));
    uri.options.emplace_back("copy_kib", std::to_string(longest_copy_ >> 10));
    return OpenDevice(uri, mode, &unclaimed);
  }

 private:
  const std::uint64_t longest_copy_;
  TempDirectory directory_;
};

// The zonefs backend over plain files in place of zonefs, on every host.
class ZonesAsPlainFiles final : public DeviceFixture {
 public:
  explicit ZonesAsPlainFiles(const DeviceWish& wish) : limited_(wish.limited) {
    std::filesystem::create_directory(directory_.File("seq"));
  }
  Result<std::unique_ptr<ZonedDevice>> Open(OpenMode mode) override {
    auto files = std::make_unique<PlainZoneFiles>(directory_.File("seq"),
                                                  PlainZoneFiles::Shape{.max_open = limited_ ? 3u : 0u});
    if (mode == OpenMode::kExclusive) ZENFS_RETURN_IF_ERROR(files->Lock());
    ZoneFileDevice::Parts parts;
    parts.name = "zonefs:" + directory_.path();
    parts.mode = mode;
    parts.files = std::move(files);
    if (limited_) parts.limits = {.open = 3, .active = 4};
    ZENFS_ASSIGN_OR_RETURN(auto device, ZoneFileDevice::Create(std::move(parts)));
    return CheckDevice(std::move(device));
  }

 private:
  const bool limited_;
  TempDirectory directory_;
};

std::unique_ptr<DeviceFixture> PlainFiles(const DeviceWish& wish) {
  return std::make_unique<ZonesAsPlainFiles>(wish);
}
std::unique_ptr<EmulatorDevice> MemoryWith(const DeviceWish& wish, std::uint32_t block_size = 4096,
                                           const EmulatorOptions& options = {}) {
  return CreateMemoryDevice(GeometryFor(wish, block_size), options);
}
std::unique_ptr<DeviceFixture> Memory(const DeviceWish& wish) {
  return std::make_unique<InMemory>(MemoryWith(wish));
}
std::unique_ptr<DeviceFixture> MemoryWithLatency(const DeviceWish& wish) {
  const EmulatorOptions options{
      .read_us = 20, .write_us = 10, .append_us = 10, .management_us = 5, .flush_us = 5};
  return std::make_unique<InMemory>(MemoryWith(wish, 512, options));
}
std::unique_ptr<DeviceFixture> Zn540(const DeviceWish& wish) {
  return std::make_unique<InMemory>(MemoryWith(wish, 4096, {.timing = Timing::kZn540}));
}
std::unique_ptr<DeviceFixture> Bufferless(const DeviceWish& wish) {
  return std::make_unique<InMemory>(MemoryWith(wish, 4096, {.timing = Timing::kBufferless}));
}
std::unique_ptr<DeviceFixture> File(const DeviceWish& wish) {
  return std::make_unique<EmulatedFile>(wish, 4096);
}
std::unique_ptr<DeviceFixture> File512(const DeviceWish& wish) {
  return std::make_unique<EmulatedFile>(wish, 512);
}
std::unique_ptr<DeviceFixture> FileWithCache(const DeviceWish& wish) {
  return std::make_unique<EmulatedFile>(wish, 4096, /*volatile_cache=*/true);
}
std::unique_ptr<DeviceFixture> ReservedFile(const DeviceWish& wish) {
  return std::make_unique<EmulatedFile>(wish, 4096, /*volatile_cache=*/false, /*reserve=*/true);
}
std::unique_ptr<DeviceFixture> Crash(const DeviceWish& wish) {
  return std::make_unique<InMemory>(std::make_unique<CrashDevice>(GeometryFor(wish, 4096)));
}
std::unique_ptr<DeviceFixture> Faulty(const DeviceWish& wish) {
  return std::make_unique<InMemory>(std::make_unique<FaultyDevice>(MemoryWith(wish)));
}

}  // namespace

std::vector<BackendUnderTest> BackendsUnderTest() {
  std::vector<BackendUnderTest> backends = {
      {"EmulatorInMemory", false, &Memory},
      {"EmulatorWithLatency", false, &MemoryWithLatency},
      {"EmulatorWithTimesOfZn540", false, &Zn540},
      {"EmulatorWithTimesOfBufferless", false, &Bufferless},
      {"EmulatedFile", true, &File},
      {"EmulatedFileBlocks512", true, &File512},
      {"EmulatedFileWithVolatileCache", true, &FileWithCache},
      {"EmulatedFileReserved", true, &ReservedFile},
      {"CrashDevice", false, &Crash},
      {"FaultyDeviceWithoutFaults", false, &Faulty},
      {"ZonesAsPlainFiles", true, &PlainFiles},
  };
  for (BackendUnderTest& backend : LabBackends()) backends.push_back(std::move(backend));
  return backends;
}

}  // namespace zenfs
