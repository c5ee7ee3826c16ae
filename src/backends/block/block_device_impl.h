// The implementation of block/block_device.h. A header of its own, because opening and using are
// separate files.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "backends/block/block_device.h"
#include "backends/block/zone_control.h"
#include "backends/block/zone_facts.h"
#include "backends/host/block_facts.h"
#include "backends/host/data_path.h"
#include "backends/host/failed_write.h"
#include "backends/host/kernel_cache.h"
#include "backends/host/kernel_queue.h"
#include "backends/host/ring_pool.h"
#include "device/zoned_device.h"

namespace zenfs {

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
    bool io_uring = true;
    RingPool::Entries entries = RingPool::Entries::kSmall;
  };

  explicit BlockDevice(Parts parts)
      : parts_(std::move(parts)),
        rings_(parts_.io_uring ? RingPool::Use::kAllowed : RingPool::Use::kForbidden, parts_.entries),
        cache_(*this) {}

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
  using Command = CommandResult (ZoneControl::*)(std::uint64_t start, std::uint64_t length);

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
  Status Manage(Command command, std::string_view what, ZoneId zone);
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

// What OpenBlockDevice makes a device of. The caller may add to the parts.
struct OpenedBlock {
  BlockFacts facts;
  BlockDevice::Parts parts;
};
[[nodiscard]] Result<OpenedBlock> OpenBlockParts(const std::string& node, OpenMode mode,
                                                 const BlockOptions& options);

}  // namespace zenfs
