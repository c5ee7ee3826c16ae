// Real devices, named by the environment as dev:NAME, nvme:NAME or zonefs:MOUNT. What is on them is lost.
//
//   ZENFS_LAB_PLAIN         a device without tight limits
//   ZENFS_LAB_LIMITED       one with 3 open and 4 active zones
//   ZENFS_LAB_CONVENTIONAL  one whose first two zones are conventional
//   ZENFS_LAB_RANDOM        one with random write areas of 8 blocks or more for exactly 2 zones
//
// Each has at least 12 sequential zones of at least 16 blocks. Where one is not named, the tests that wish for it skip.
#include <cstdlib>
#include <stdexcept>

#include "backend_under_test.h"
#include "backends/block/open_block_device.h"
#include "backends/device_uri.h"
#include "backends/open_device.h"
#include "device/checked_device.h"

namespace zenfs {
namespace {

using Opener = std::function<Result<std::unique_ptr<ZonedDevice>>(const DeviceUri&, OpenMode)>;

class LabDevice final : public DeviceFixture {
 public:
  LabDevice(DeviceUri uri, Opener opener) : uri_(std::move(uri)), opener_(std::move(opener)) {}

  Result<std::unique_ptr<ZonedDevice>> Open(OpenMode mode) override { return opener_(uri_, mode); }

  Status EmptyAllZones() {
    ZENFS_ASSIGN_OR_RETURN(const auto device, Open(OpenMode::kExclusive));
    ZENFS_ASSIGN_OR_RETURN(const auto zones, device->Report(ZoneId(0), device->geometry().zone_count));
    for (const ZoneInfo& zone : zones) {
      if (zone.type == ZoneType::kConventional || zone.condition == ZoneCondition::kEmpty) continue;
      ZENFS_RETURN_IF_ERROR(device->Reset(zone.id));
    }
    return {};
  }

 private:
  const DeviceUri uri_;
  const Opener opener_;
};

const char* NamedFor(const DeviceWish& wish) {
  if (wish.random_area) return std::getenv("ZENFS_LAB_RANDOM");
  if (wish.limited) return std::getenv("ZENFS_LAB_LIMITED");
  return std::getenv(wish.conventional != 0 ? "ZENFS_LAB_CONVENTIONAL" : "ZENFS_LAB_PLAIN");
}

std::unique_ptr<DeviceFixture> MakeLabDevice(const DeviceWish& wish, const std::string& kind,
                                             const Opener& opener) {
  const char* name = NamedFor(wish);
  if (name == nullptr) return nullptr;
  const auto parsed = ParseDeviceUri(name);
  if (!parsed) throw std::runtime_error(parsed.error().ToString());
  DeviceUri uri = *parsed;
  if (uri.kind != kind) return nullptr;
  auto device = std::make_unique<LabDevice>(std::move(uri), opener);
  if (const Status emptied = device->EmptyAllZones(); !emptied.ok()) {
    // zonefs of Linux 6.1 without io_uring
    if (emptied.error().code() == Code::kNotSupported) return nullptr;
    throw std::runtime_error(emptied.error().ToString());
  }
  return device;
}

bool IsScsi() { return std::string(std::getenv("ZENFS_LAB_PLAIN")).starts_with("dev:sd"); }

BackendUnderTest Lab(const std::string& name, const std::string& kind, const Opener& opener) {
  return {.name = name,
          .persists = true,
          .make = [kind, opener](const DeviceWish& wish) { return MakeLabDevice(wish, kind, opener); },
          .refuses_unwritten = false,
          .refuses_idle_commands = !IsScsi()};
}

Opener BlockBy(decltype(&OpenControl) control, BlockOptions options = {}) {
  return [control, options](const DeviceUri& uri, OpenMode mode) -> Result<std::unique_ptr<ZonedDevice>> {
    ZENFS_ASSIGN_OR_RETURN(OpenedBlock opened, OpenBlockParts(uri.target, mode, options, control));
    return CheckDevice(std::make_unique<BlockDevice>(std::move(opened.parts)));
  };
}

Opener ByUri(DeviceOptions options) {
  return [options](DeviceUri uri, OpenMode mode) {
    uri.options = options;
    DeviceOptions unclaimed;
    return OpenDevice(uri, mode, &unclaimed);
  };
}

}  // namespace

std::vector<BackendUnderTest> LabBackends() {
  const char* plain = std::getenv("ZENFS_LAB_PLAIN");
  const std::string named = plain == nullptr ? "" : plain;
  if (named.starts_with("dev:")) {
    return {Lab("BlockByLibzbd", "dev", BlockBy(OpenByLibzbd)),
            Lab("BlockByIoctl", "dev", BlockBy(OpenByIoctl)),
            Lab("BlockWithoutRing", "dev", BlockBy(OpenByIoctl, {.io_uring = false})),
            Lab("BlockWithCommands", "dev", ByUri({})),
            Lab("BlockWithCommandsWithoutRing", "dev", ByUri({{"io", "plain"}}))};
  }
  if (named.starts_with("nvme:")) {
    return {Lab("NvmeCommands", "nvme", ByUri({})),
            Lab("NvmeCommandsWithoutRing", "nvme", ByUri({{"io", "plain"}}))};
  }
  if (named.starts_with("zonefs:")) {
    return {Lab("Zonefs", "zonefs", ByUri({})), Lab("ZonefsWithoutRing", "zonefs", ByUri({{"io", "plain"}}))};
  }
  return {};
}

}  // namespace zenfs
