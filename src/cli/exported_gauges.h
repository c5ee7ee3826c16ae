// What the exporter tells beside the counters of a program that writes: from the device and a read-only mount, at each
// scrape. Names as everywhere, without the prefix.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "backends/device_uri.h"
#include "base/status.h"
#include "metrics/metric.h"
#include "metrics/metrics_snapshot.h"

namespace zenfs {

enum class ZoneGauge : std::uint8_t {
  kOpenZones,
  kActiveZones,
  kResetableZones,
  kFreeSpace,
  kUsedSpace,
  kReclaimableSpace,
  kReservedSpace,
  kLostSpace,
  kTotalSpace,
};
inline constexpr std::size_t kZoneGaugeCount = 9;
[[nodiscard]] std::span<const ValueInfo, kZoneGaugeCount> ZoneGauges();

// What one scrape finds out about a volume.
struct VolumeReading {
  std::string device;
  bool readable = false;  // it could be mounted read-only
  bool up = false;        // a program has it mounted for writing, and its counters could be read
  // Why what is there could not be read, with what to do; none when no program has it mounted for writing.
  std::optional<Error> trouble;
  std::string uuid;
  std::string label;
  std::array<std::uint64_t, kZoneGaugeCount> zones{};  // if readable
  MetricsSnapshot metrics;                             // if up
};

// Takes no lock and changes nothing. What can't be read is left out, and `trouble` says why. Threads: any.
[[nodiscard]] VolumeReading ReadVolume(const DeviceUri& uri);

}  // namespace zenfs
