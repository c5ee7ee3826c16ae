#include "device/joined_device.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "base/assert.h"
#include "device/request_check.h"

namespace zenfs {
namespace {

// Of a limit of the second device; 0 means no limit.
std::uint32_t LeftOf(std::uint32_t limit) { return limit == 0 ? 0 : limit - kPairZones; }

// The geometry of both. A flush is needed if either device needs it.
Geometry Join(const Geometry& main, const Geometry& logs, ZoneId first_log_zone) {
  Geometry joined = main;
  joined.block_size = std::max(main.block_size, logs.block_size);
  joined.zone_size = std::max(main.zone_size, logs.zone_size);
  joined.log_zones = logs.zone_count - first_log_zone.value;
  joined.zone_count = main.zone_count + joined.log_zones;
  joined.log_max_open = LeftOf(logs.max_open);
  joined.log_max_active = LeftOf(logs.max_active);
  joined.max_append_bytes = logs.max_append_bytes;
  joined.random_area_bytes = logs.random_area_bytes;
  joined.random_area_unit = logs.random_area_unit;
  joined.random_area_zones = logs.random_area_zones;
  joined.hides_unwritten = logs.hides_unwritten;
  joined.volatile_cache = main.volatile_cache || logs.volatile_cache;
  joined.keeps_unflushed = !main.LosesUnflushed() && !logs.LosesUnflushed();
  return joined;
}

Status CheckLimits(const ZonedDevice& logs) {
  const Geometry& g = logs.geometry();
  const auto enough = [](std::uint32_t limit) { return limit == 0 || limit >= kFewestLogZones; };
  if (enough(g.max_open) && enough(g.max_active)) return {};
  return Fail(
      Code::kNotSupported,
      fmt::format("{}: the device allows {} open and {} active zones at once (0: no limit), and a device for "
                  "logs needs {} of each",
                  logs.name(), g.max_open, g.max_active, kFewestLogZones));
}

Status CheckCapacities(ZonedDevice& device, const ZonedDevice& other, std::uint32_t block_size) {
  if (device.geometry().block_size == block_size) return {};
  ZENFS_ASSIGN_OR_RETURN(const std::vector<ZoneInfo> report, ReportAll(device));
  for (const ZoneInfo& zone : report) {
    if (zone.capacity % block_size == 0 && device.geometry().zone_size % block_size == 0) continue;
    return Fail(
        Code::kInvalidArgument,
        fmt::format("{}: zone {} has a capacity of {} bytes, which is no multiple of the blocks of {} "
                    "bytes of {}; give both drives the same LBA format",
                    device.name(), zone.id.value, zone.capacity, block_size, other.name()));
  }
  return {};
}

// Where the zones of one device are among those of the joined device.
struct PartMap {
  ZonedDevice& device;
  ZoneId outer_first;       // number of `inner_first` on the joined device
  ZoneId inner_first;       // the first zone of `device` that the joined device shows
  std::uint64_t zone_size;  // of the joined device, at least that of `device`

  ZoneId Inner(ZoneId outer) const { return ZoneId(outer.value - outer_first.value + inner_first.value); }
  ZoneId Outer(ZoneId inner) const { return ZoneId(inner.value - inner_first.value + outer_first.value); }
  DeviceOffset Inner(DeviceOffset outer) const {
    const ZoneId zone(static_cast<std::uint32_t>(outer.value / zone_size));
    return device.geometry().ZoneStart(Inner(zone)) + outer.value % zone_size;
  }
  DeviceOffset Outer(DeviceOffset inner) const {
    const ZoneId zone = device.geometry().ZoneOf(inner);
    return DeviceOffset(Outer(zone).value * zone_size) + (inner - device.geometry().ZoneStart(zone));
  }
  ZoneInfo Outer(const ZoneInfo& inner) const {
    ZoneInfo zone = inner;
    zone.id = Outer(inner.id);
    zone.start = DeviceOffset(zone.id.value * zone_size);
    zone.write_pointer = zone.start + (inner.write_pointer - inner.start);
    return zone;
  }
  // Errors: kInvalidArgument if a zone of `device` ends before the `bytes` at `outer` end.
  Status CheckFits(DeviceOffset outer, std::uint64_t bytes) const {
    if (outer.value % zone_size + bytes <= device.geometry().zone_size) return {};
    const ZoneId zone(static_cast<std::uint32_t>(outer.value / zone_size));
    return Fail(Code::kInvalidArgument,
                fmt::format("{}: {} bytes at byte {} of zone {} are beyond its end", device.name(), bytes,
                            outer.value % zone_size, Inner(zone).value));
  }
};

// The commands in flight on both devices.
class JoinedQueue final : public IoQueue {
 public:
  JoinedQueue(const PartMap& main, const PartMap& logs, std::size_t depth)
      : main_{main, main.device.CreateQueue(depth)}, logs_{logs, logs.device.CreateQueue(depth)} {}

  void Submit(IoRequest* request) override {
    const bool on_logs = request->offset.value >= logs_.map.outer_first.value * logs_.map.zone_size;
    Part& part = on_logs ? logs_ : main_;
    const bool read = request->kind == IoRequest::Kind::kRead;
    request->status =
        part.map.CheckFits(request->offset, read ? request->read_into.size() : request->write_from.size());
    if (!request->status.ok()) return refused_.push_back(request);
    outer_[request] = request->offset;
    request->offset = part.map.Inner(request->offset);
    part.queue->Submit(request);
  }

  void Reap(std::size_t min_count, std::vector<IoRequest*>& done) override {
    const std::size_t wanted = done.size() + std::min(min_count, in_flight());
    done.insert(done.end(), refused_.begin(), refused_.end());
    refused_.clear();
    Collect(main_, 0, done);
    Collect(logs_, 0, done);
    while (done.size() < wanted) Collect(main_.queue->in_flight() != 0 ? main_ : logs_, 1, done);
  }

  std::size_t in_flight() const override {
    return main_.queue->in_flight() + logs_.queue->in_flight() + refused_.size();
  }
  bool overlaps() const override { return main_.queue->overlaps(); }

 private:
  struct Part {
    const PartMap& map;
    std::unique_ptr<IoQueue> queue;
  };

  // Reaps from one device, and gives the requests their own offsets back.
  void Collect(Part& part, std::size_t min_count, std::vector<IoRequest*>& done) {
    const std::size_t before = done.size();
    part.queue->Reap(min_count, done);
    for (std::size_t i = before; i < done.size(); ++i) {
      IoRequest& request = *done[i];
      request.offset = outer_.extract(&request).mapped();
      if (request.kind == IoRequest::Kind::kAppend && request.status.ok()) {
        request.placed_at = part.map.Outer(request.placed_at);
      }
    }
  }

  Part main_;
  Part logs_;
  std::map<IoRequest*, DeviceOffset> outer_;  // of the requests that a device has
  std::vector<IoRequest*> refused_;
};

// Plain files are on the main device, and nothing else is read through a cache.
class MainCache final : public HostCache {
 public:
  MainCache(HostCache& cache, const Geometry& joined, const PartMap& main)
      : cache_(cache), joined_(joined), main_(main) {}

  void Read(std::span<CachedRead> reads) override {
    for (CachedRead& read : reads) read.offset = Inner(read.offset);
    cache_.Read(reads);
    for (CachedRead& read : reads) read.offset = main_.Outer(read.offset);
  }
  void Advise(DeviceOffset offset, std::uint64_t length, CacheAdvice advice) override {
    cache_.Advise(Inner(offset), length, advice);
  }

 private:
  DeviceOffset Inner(DeviceOffset offset) const {
    ZENFS_ASSERT(!joined_.OnLogDevice(joined_.ZoneOf(offset)));
    return main_.Inner(offset);
  }

  HostCache& cache_;
  const Geometry& joined_;
  const PartMap& main_;
};

class JoinedDevice final : public ZonedDevice {
 public:
  JoinedDevice(std::unique_ptr<ZonedDevice> main, std::unique_ptr<ZonedDevice> logs, ZoneId first_log_zone)
      : main_(std::move(main)),
        logs_(std::move(logs)),
        geometry_(Join(main_->geometry(), logs_->geometry(), first_log_zone)),
        main_map_{*main_, ZoneId(0), ZoneId(0), geometry_.zone_size},
        logs_map_{*logs_, ZoneId(geometry_.main_zones()), first_log_zone, geometry_.zone_size},
        name_(main_->name() + " with logs on " + logs_->name()),
        identity_(main_->identity().empty() || logs_->identity().empty()
                      ? std::string()
                      : main_->identity() + "+" + logs_->identity()) {
    if (HostCache* const cache = main_->host_cache()) cache_.emplace(*cache, geometry_, main_map_);
  }

  const Geometry& geometry() const override { return geometry_; }
  const std::string& name() const override { return name_; }
  OpenMode mode() const override { return main_->mode(); }
  const std::string& identity() const override { return identity_; }
  std::optional<DeviceOwner> owner() const override { return main_->owner(); }
  std::vector<std::string> notices() const override {
    std::vector<std::string> notices = main_->notices();
    std::ranges::move(logs_->notices(), std::back_inserter(notices));
    return notices;
  }
  std::uint64_t emulation_cpu_ns() const override {
    return main_->emulation_cpu_ns() + logs_->emulation_cpu_ns();
  }
  HostCache* host_cache() override { return cache_ ? &*cache_ : nullptr; }
  std::uint64_t KnownZeros(DeviceOffset from, std::uint64_t length) override {
    const PartMap& map = MapOf(from);
    const std::uint64_t in_zone = geometry_.zone_size - from.value % geometry_.zone_size;
    return map.device.KnownZeros(map.Inner(from), std::min(length, in_zone));
  }
  bool IsGone() const override { return main_->IsGone() || logs_->IsGone(); }
  JoinedParts parts() const override { return {.main = main_.get(), .logs = logs_.get()}; }
  DeviceErrors errors() const override {
    const DeviceErrors main = main_->errors();
    const DeviceErrors logs = logs_->errors();
    return {.repeated_reads = main.repeated_reads + logs.repeated_reads,
            .failed_flushes = main.failed_flushes + logs.failed_flushes,
            .outages = main.outages + logs.outages};
  }

  Result<std::vector<ZoneInfo>> Report(ZoneId first, std::uint32_t count) override;
  Status Read(DeviceOffset offset, ByteSpan into) override {
    const PartMap& map = MapOf(offset);
    ZENFS_RETURN_IF_ERROR(map.CheckFits(offset, into.size()));
    return map.device.Read(map.Inner(offset), into);
  }
  using ZonedDevice::Write;
  Status Write(DeviceOffset offset, std::span<const ByteView> pieces) override {
    const PartMap& map = MapOf(offset);
    for (const ByteView piece : pieces) ZENFS_RETURN_IF_ERROR(map.CheckFits(offset, piece.size()));
    return map.device.Write(map.Inner(offset), pieces);
  }
  Result<DeviceOffset> Append(ZoneId zone, ByteView bytes) override {
    const PartMap& map = MapOf(zone);
    ZENFS_ASSIGN_OR_RETURN(const DeviceOffset at, map.device.Append(map.Inner(zone), bytes));
    return map.Outer(at);
  }
  Status Reset(ZoneId zone) override { return Send(zone, &ZonedDevice::Reset); }
  Status Finish(ZoneId zone) override { return Send(zone, &ZonedDevice::Finish); }
  Status Open(ZoneId zone) override { return Send(zone, &ZonedDevice::Open); }
  Status Close(ZoneId zone) override { return Send(zone, &ZonedDevice::Close); }
  Status OpenRandom(ZoneId zone) override { return Send(zone, &ZonedDevice::OpenRandom); }
  Status CommitRandom(DeviceOffset to) override {
    // `to` may be the end of its zone.
    const PartMap& map = MapOf(DeviceOffset(to.value - 1));
    return map.device.CommitRandom(map.Inner(DeviceOffset(to.value - 1)) + 1);
  }
  // Each device copies only inside of itself.
  Status Copy(DeviceOffset from, DeviceOffset to, std::uint64_t length) override {
    ZENFS_RETURN_IF_ERROR(CheckCopy(name_, geometry_, from, to, length));
    const PartMap& map = MapOf(from);
    if (&map != &MapOf(to)) {
      return Fail(Code::kInvalidArgument, fmt::format("{}: copy from {} to {}, which is on the other device",
                                                      name_, from.value, to.value));
    }
    ZENFS_RETURN_IF_ERROR(map.CheckFits(from, length));
    ZENFS_RETURN_IF_ERROR(map.CheckFits(to, length));
    return map.device.Copy(map.Inner(from), map.Inner(to), length);
  }
  Status Flush() override {
    const Status logs = logs_->Flush();
    const Status main = main_->Flush();
    return main.ok() ? logs : main;
  }
  Status FlushDeviceOf(ZoneId zone) override { return MapOf(zone).device.Flush(); }
  std::unique_ptr<IoQueue> CreateQueue(std::size_t depth) override {
    return std::make_unique<JoinedQueue>(main_map_, logs_map_, depth);
  }

 private:
  const PartMap& MapOf(ZoneId zone) const { return geometry_.OnLogDevice(zone) ? logs_map_ : main_map_; }
  const PartMap& MapOf(DeviceOffset offset) const { return MapOf(geometry_.ZoneOf(offset)); }
  Status Send(ZoneId zone, Status (ZonedDevice::*command)(ZoneId)) const {
    const PartMap& map = MapOf(zone);
    return (map.device.*command)(map.Inner(zone));
  }

  const std::unique_ptr<ZonedDevice> main_;
  const std::unique_ptr<ZonedDevice> logs_;
  const Geometry geometry_;
  const PartMap main_map_;
  const PartMap logs_map_;
  const std::string name_;
  const std::string identity_;
  std::optional<MainCache> cache_;
};

Result<std::vector<ZoneInfo>> JoinedDevice::Report(ZoneId first, std::uint32_t count) {
  std::vector<ZoneInfo> zones;
  const std::uint32_t end = first.value + count;
  for (const PartMap* map : {&main_map_, &logs_map_}) {
    const std::uint32_t part_end =
        map == &main_map_ ? geometry_.main_zones() : std::max(end, geometry_.main_zones());
    const std::uint32_t from = std::max(first.value, map->outer_first.value);
    const std::uint32_t to = std::min(end, part_end);
    if (from >= to) continue;
    ZENFS_ASSIGN_OR_RETURN(std::vector<ZoneInfo> part,
                           map->device.Report(map->Inner(ZoneId(from)), to - from));
    for (ZoneInfo& zone : part) zones.push_back(map->Outer(zone));
  }
  return zones;
}

}  // namespace

Result<std::unique_ptr<ZonedDevice>> JoinDevices(std::unique_ptr<ZonedDevice> main,
                                                 std::unique_ptr<ZonedDevice> logs, ZoneId first_log_zone) {
  const std::uint32_t zones = logs->geometry().zone_count;
  if (zones < kFewestLogZones || first_log_zone.value > zones - kFewestLogZones) {
    return Fail(
        Code::kInvalidArgument,
        fmt::format("{}: {} zones from zone {} on; a device for logs needs {}", logs->name(),
                    zones - std::min(zones, first_log_zone.value), first_log_zone.value, kFewestLogZones));
  }
  ZENFS_RETURN_IF_ERROR(CheckLimits(*logs));
  const std::uint32_t block_size = std::max(main->geometry().block_size, logs->geometry().block_size);
  ZENFS_RETURN_IF_ERROR(CheckCapacities(*main, *logs, block_size));
  ZENFS_RETURN_IF_ERROR(CheckCapacities(*logs, *main, block_size));
  return std::make_unique<JoinedDevice>(std::move(main), std::move(logs), first_log_zone);
}

}  // namespace zenfs
