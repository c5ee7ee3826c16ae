#include "testing/split_device.h"

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "device/forwarding_device.h"
#include "device/joined_device.h"
#include "device/read_only_view.h"
#include "testing/borrowed_device.h"

namespace zenfs {
namespace {

// Where the zones of a part are on the whole device: its last zones come before its first `hidden` ones.
struct SplitMap {
  std::uint32_t first;  // zone of the whole device
  std::uint32_t count;
  std::uint32_t hidden;
  std::uint64_t zone_size;

  ZoneId Whole(ZoneId part) const { return ZoneId(first + (part.value + count - hidden) % count); }
  ZoneId Part(ZoneId whole) const { return ZoneId((whole.value - first + hidden) % count); }
  DeviceOffset Whole(DeviceOffset part) const {
    const ZoneId zone(static_cast<std::uint32_t>(part.value / zone_size));
    return DeviceOffset(Whole(zone).value * zone_size + part.value % zone_size);
  }
  DeviceOffset Part(DeviceOffset whole) const {
    const ZoneId zone(static_cast<std::uint32_t>(whole.value / zone_size));
    return DeviceOffset(Part(zone).value * zone_size + whole.value % zone_size);
  }
};

class SplitQueue final : public IoQueue {
 public:
  SplitQueue(const SplitMap& map, std::unique_ptr<IoQueue> queue) : map_(map), queue_(std::move(queue)) {}

  void Submit(IoRequest* request) override {
    offsets_[request] = request->offset;
    request->offset = map_.Whole(request->offset);
    queue_->Submit(request);
  }
  void Reap(std::size_t min_count, std::vector<IoRequest*>& done) override {
    const std::size_t before = done.size();
    queue_->Reap(min_count, done);
    for (std::size_t i = before; i < done.size(); ++i) {
      IoRequest& request = *done[i];
      request.offset = offsets_.extract(&request).mapped();
      if (request.kind == IoRequest::Kind::kAppend && request.status.ok())
        request.placed_at = map_.Part(request.placed_at);
    }
  }
  std::size_t in_flight() const override { return queue_->in_flight(); }
  bool overlaps() const override { return queue_->overlaps(); }

 private:
  const SplitMap& map_;
  const std::unique_ptr<IoQueue> queue_;
  std::map<IoRequest*, DeviceOffset> offsets_;  // as submitted
};

class SplitPart final : public ForwardingDevice {
 public:
  SplitPart(std::unique_ptr<ZonedDevice> whole, const Geometry& geometry, const SplitMap& map,
            std::string name)
      : ForwardingDevice(std::move(whole)), geometry_(geometry), map_(map), name_(std::move(name)) {}

  const Geometry& geometry() const override { return geometry_; }
  const std::string& name() const override { return name_; }
  Result<std::vector<ZoneInfo>> Report(ZoneId first, std::uint32_t count) override {
    ZENFS_ASSIGN_OR_RETURN(const std::vector<ZoneInfo> all, inner().Report(ZoneId(map_.first), map_.count));
    std::vector<ZoneInfo> zones;
    for (std::uint32_t i = first.value; i < first.value + count; ++i) {
      ZoneInfo zone = all.at(map_.Whole(ZoneId(i)).value - map_.first);
      const std::uint64_t written = zone.write_pointer - zone.start;
      zone.id = ZoneId(i);
      zone.start = geometry_.ZoneStart(zone.id);
      zone.write_pointer = zone.start + written;
      zones.push_back(zone);
    }
    return zones;
  }
  Status Read(DeviceOffset offset, ByteSpan into) override { return inner().Read(map_.Whole(offset), into); }
  using ZonedDevice::Write;
  Status Write(DeviceOffset offset, std::span<const ByteView> pieces) override {
    return inner().Write(map_.Whole(offset), pieces);
  }
  Result<DeviceOffset> Append(ZoneId zone, ByteView bytes) override {
    ZENFS_ASSIGN_OR_RETURN(const DeviceOffset at, inner().Append(map_.Whole(zone), bytes));
    return map_.Part(at);
  }
  Status Reset(ZoneId zone) override { return inner().Reset(map_.Whole(zone)); }
  Status Finish(ZoneId zone) override { return inner().Finish(map_.Whole(zone)); }
  Status Open(ZoneId zone) override { return inner().Open(map_.Whole(zone)); }
  Status Close(ZoneId zone) override { return inner().Close(map_.Whole(zone)); }
  Status OpenRandom(ZoneId zone) override { return inner().OpenRandom(map_.Whole(zone)); }
  Status CommitRandom(DeviceOffset to) override {
    // `to` may be the end of its zone.
    return inner().CommitRandom(map_.Whole(DeviceOffset(to.value - 1)) + 1);
  }
  Status Copy(DeviceOffset from, DeviceOffset to, std::uint64_t length) override {
    return inner().Copy(map_.Whole(from), map_.Whole(to), length);
  }
  Status Flush() override { return inner().FlushDeviceOf(ZoneId(map_.first)); }
  Status FlushDeviceOf(ZoneId) override { return Flush(); }
  std::unique_ptr<IoQueue> CreateQueue(std::size_t depth) override {
    return std::make_unique<SplitQueue>(map_, inner().CreateQueue(depth));
  }

 private:
  const Geometry geometry_;
  const SplitMap map_;
  const std::string name_;
};

std::unique_ptr<ZonedDevice> Lend(ZonedDevice& device, OpenMode mode) {
  return mode == OpenMode::kReadOnly ? MakeReadOnlyView(device) : Borrow(device);
}

}  // namespace

bool IsSplit(const ZonedDevice& device) {
  return device.geometry().log_zones != 0 && device.parts().main == nullptr;
}

SplitParts Split(ZonedDevice& device, OpenMode mode) {
  const Geometry& whole = device.geometry();
  Geometry main = whole;
  main.zone_count = whole.main_zones();
  main.log_zones = main.log_max_open = main.log_max_active = 0;
  Geometry logs = main;
  logs.zone_count = whole.log_zones;
  logs.max_open = whole.log_max_open;
  logs.max_active = whole.log_max_active;
  return {
      .main = std::make_unique<SplitPart>(Lend(device, mode), main,
                                          SplitMap{0, main.zone_count, 0, whole.zone_size}, device.name()),
      .logs = std::make_unique<SplitPart>(
          Lend(device, mode), logs, SplitMap{main.zone_count, logs.zone_count, kPairZones, whole.zone_size},
          device.name() + ":logs")};
}

Result<std::unique_ptr<ZonedDevice>> BorrowJoined(ZonedDevice& device, OpenMode mode) {
  if (!IsSplit(device)) return Lend(device, mode);
  SplitParts parts = Split(device, mode);
  return JoinDevices(std::move(parts.main), std::move(parts.logs), ZoneId(kPairZones));
}

}  // namespace zenfs
