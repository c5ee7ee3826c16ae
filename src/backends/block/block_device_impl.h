// The implementation of block/block_device.h, for openings by the node (open_block_device.h) and by NVMe commands
// (nvme/nvme_device.h).
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "backends/block/zone_control.h"
#include "backends/host/data_path.h"
#include "backends/host/failed_write.h"
#include "backends/host/kernel_cache.h"
#include "backends/host/kernel_queue.h"
#include "base/assert.h"
#include "device/zoned_device.h"

namespace zenfs {

// What is known of each zone, so that commands are checked without a report from the device.
//
// Threads: safe. The latest report sets the capacity of a zone; the writer of a zone sets its write
// pointer.
class ZoneFacts {
 public:
  explicit ZoneFacts(std::span<const ReportedZone> zones) : zones_(std::make_unique<Entry[]>(zones.size())) {
    for (std::size_t i = 0; i < zones.size(); ++i) {
      zones_[i].length = zones[i].length;
      zones_[i].conventional = zones[i].info.type == ZoneType::kConventional;
      zones_[i].capacity = zones[i].info.capacity;
      zones_[i].pointer = zones[i].info.WrittenBytes();
      zones_[i].random_area = zones[i].info.random_area;
    }
  }

  std::uint64_t length(ZoneId zone) const { return zones_[zone.value].length; }
  bool conventional(ZoneId zone) const { return zones_[zone.value].conventional; }
  std::uint64_t capacity(ZoneId zone) const {
    return zones_[zone.value].capacity.load(std::memory_order_relaxed);
  }
  // A reset may change the capacity (device-assumptions 4).
  void SetCapacity(ZoneId zone, std::uint64_t capacity) {
    zones_[zone.value].capacity.store(capacity, std::memory_order_relaxed);
  }
  // The write pointer after the last write or reset by this object, in bytes from the start of the
  // zone.
  std::uint64_t pointer(ZoneId zone) const {
    return zones_[zone.value].pointer.load(std::memory_order_relaxed);
  }
  void SetPointer(ZoneId zone, std::uint64_t pointer) {
    zones_[zone.value].pointer.store(pointer, std::memory_order_relaxed);
  }
  // After an append; others to the same zone may end at the same time.
  void RaisePointer(ZoneId zone, std::uint64_t pointer) {
    std::atomic<std::uint64_t>& known = zones_[zone.value].pointer;
    std::uint64_t seen = known.load(std::memory_order_relaxed);
    while (seen < pointer && !known.compare_exchange_weak(seen, pointer, std::memory_order_relaxed)) {
    }
  }

  // Whether the zone is written by commands of the drive until its reset, though the device is not.
  bool by_commands(ZoneId zone) const {
    return zones_[zone.value].by_commands.load(std::memory_order_relaxed);
  }
  void SetByCommands(ZoneId zone, bool by) {
    zones_[zone.value].by_commands.store(by, std::memory_order_relaxed);
  }

  // What the host's cache holds of a zone.
  enum class Cached : std::uint8_t {
    kUnknown,   // perhaps bytes from before this object
    kDropping,  // a thread drops them
    kCurrent,
  };
  bool cache_is_current(ZoneId zone) const {
    return zones_[zone.value].cached.load(std::memory_order_acquire) == Cached::kCurrent;
  }
  // Returns true for one caller, who drops the zone from the cache and then calls SetCacheCurrent.
  bool TakeDrop(ZoneId zone) {
    Cached seen = Cached::kUnknown;
    return zones_[zone.value].cached.compare_exchange_strong(seen, Cached::kDropping,
                                                             std::memory_order_acquire);
  }
  void SetCacheCurrent(ZoneId zone) {
    zones_[zone.value].cached.store(Cached::kCurrent, std::memory_order_release);
  }

  // Whether the zone has a random write area, after the last command by this object. Also true if the drive ended it.
  bool random_area(ZoneId zone) const {
    return zones_[zone.value].random_area.load(std::memory_order_relaxed);
  }
  void SetRandomArea(ZoneId zone, bool has) {
    zones_[zone.value].random_area.store(has, std::memory_order_relaxed);
  }

 private:
  struct Entry {
    std::uint64_t length = 0;
    bool conventional = false;
    std::atomic<std::uint64_t> capacity = 0;
    std::atomic<std::uint64_t> pointer = 0;
    std::atomic<bool> by_commands = false;
    std::atomic<bool> random_area = false;
    std::atomic<Cached> cached = Cached::kUnknown;
  };
  std::unique_ptr<Entry[]> zones_;
};

// Threads: as ZonedDevice. Needs no lock: its changing state is in the kernel.
class BlockDevice final : public ZonedDevice, private IoTarget, private CacheTarget {
 public:
  struct Parts {
    std::string name;
    std::string identity;
    std::optional<DeviceOwner> owner{};
    Geometry geometry;
    OpenMode mode = OpenMode::kReadOnly;
    std::unique_ptr<ZoneControl> control;
    std::unique_ptr<ZoneFacts> zones;
    std::shared_ptr<const DataPath> data;
    std::shared_ptr<const AppendPath> appends{};  // null: there are none
    // The way of copies, of writes to a zone after its first append or copy, and of those to a random write area; null: they
    // go by `data`, too. The kernel does not see what commands write, and may refuse writes of its own to such a zone until
    // the zone's reset.
    std::shared_ptr<const DataPath> commands{};
    std::vector<std::string> notices{};
    // The kernel keeps write pointers of its own, which commands of the drive do not move (KernelPlugsZoneWrites).
    bool kernel_pointers = false;
    // For reads through the page cache; invalid: there are none.
    UniqueFd buffered{};
    bool scheduler = false;  // of the kernel, for what goes by `data` (ReadByRing)
    bool io_uring = true;
    RingPool::Entries entries = RingPool::Entries::kSmall;
  };

  explicit BlockDevice(Parts parts)
      : parts_(std::move(parts)),
        rings_(parts_.io_uring ? RingPool::Use::kAllowed : RingPool::Use::kForbidden, parts_.entries),
        cache_(*this) {
    ZENFS_ASSERT(parts_.control != nullptr && parts_.zones != nullptr && parts_.data != nullptr);
  }

  const Geometry& geometry() const override { return parts_.geometry; }
  const std::string& name() const override { return parts_.name; }
  OpenMode mode() const override { return parts_.mode; }
  const std::string& identity() const override { return parts_.identity; }
  std::optional<DeviceOwner> owner() const override { return parts_.owner; }
  std::vector<std::string> notices() const override {
    return WithRefusal(parts_.notices, rings_, parts_.name);
  }
  HostCache* host_cache() override { return parts_.buffered.valid() ? &cache_ : nullptr; }

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
  Status Copy(DeviceOffset from, DeviceOffset to, std::uint64_t length) override;
  Status Flush() override;
  std::unique_ptr<IoQueue> CreateQueue(std::size_t depth) override;

 private:
  Result<IoPlace> Place(const IoRequest& request) override;
  Status Settle(const IoRequest& request, const IoOutcome& outcome) override;
  Result<IoPlace> PlaceCached(DeviceOffset offset, std::uint64_t length) override;

  // The way of a write to this zone.
  const DataPath& WayTo(ZoneId zone) const {
    return parts_.commands != nullptr && parts_.zones->by_commands(zone) ? *parts_.commands : *parts_.data;
  }
  Status CheckWritable() const;
  Status CheckAppend(DeviceOffset start, ByteView bytes) const;
  Status CheckCopyTarget(DeviceOffset to, std::uint64_t length) const;
  Status CheckRead(DeviceOffset offset, ByteSpan into) const;
  // Whether a read ends in its zone.
  Status CheckReadEnd(DeviceOffset offset, std::uint64_t length) const;
  Status CheckWrite(DeviceOffset offset, std::span<const ByteView> pieces, std::uint64_t length) const;
  Status Manage(ZoneControl::Command command, std::string_view what, ZoneId zone);
  Status CheckManaged(std::string_view what, ZoneId zone) const;
  Status SettleManaged(std::string_view what, ZoneId zone, const CommandResult& result);
  // Of a zone with a random write area, where a write does not say where the write pointer is.
  Status SettleRandomWrite(DeviceOffset offset, std::uint64_t length, const IoOutcome& outcome);
  Status SettleAppend(DeviceOffset start, std::uint64_t length, const IoOutcome& outcome);
  Status SettleRead(DeviceOffset offset, std::uint64_t length, const IoOutcome& outcome);
  Status SettleCopy(DeviceOffset from, DeviceOffset to, std::uint64_t length, const CommandResult& result);
  // Reports the zone of a failed write and notes its write pointer.
  Result<ZoneInfo> ReportAfter(const FailedWrite& write);
  Status SettleWrite(DeviceOffset offset, std::span<const ByteView> pieces, std::uint64_t length,
                     const IoOutcome& outcome, bool repeated = false);

  const Parts parts_;
  mutable RingPool rings_;
  KernelCache cache_;
};

}  // namespace zenfs
