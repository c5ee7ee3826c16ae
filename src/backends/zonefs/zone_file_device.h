// The device on zone files. It checks every request against the known state of the zone before it
// uses a file.
//
// Threads: as ZonedDevice. Reads hold only the lock of the descriptor cache for a moment, so they
// never wait for a writer; the kernel alone knows where the zone ends. Writes and zone commands go
// through ZoneWriters.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "backends/host/failed_write.h"
#include "backends/host/kernel_cache.h"
#include "backends/host/kernel_queue.h"
#include "backends/zonefs/descriptor_cache.h"
#include "backends/zonefs/recent_reads.h"
#include "backends/zonefs/zone_writers.h"
#include "device/zoned_device.h"

namespace zenfs {

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
    std::size_t descriptors = 256;  // files open for reading
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
