// The device on the zone files of a zonefs.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "backends/host/failed_write.h"
#include "backends/host/kernel_cache.h"
#include "backends/host/kernel_queue.h"
#include "backends/zonefs/descriptor_cache.h"
#include "backends/zonefs/zone_writers.h"
#include "base/clock.h"
#include "device/zoned_device.h"
#include "model/units.h"

namespace zenfs {

// Records when each zone was last read, to a tenth of a second, at negligible cost for the read.
//
// Threads: safe from any thread.
class RecentReads {
 public:
  explicit RecentReads(std::uint32_t zones) : last_(std::make_unique<std::atomic<std::int64_t>[]>(zones)) {}

  // Call it when a read begins and when it ends, so that a read in flight counts for at least a
  // second.
  void Note(ZoneId zone) {
    const std::int64_t now = Tick(SteadyNow());
    std::atomic<std::int64_t>& last = last_[zone.value];
    // Store only a new value: otherwise readers of one zone would contend for the cache line.
    if (last.load(std::memory_order_relaxed) != now) last.store(now, std::memory_order_relaxed);
  }

  // True if the zone was read in the second before `now`.
  bool Lately(ZoneId zone, SteadyTime now = SteadyNow()) const {
    const std::int64_t last = last_[zone.value].load(std::memory_order_relaxed);
    return last != 0 && Tick(now) - last <= kTicks;
  }

 private:
  static constexpr std::int64_t kTicks = 10;  // ticks per second
  // Time in tenths of a second; at least 1.
  static std::int64_t Tick(SteadyTime time) {
    return 1 + std::chrono::duration_cast<std::chrono::milliseconds>(time.time_since_epoch()).count() / 100;
  }

  const std::unique_ptr<std::atomic<std::int64_t>[]> last_;
};

// The device on zone files. It checks every request against the known state of the zone before it
// uses a file.
//
// Threads: as ZonedDevice. Reads hold only the lock of the descriptor cache for a moment, so they
// never wait for a writer; the kernel alone knows where the zone ends. Writes and zone commands go
// through ZoneWriters.
class ZoneFileDevice final : public ZonedDevice, private IoTarget, private CacheTarget {
 public:
  struct Parts {
    std::string name;
    std::string identity;
    std::optional<DeviceOwner> owner{};
    OpenMode mode = OpenMode::kReadOnly;
    std::unique_ptr<ZoneFiles> files;
    ZoneWriters::Limits limits;
    bool volatile_cache = true;
    std::uint64_t longest_write = kLongestCall;  // bytes
    bool io_uring = true;
    bool plain_writes =
        true;  // false: writes without io_uring do harm, so they fail (RingPool::Use::kNeeded)
    std::vector<std::string> notices;
  };

  // Reads the state of every file. Errors: those of the files.
  [[nodiscard]] static Result<std::unique_ptr<ZonedDevice>> Create(Parts parts);

  const Geometry& geometry() const override { return geometry_; }
  const std::string& name() const override { return parts_.name; }
  OpenMode mode() const override { return parts_.mode; }
  const std::string& identity() const override { return parts_.identity; }
  std::optional<DeviceOwner> owner() const override { return parts_.owner; }
  std::vector<std::string> notices() const override {
    return WithRefusal(parts_.notices, rings_, parts_.name);
  }
  HostCache* host_cache() override { return cacheable_ ? &cache_ : nullptr; }

  Result<std::vector<ZoneInfo>> Report(ZoneId first, std::uint32_t count) override;
  Status Read(DeviceOffset offset, ByteSpan into) override;
  using ZonedDevice::Write;
  Status Write(DeviceOffset offset, std::span<const ByteView> pieces) override;
  Result<DeviceOffset> Append(ZoneId zone, ByteView bytes) override;
  Status Reset(ZoneId zone) override;
  // Fills a recently read zone with zeros instead of truncating its file; see zonefs_device.h.
  Status Finish(ZoneId zone) override;
  Status Open(ZoneId zone) override;
  Status Close(ZoneId zone) override;
  Status Flush() override;
  std::unique_ptr<IoQueue> CreateQueue(std::size_t depth) override;

 private:
  ZoneFileDevice(Parts parts, const Geometry& geometry, std::vector<ZoneFileState> zones);

  Result<IoPlace> Place(const IoRequest& request) override;
  Status Settle(const IoRequest& request, const IoOutcome& outcome) override;

  Result<IoPlace> PlaceCached(DeviceOffset offset, std::uint64_t length) override;

  Status CheckWritable() const;
  Status CheckManagement(ZoneId zone) const;
  Result<IoPlace> PlaceRead(DeviceOffset offset, ByteSpan into);
  // Where the range is in a file of `readers`.
  Result<IoPlace> PlaceIn(DescriptorCache& readers, DeviceOffset offset, std::uint64_t length);
  Status SettleRead(DeviceOffset offset, ByteSpan into, const IoOutcome& outcome);
  Result<IoPlace> PlaceWrite(DeviceOffset offset, std::span<const ByteView> pieces);
  Status SettleWrite(DeviceOffset offset, std::span<const ByteView> pieces, const IoOutcome& outcome);
  // The error of a write that the kernel reported as failed; OK if the zone holds all of it.
  Status ExplainWrite(const FailedWrite& write, std::span<const ByteView> pieces, const ZoneFileState& state);
  bool Holds(DeviceOffset offset, std::span<const ByteView> pieces);
  Result<ZoneInfo> Look(ZoneId zone) const;
  std::uint64_t InZone(DeviceOffset offset) const {
    return offset - geometry_.ZoneStart(geometry_.ZoneOf(offset));
  }

  const Parts parts_;
  const Geometry geometry_;
  const std::vector<std::uint64_t> capacities_;  // bytes, by zone
  ZoneWriters writers_;
  DescriptorCache readers_;
  DescriptorCache buffered_readers_;  // for reads through the page cache
  const bool cacheable_ = PagesFit(geometry_.block_size);
  KernelCache cache_;
  RecentReads reads_;
  mutable RingPool rings_;
  std::atomic<std::uint32_t> flush_zone_{0};  // the last flush used its file
};

}  // namespace zenfs
