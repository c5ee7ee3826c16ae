// A backend as the conformance suite sees it. A new one joins by a line in backends_under_test.cc.
#pragma once

#include <functional>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "device/zoned_device.h"

namespace zenfs {

// One device, made for one test, with at least 8 sequential zones of at least 16 blocks, all empty; a limit
// of 3 open and 4 active zones if `limited`. Gone with the object.
class DeviceFixture {
 public:
  virtual ~DeviceFixture() = default;
  // Opens the device; again after the last one was destroyed, if the backend persists.
  [[nodiscard]] virtual Result<std::unique_ptr<ZonedDevice>> Open(OpenMode mode) = 0;
};

struct DeviceWish {
  bool limited = false;
  std::uint32_t conventional = 0;
  bool random_area =
      false;  // random write areas of 8 blocks for 2 zones, with commits of 2; not every backend has them
  bool copies = false;  // of at most 8 blocks, or what a drive offers; not every backend has them
};

struct BackendUnderTest {
  std::string name;
  bool persists = true;  // survives its object; can be opened read-only, and has a lock
  // nullptr if this machine can't make one: the tests then skip and say so.
  std::function<std::unique_ptr<DeviceFixture>(const DeviceWish&)> make;
  // Whether a read beyond the write pointer fails; drives may also return bytes (device-assumptions 7).
  bool refuses_unwritten = true;
  // Whether opening and closing a full zone is an error, as in NVMe ZNS; in ZBC both succeed and change nothing.
  bool refuses_idle_commands = true;
};

// For the names that GoogleTest prints.
inline void PrintTo(const BackendUnderTest& backend, std::ostream* out) { *out << backend.name; }

[[nodiscard]] std::vector<BackendUnderTest> BackendsUnderTest();
// The devices that the environment names (lab_devices.cc); none outside the lab of real kernels.
[[nodiscard]] std::vector<BackendUnderTest> LabBackends();

}  // namespace zenfs
