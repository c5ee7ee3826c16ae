// Reads volumes again and again, for `zenfs exporter` and for full screens: what one reading has, and the thread that makes the readings
// of a volume.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "backends/device_uri.h"
#include "base/clock.h"
#include "base/mutex.h"
#include "base/status.h"
#include "base/thread.h"
#include "cli/scrub_result.h"
#include "device/geometry.h"
#include "metrics/metric.h"
#include "metrics/metrics_snapshot.h"
#include "zone/zone_manager.h"

namespace zenfs {

// The gauges beside the counters of a writing program: read from the device and a read-only mount at each scrape. Their names are
// without the prefix.
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

// The result of one look at a volume.
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
  std::vector<ZoneStatus> zone_list;                   // if readable and asked for
  Geometry geometry;                                   // if readable
  MetricsSnapshot metrics;                             // if up
  SteadyTime metrics_time;                             // when they were read
  std::optional<ScrubResult> scrub;  // if readable, scrubbed, and the exporter reads results
};

struct VolumeDetails {
  std::string scrub_results;  // the directory of results of scrubs; empty: they are not read
  bool zone_list = false;
};

// Takes no lock and changes nothing. Leaves out what can't be read; `trouble` has the reason.
// Threads: any.
[[nodiscard]] VolumeReading ReadVolume(const DeviceUri& uri, const VolumeDetails& details);

// Reads one volume in a thread of its own: a device that hangs, and a volume whose metadata is too
// large for the memory, delay and end no other volume's reading.
//
//    idle --Begin--> reading --the thread is done--> idle
//
// Begin during a reading joins that reading, so many scrapes at a time cost the memory of one.
//
// Threads: any. The lock is a leaf.
class VolumePoll {
 public:
  using Read = std::function<VolumeReading()>;

  // `device` names the volume in readings that `read` did not make. Errors: kBusy if the host refuses the thread.
  [[nodiscard]] static Result<std::unique_ptr<VolumePoll>> Start(std::string device, Read read);
  // Waits for a reading that has begun.
  ~VolumePoll();

  // Begins a reading, unless one is under way. Returns its number, for End.
  [[nodiscard]] std::uint64_t Begin() EXCLUDES(mutex_);
  // Waits for that reading, or a later one. If it has not ended at the deadline or memory ran out, the result has no
  // figures, and the reason as its `trouble`.
  [[nodiscard]] VolumeReading End(std::uint64_t number, Deadline deadline) EXCLUDES(mutex_);

  // True while a reading has not ended.
  [[nodiscard]] bool busy() const EXCLUDES(mutex_);

 private:
  VolumePoll(std::string device, Read read) : device_(std::move(device)), read_(std::move(read)) {}

  void Run() noexcept EXCLUDES(mutex_);
  [[nodiscard]] VolumeReading Unread(Error why) const;

  const std::string device_;
  const Read read_;
  mutable Mutex mutex_;
  CondVar changed_;
  std::uint64_t begun_ GUARDED_BY(mutex_) = 0;
  std::uint64_t ended_ GUARDED_BY(mutex_) = 0;  // begun_ while idle, begun_ - 1 during a reading
  bool stop_ GUARDED_BY(mutex_) = false;
  std::shared_ptr<const VolumeReading> last_ GUARDED_BY(mutex_);  // null: memory ran out
  Thread thread_;
};

}  // namespace zenfs
