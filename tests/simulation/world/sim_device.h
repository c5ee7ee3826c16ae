// A device in the simulator: a CrashDevice that is also slow, fails, changes its zones and reorders
// commands, all from a seed.
//
// All faults are legal for a device (docs/internals/device-assumptions.md; its numbers are given
// below) and lose no flushed data, so all synced data must survive.
//
// Threads: those of a SimScheduler.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "base/mutex.h"
#include "base/random.h"
#include "device/forwarding_device.h"
#include "device/request_check.h"
#include "testing/crash_device.h"

namespace zenfs {

// Each fault happens once in so many commands of its kind, on average; 0: never.
struct SimFaults {
  std::uint32_t read_error = 0;  // temporary: the next try at the same place succeeds
  std::uint32_t report_error = 0;
  std::uint32_t write_error = 0;     // nothing was executed
  std::uint32_t write_short = 0;     // some of the blocks were written
  std::uint32_t append_twice = 0;    // an append was executed twice; the second place is reported
  std::uint32_t write_unknown = 0;   // it was executed and is reported as failed (5)
  std::uint32_t flush_error = 0;     // nothing was flushed
  std::uint32_t flush_loses = 0;     // nothing was flushed, and some data never will be
  std::uint32_t reset_error = 0;     // before or after its execution
  std::uint32_t finish_error = 0;    // the same
  std::uint32_t zone_full = 0;       // the zone of a write turns full first (4)
  std::uint32_t zone_read_only = 0;  // the zone of a write turns read-only first (4)
  std::uint32_t zone_offline = 0;    // the zone of a write turns offline first, if nothing is in it (4)
  std::uint32_t zones_bad_max = 0;   // limit of zones that turn read-only or offline
  std::uint32_t latency_us_max = 0;  // maximum per command, drawn for each; some reads take much longer (10)

  friend bool operator==(const SimFaults&, const SimFaults&) = default;
};

class SimDevice final : public ForwardingDevice {
 public:
  SimDevice(std::unique_ptr<CrashDevice> device, std::uint64_t seed);

  CrashDevice& crash_device() { return *device_; }
  // Takes effect from now on, but not for commands in flight.
  void SetFaults(const SimFaults& faults) EXCLUDES(mutex_);
  // Zones that are exempt from some faults.
  struct Spared {
    std::set<ZoneId> turning_bad;
    std::set<ZoneId> turning_offline;
    // Of these zones one may die, whatever is in it; one in all rounds.
    std::set<ZoneId> one_may_die;
  };
  void Spare(Spared zones) EXCLUDES(mutex_);
  // Number of commands that failed and of zones that changed.
  std::uint64_t faults_met() const EXCLUDES(mutex_);

  std::uint64_t KnownZeros(DeviceOffset from, std::uint64_t length) override {
    return device_->KnownZeros(from, length);
  }
  Result<std::vector<ZoneInfo>> Report(ZoneId first, std::uint32_t count) override;
  Status Read(DeviceOffset offset, ByteSpan into) override;
  using ZonedDevice::Write;
  Status Write(DeviceOffset offset, std::span<const ByteView> pieces) override;
  Result<DeviceOffset> Append(ZoneId zone, ByteView bytes) override;
  Status Reset(ZoneId zone) override;
  Status Finish(ZoneId zone) override;
  Status Open(ZoneId zone) override;
  Status Close(ZoneId zone) override;
  Status OpenRandom(ZoneId zone) override;
  Status CommitRandom(DeviceOffset to) override;
  // Meets the faults of a write.
  Status Copy(DeviceOffset from, DeviceOffset to, std::uint64_t length) override {
    return CopyByHost(*this, from, to, length);
  }
  Status Flush() override;
  Status FlushDeviceOf(ZoneId zone) override;
  // Executes requests in any order, between Submit and the Reap that delivers them.
  std::unique_ptr<IoQueue> CreateQueue(std::size_t depth) override;

 private:
  friend class SimQueue;
  using Management = Status (CrashDevice::*)(ZoneId);

  std::uint64_t Below(std::uint64_t bound) EXCLUDES(mutex_);
  // Returns true once in `rate`, and counts that.
  bool Meets(std::uint32_t SimFaults::* rate) EXCLUDES(mutex_);
  bool MeetsReadError(DeviceOffset offset) EXCLUDES(mutex_);
  // Takes up to `times` the maximum latency, but not longer than a slow command may.
  void Linger(std::uint64_t times = 1) EXCLUDES(mutex_);
  Error Injected(const char* what, ZoneId zone) const;
  void ChangeZoneOf(ZoneId zone) EXCLUDES(mutex_);
  // Returns true if the zone is read-only or offline.
  bool IsDead(ZoneId zone) const;
  // Returns true if `zone` may turn offline now although data is in it.
  bool MayDie(ZoneId zone) const EXCLUDES(mutex_);
  void TurnBad(ZoneId zone, ZoneCondition condition) EXCLUDES(mutex_);
  Status SendFlush(std::optional<ZoneId> device_of);
  Status WriteSome(DeviceOffset offset, std::span<const ByteView> pieces);
  Status Manage(Management command, ZoneId zone, std::uint32_t SimFaults::* rate, const char* what);
  void Note(std::uint64_t kind, std::uint64_t where, bool ok) const;

  const std::unique_ptr<CrashDevice> device_;
  mutable Mutex mutex_;  // leaf
  Random random_ GUARDED_BY(mutex_);
  SimFaults faults_ GUARDED_BY(mutex_);
  std::uint64_t faults_met_ GUARDED_BY(mutex_) = 0;
  std::set<DeviceOffset> read_errors_ GUARDED_BY(mutex_);
  std::set<ZoneId> bad_zones_ GUARDED_BY(mutex_);
  Spared spared_ GUARDED_BY(mutex_);
};

}  // namespace zenfs
