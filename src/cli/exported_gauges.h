// The exporter's gauges beside the counters of a writing program: read from the device and a
// read-only mount at each scrape. Their names are without the prefix.
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

// The result of one scrape of a volume.
struct VolumeReading {
  std::string device;
  bool readable = false;  // it could be mounted read-only
  bool up = false;        // a program has it mounted for writing, and its counters could be read
  // Why the volume could not be read, with what to do; nothing if no program has it mounted for
  // writing.
  std::optional<Error> trouble;
  std::string uuid;
  std::string label;
  std::array<std::uint64_t, kZoneGaugeCount> zones{};  // if readable
  MetricsSnapshot metrics;                             // if up
};

// Takes no lock and changes nothing. Leaves out what can't be read; `trouble` has the reason.
// Threads: any.
[[nodiscard]] VolumeReading ReadVolume(const DeviceUri& uri);

}  // namespace zenfs
