#include "device/joined_queue.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

namespace zenfs {
namespace {

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

}  // namespace

ZoneInfo PartMap::Outer(const ZoneInfo& inner) const {
  ZoneInfo zone = inner;
  zone.id = Outer(inner.id);
  zone.start = DeviceOffset(zone.id.value * zone_size);
  zone.write_pointer = zone.start + (inner.write_pointer - inner.start);
  return zone;
}

Status PartMap::CheckFits(DeviceOffset outer, std::uint64_t bytes) const {
  if (outer.value % zone_size + bytes <= device.geometry().zone_size) return {};
  const ZoneId zone(static_cast<std::uint32_t>(outer.value / zone_size));
  return Fail(Code::kInvalidArgument,
              fmt::format("{}: {} bytes at byte {} of zone {} are beyond its end", device.name(), bytes,
                          outer.value % zone_size, Inner(zone).value));
}

std::unique_ptr<IoQueue> MakeJoinedQueue(const PartMap& main, const PartMap& logs, std::size_t depth) {
  return std::make_unique<JoinedQueue>(main, logs, depth);
}

}  // namespace zenfs
