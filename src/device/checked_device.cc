#include "device/checked_device.h"

#include <fmt/format.h>

#include <bit>
#include <utility>

#include "device/forwarding_device.h"

namespace zenfs {
namespace {

constexpr std::uint32_t kMinBlock = 512;
constexpr std::uint32_t kMaxBlock = 65536;

// The device contradicts itself.
std::unexpected<Error> Contradiction(std::string text) { return Fail(Code::kCorruption, std::move(text)); }

Status CheckRandomArea(const std::string& name, const Geometry& g) {
  if (g.random_area_bytes == 0) return {};
  if (g.random_area_unit == 0 || g.random_area_unit % g.block_size != 0) {
    return Fail(
        Code::kInvalidArgument,
        fmt::format("{}: the commit unit of random write areas, {}, is not a multiple of the block size {}",
                    name, g.random_area_unit, g.block_size));
  }
  if (g.random_area_bytes % g.random_area_unit != 0) {
    return Fail(Code::kInvalidArgument,
                fmt::format("{}: random write areas of {} bytes are not a multiple of their commit unit {}",
                            name, g.random_area_bytes, g.random_area_unit));
  }
  if (g.random_area_zones != 0) return {};
  return Fail(Code::kInvalidArgument, fmt::format("{}: random write areas, but for no zone", name));
}

Status CheckGeometry(const std::string& name, const Geometry& g) {
  if (g.block_size < kMinBlock || g.block_size > kMaxBlock || !std::has_single_bit(g.block_size)) {
    return Fail(Code::kInvalidArgument, fmt::format("{}: block size {} is not a power of two from {} to {}",
                                                    name, g.block_size, kMinBlock, kMaxBlock));
  }
  if (g.zone_count == 0) return Fail(Code::kInvalidArgument, fmt::format("{} has no zones", name));
  if (g.zone_size == 0 || g.zone_size % g.block_size != 0) {
    return Fail(Code::kInvalidArgument, fmt::format("{}: zone size {} is not a multiple of the block size {}",
                                                    name, g.zone_size, g.block_size));
  }
  return CheckRandomArea(name, g);
}

Status CheckZone(const std::string& name, const Geometry& g, ZoneId expected, const ZoneInfo& zone) {
  if (zone.id != expected) {
    return Contradiction(
        fmt::format("{}: reported zone {}, expected zone {}", name, zone.id.value, expected.value));
  }
  if (zone.start != g.ZoneStart(expected)) {
    return Contradiction(
        fmt::format("{}: zone {} is reported to start at {}, but the zone size puts it at {}", name,
                    expected.value, zone.start.value, g.ZoneStart(expected).value));
  }
  if (zone.capacity > g.zone_size) {
    return Contradiction(fmt::format("{}: zone {} reports a capacity of {}, above the zone size {}", name,
                                     expected.value, zone.capacity, g.zone_size));
  }
  if (zone.capacity % g.block_size != 0) {
    return Contradiction(
        fmt::format("{}: zone {} reports a capacity of {}, not a multiple of the block size {}", name,
                    expected.value, zone.capacity, g.block_size));
  }
  const bool pointer_counts = zone.condition == ZoneCondition::kEmpty || IsActive(zone.condition);
  if (!pointer_counts) return {};
  const bool inside = zone.write_pointer >= zone.start && zone.write_pointer - zone.start <= g.zone_size;
  const bool in_place = zone.condition != ZoneCondition::kEmpty || zone.write_pointer == zone.start;
  if (inside && in_place && (zone.write_pointer - zone.start) % g.block_size == 0) return {};
  return Contradiction(fmt::format("{}: zone {} from {} is {} and reports its write pointer at {}", name,
                                   expected.value, zone.start.value, ConditionName(zone.condition),
                                   zone.write_pointer.value));
}

Status CheckPlace(const std::string& name, const Geometry& g, ZoneId zone, DeviceOffset place,
                  std::uint64_t bytes) {
  const DeviceOffset start = g.ZoneStart(zone);
  const bool inside =
      place >= start && place - start <= g.zone_size && bytes <= g.zone_size - (place - start);
  if (inside && place.value % g.block_size == 0) return {};
  return Contradiction(
      fmt::format("{}: an append of {} bytes to zone {} (bytes {} to {}) is reported to be at {}", name,
                  bytes, zone.value, start.value, (start + g.zone_size).value, place.value));
}

class CheckedQueue final : public IoQueue {
 public:
  CheckedQueue(const ZonedDevice& device, std::unique_ptr<IoQueue> queue)
      : device_(device), queue_(std::move(queue)) {}

  void Submit(IoRequest* request) override { queue_->Submit(request); }
  void Reap(std::size_t min_count, std::vector<IoRequest*>& done) override {
    const std::size_t before = done.size();
    queue_->Reap(min_count, done);
    const Geometry& g = device_.geometry();
    for (std::size_t i = before; i < done.size(); ++i) {
      IoRequest& request = *done[i];
      if (request.kind != IoRequest::Kind::kAppend || !request.status.ok()) continue;
      request.status = CheckPlace(device_.name(), g, g.ZoneOf(request.offset), request.placed_at,
                                  request.write_from.size());
    }
  }
  std::size_t in_flight() const override { return queue_->in_flight(); }
  bool overlaps() const override { return queue_->overlaps(); }

 private:
  const ZonedDevice& device_;
  const std::unique_ptr<IoQueue> queue_;
};

class CheckedDevice final : public ForwardingDevice {
 public:
  explicit CheckedDevice(std::unique_ptr<ZonedDevice> device) : ForwardingDevice(std::move(device)) {}

  HostCache* host_cache() override { return inner().host_cache(); }
  std::uint64_t KnownZeros(DeviceOffset from, std::uint64_t length) override {
    return inner().KnownZeros(from, length);
  }
  Result<std::vector<ZoneInfo>> Report(ZoneId first, std::uint32_t count) override {
    ZENFS_ASSIGN_OR_RETURN(std::vector<ZoneInfo> zones, inner().Report(first, count));
    if (zones.size() != count) {
      return Contradiction(fmt::format("{}: a report of {} zones from zone {} has {} zones", name(), count,
                                       first.value, zones.size()));
    }
    for (std::uint32_t i = 0; i < count; ++i) {
      ZENFS_RETURN_IF_ERROR(CheckZone(name(), geometry(), ZoneId(first.value + i), zones[i]));
    }
    return zones;
  }
  Result<DeviceOffset> Append(ZoneId zone, ByteView bytes) override {
    ZENFS_ASSIGN_OR_RETURN(const DeviceOffset place, inner().Append(zone, bytes));
    ZENFS_RETURN_IF_ERROR(CheckPlace(name(), geometry(), zone, place, bytes.size()));
    return place;
  }
  std::unique_ptr<IoQueue> CreateQueue(std::size_t depth) override {
    return std::make_unique<CheckedQueue>(inner(), inner().CreateQueue(depth));
  }
};

}  // namespace

Result<std::unique_ptr<ZonedDevice>> CheckDevice(std::unique_ptr<ZonedDevice> device) {
  ZENFS_RETURN_IF_ERROR(CheckGeometry(device->name(), device->geometry()));
  auto checked = std::make_unique<CheckedDevice>(std::move(device));
  const auto zones = checked->Report(ZoneId(0), checked->geometry().zone_count);
  // A contradiction in the first report means that the device is unusable. A later one is damage.
  if (!zones && zones.error().code() == Code::kCorruption) {
    return Fail(Code::kInvalidArgument, zones.error().text());
  }
  if (!zones) return Fail(zones.error());
  return checked;
}

}  // namespace zenfs
