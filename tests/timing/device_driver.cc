#include "device_driver.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "backends/emulator/emulated_file.h"
#include "base/unique_fd.h"
#include "queue_load.h"
#include "zone_load.h"

namespace zenfs {
namespace {

using Kind = TimedCommand::Kind;

void Must(const Status& status) {
  if (status.ok()) return;
  fmt::print(stderr, "zenfs_device_timing: {}\n", status.error().ToString());
  std::exit(2);
}

// What the load's zones hold when it begins; the data are holes.
MachineZone ZoneFor(std::uint64_t bytes) {
  constexpr std::uint64_t kBlock = 4096;
  if (bytes == 0) return {ZoneCondition::kEmpty, 0};
  if (bytes == kZoneCapacity) return {ZoneCondition::kFull, kZoneCapacity / kBlock};
  return {ZoneCondition::kClosed, bytes / kBlock};
}

}  // namespace

DeviceDriver::DeviceDriver(std::string directory)
    : path_(fmt::format("{}/zenfs-timing-{}.img", directory, ::getpid())) {}

DeviceDriver::~DeviceDriver() { ::unlink(path_.c_str()); }

std::unique_ptr<EmulatorDevice> DeviceDriver::Make(const Experiment& experiment) const {
  ::unlink(path_.c_str());
  Must(CreateEmulatedFile(path_, kZn540Geometry, false, experiment.profile));
  const UniqueFd file(::open(path_.c_str(), O_RDWR | O_CLOEXEC));
  const auto fill = [&](ZoneId zone, std::uint64_t bytes) {
    const std::uint64_t word = PackZone(ZoneFor(bytes));
    Must(WriteAll(file, kEmulatedHeaderBytes + zone.value * sizeof word, std::as_bytes(std::span(&word, 1)),
                  path_));
  };
  const Load& load = experiment.load;
  if (load.kind == Kind::kRead) {
    for (std::uint32_t i = 0; i < kReadZones; ++i) fill(ZoneId(kFirstReadZone + i), kZoneCapacity);
  }
  const bool manages = load.kind != Kind::kRead && load.kind != Kind::kWrite && load.kind != Kind::kAppend;
  for (std::uint32_t i = 0; manages && i < kManagedZones; ++i) fill(ZoneId(i), load.bytes);
  if (load.resets_per_second > 0) {
    for (std::uint32_t i = 0; i < kResetZones; ++i) fill(ZoneId(kFirstResetZone + i), kZoneCapacity);
  }
  for (std::uint32_t i = 0; load.finishing && i < kFinishZones; ++i) fill(ZoneId(kFirstFinishZone + i), 4096);
  auto device = OpenEmulatedFile(path_, OpenMode::kExclusive);
  Must(device ? Status{} : Fail(device.error()));
  return std::move(*device);
}

LoadOutcome DeviceDriver::Run(const Experiment& experiment, double seconds) {
  const std::unique_ptr<EmulatorDevice> device = Make(experiment);
  const SteadyTime begin = SteadyNow();
  Result<LoadOutcome> outcome;
  switch (experiment.load.kind) {
    case Kind::kRead:
    case Kind::kWrite:
    case Kind::kAppend: outcome = RunQueueLoad(*device, experiment.load, seconds); break;
    case Kind::kReset:
    case Kind::kFinish:
    case Kind::kOpen:
    case Kind::kClose:
    case Kind::kFlush: outcome = ManageZones(*device, experiment.load); break;
  }
  Must(outcome ? Status{} : Fail(outcome.error()));
  cpu_share_ = static_cast<double>(device->meter().cpu_ns) / 1e9 /
               std::chrono::duration<double>(SteadyNow() - begin).count();
  return std::move(*outcome);
}

double DeviceDriver::HostMicroseconds() {
  const Experiment untimed{
      .name = "host", .profile = Timing::kNone, .load = {.kind = Kind::kClose, .bytes = 0}, .expected = {}};
  LoadOutcome all;
  for (int i = 0; i < 5; ++i) {
    const LoadOutcome outcome = Run(untimed, 0);
    all.latencies_us.insert(all.latencies_us.end(), outcome.latencies_us.begin(), outcome.latencies_us.end());
  }
  return Compute(Statistic::kP50, untimed.load, all);
}

}  // namespace zenfs
