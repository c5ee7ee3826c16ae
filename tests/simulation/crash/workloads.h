// Deterministic workloads that can be cut off at any command.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "client.h"
#include "testing/crash_device.h"

namespace zenfs {

struct DeviceShape {
  std::string name;
  EmulatorGeometry geometry;
};
// Limits from 2 to none, conventional zones, capacity below size, 512-byte blocks, and zones small
// enough to fill; three of them copy by themselves.
[[nodiscard]] std::vector<DeviceShape> DeviceShapes();
[[nodiscard]] DeviceShape ShapeNamed(const std::string& name);

// A run of a workload on its own device, with mkfs and mounts.
struct WorkloadRun {
  std::unique_ptr<CrashDevice> device;
  std::shared_ptr<Volume> volume;
  std::unique_ptr<Client> client;  // null until the first mount
  // Clients with their own directories. If there are any, they define the expectation instead of
  // `client`.
  std::vector<std::unique_ptr<Client>> beside = {};
  bool formatted = false;
  std::string error;  // of mkfs or a mount

  // Unmounts and mounts again. False if the run is over.
  bool Remount();
  bool over() const { return !error.empty() || (client != nullptr && client->failed()); }
  const std::string& WhyOver() const { return error.empty() && client != nullptr ? client->error() : error; }
};
using Workload = std::function<void(WorkloadRun&)>;

struct NamedWorkload {
  std::string name;
  Workload work;
};
[[nodiscard]] std::vector<NamedWorkload> Workloads();

// Runs mkfs, a first mount and `work`. The power is lost after `stop_after` commands.
[[nodiscard]] WorkloadRun RunWorkload(const EmulatorGeometry& geometry, const Workload& work,
                                      std::uint64_t stop_after);

}  // namespace zenfs
