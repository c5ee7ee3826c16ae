// The zoned device on top of a ZoneMachine and a Store.
//
// Threads: any. The lock of a zone serializes the commands that change it, so appends of several
// threads run one after the other. The lock of the machine is taken inside it and is a leaf. It is
// held while states are saved and loaded, so that they are saved in the order in which they change,
// but not while data is transferred. Latencies pass outside of both locks. Reads take only the lock
// of the machine. The lock of the clock is another leaf, taken alone. A device without a timing
// profile has no clock and takes no such lock.
//
// A command takes effect at once and is acknowledged when the clock says, so others see its effect
// before it is acknowledged. A queue executes a command when it is submitted and completes it when its latency has
// passed, so latencies of commands in flight overlap. It starts no thread.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "backends/emulator/cpu_meter.h"
#include "backends/emulator/emulator.h"
#include "backends/emulator/store.h"
#include "backends/emulator/timing.h"
#include "backends/emulator/volatile_cache.h"
#include "backends/emulator/zone_machine.h"
#include "base/mutex.h"
#include "device/request_check.h"

namespace zenfs {

class EmulatedDevice final : public EmulatorDevice {
 public:
  // kCorruption if the states in `store` contradict the geometry.
  [[nodiscard]] static Result<std::unique_ptr<EmulatedDevice>> Create(std::string name,
                                                                      const EmulatorGeometry& geometry,
                                                                      OpenMode mode,
                                                                      const EmulatorOptions& options,
                                                                      std::unique_ptr<Store> store);

  const Geometry& geometry() const override { return geometry_; }
  const std::string& name() const override { return name_; }
  const std::string& identity() const override { return identity_; }
  std::optional<DeviceOwner> owner() const override { return store_->Owner(); }
  std::vector<std::string> notices() const override { return notices_; }
  // Before the device is used.
  void AddNotice(std::string notice) { notices_.push_back(std::move(notice)); }
  OpenMode mode() const override { return mode_; }
  HostCache* host_cache() override;

  Result<std::vector<ZoneInfo>> Report(ZoneId first, std::uint32_t count) override;
  bool IsGone() const override { return store_->IsGone(); }
  std::uint64_t KnownZeros(DeviceOffset from, std::uint64_t length) override;
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
  Status Copy(DeviceOffset from, DeviceOffset to, std::uint64_t length) override {
    return CopyByHost(*this, from, to, length);
  }
  Status Flush() override;
  std::unique_ptr<IoQueue> CreateQueue(std::size_t depth) override;

  ~EmulatedDevice() override;

  EmulatorMeter meter() const override;
  Status SetCondition(ZoneId zone, ZoneCondition condition) override;

 private:
  struct ZoneLock : Mutex {
    ZoneLock() : Mutex(LockRank::kDeviceZone) {}
  };
  class Command;  // times and counts one command
  class Queue;    // commands in flight
  class Cache;    // the host's cache of this device
  using Management = std::function<Status(ZoneMachine&, ZoneId)>;

  EmulatedDevice(std::string name, const EmulatorGeometry& geometry, OpenMode mode,
                 const EmulatorOptions& options, std::unique_ptr<Store> store);

  // Each does the work of `command`, without its latency.
  Status DoRead(Command& command, DeviceOffset offset, ByteSpan into) EXCLUDES(mutex_);
  Status DoWrite(Command& command, DeviceOffset offset, std::span<const ByteView> pieces, std::uint64_t bytes)
      EXCLUDES(mutex_);
  Result<DeviceOffset> DoAppend(Command& command, ZoneId zone, ByteView bytes) EXCLUDES(mutex_);
  // Reads bytes that need no alignment, without latency.
  Status ReadBytes(DeviceOffset offset, ByteSpan into) EXCLUDES(mutex_);
  // Counts a read of the cache, of `bytes` at `offset` in `zone`, that begins now. Returns when it is due to complete.
  SteadyTime TimeRead(ZoneId zone, std::uint64_t offset, std::uint64_t bytes);
  // Executes `request` at once, without its latency. Returns when it is due to complete.
  SteadyTime Start(IoRequest& request);
  // Waits until `when`; the wait counts as CPU time of the device.
  void WaitUntil(SteadyTime when);
  // `manage` is called with mutex_ held. `kind` gives the time that it takes.
  Status Manage(TimedCommand::Kind kind, ZoneId zone, const Management& manage) EXCLUDES(mutex_);
  // True if commands of this kind take device time.
  bool Waits(EmulatorCommand kind) const { return clock_ != nullptr || options_.latency_us(kind) != 0; }
  bool ReadsWait() const { return Waits(EmulatorCommand::kRead); }
  bool HasCache() const { return cache_ != nullptr; }
  Status CheckWritableDevice() const;
  Mutex& LockOf(ZoneId zone) const { return zone_locks_[zone.value % lock_count_]; }
  Status Refresh(ZoneId first, std::uint32_t count) REQUIRES(mutex_);
  Status SaveChanges() REQUIRES(mutex_);
  Status Commit(ZoneId zone, std::uint64_t block, std::uint64_t blocks) REQUIRES(mutex_);

  const std::string name_;
  const std::string identity_;
  std::vector<std::string> notices_;
  const Geometry geometry_;
  const std::uint64_t capacity_;  // bytes of a sequential zone
  const OpenMode mode_;
  const EmulatorOptions options_;
  const std::unique_ptr<Store> store_;
  const std::uint32_t lock_count_;
  // One per zone, on large devices one per several zones. Taken before mutex_.
  const std::unique_ptr<ZoneLock[]> zone_locks_;
  Mutex mutex_{LockRank::kDeviceState};
  ZoneMachine machine_ GUARDED_BY(mutex_);
  const std::unique_ptr<VolatileCache> cache_ PT_GUARDED_BY(mutex_);  // nullptr: no volatile cache
  Mutex clock_mutex_{LockRank::kLeaf};
  const std::unique_ptr<DeviceClock> clock_ PT_GUARDED_BY(clock_mutex_);  // nullptr: no timing profile

  struct AtomicKind {
    std::atomic<std::uint64_t> commands{0};
    std::atomic<std::uint64_t> bytes{0};
  };
  std::array<AtomicKind, kEmulatorCommands> kinds_;
  CpuMeter cpu_;
  const std::unique_ptr<Cache> host_cache_;
  std::atomic<int> queues_{0};  // that exist
};

}  // namespace zenfs
