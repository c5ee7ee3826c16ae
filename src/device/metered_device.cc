#include "device/metered_device.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "device/forwarding_device.h"

namespace zenfs {
namespace {

Operation OperationOf(IoRequest::Kind kind) {
  switch (kind) {
    case IoRequest::Kind::kRead: return Operation::kDeviceRead;
    case IoRequest::Kind::kWrite: return Operation::kZoneWrite;
    case IoRequest::Kind::kAppend: return Operation::kZoneAppend;
  }
  return Operation::kDeviceRead;
}

void NoteRepeatedReads(const ZonedDevice& device, Metrics& metrics) {
  const std::uint64_t repeated = device.errors().repeated_reads;
  if (repeated != 0) metrics.RaiseTo(Value::kReadRetries, repeated);
}

class MeteredQueue final : public IoQueue {
 public:
  MeteredQueue(const ZonedDevice& device, std::unique_ptr<IoQueue> queue, Metrics& metrics)
      : device_(device), queue_(std::move(queue)), metrics_(metrics) {}

  void Submit(IoRequest* request) override {
    metrics_.Count(OperationOf(request->kind));
    begun_.emplace_back(request, SteadyNow());
    queue_->Submit(request);
  }
  void Reap(std::size_t min_count, std::vector<IoRequest*>& done) override {
    const std::size_t before = done.size();
    queue_->Reap(min_count, done);
    if (done.size() == before) return;
    const SteadyTime now = SteadyNow();
    for (std::size_t i = before; i < done.size(); ++i) Reaped(*done[i], now);
    NoteRepeatedReads(device_, metrics_);
  }
  std::size_t in_flight() const override { return queue_->in_flight(); }
  bool overlaps() const override { return queue_->overlaps(); }

 private:
  void Reaped(const IoRequest& request, SteadyTime now) {
    const Operation operation = OperationOf(request.kind);
    if (request.status.ok()) {
      const bool read = request.kind == IoRequest::Kind::kRead;
      metrics_.CountBytes(operation, read ? request.read_into.size() : request.write_from.size());
    } else {
      metrics_.CountError(operation);
    }
    const auto begun = std::find_if(begun_.begin(), begun_.end(),
                                    [&](const auto& entry) { return entry.first == &request; });
    if (begun == begun_.end()) return;
    metrics_.Time(operation, now - begun->second);
    *begun = begun_.back();
    begun_.pop_back();
  }

  const ZonedDevice& device_;
  const std::unique_ptr<IoQueue> queue_;
  Metrics& metrics_;
  std::vector<std::pair<const IoRequest*, SteadyTime>> begun_;  // requests in flight
};

// What the cache reads from the device is known to the host only.
class MeteredCache final : public HostCache {
 public:
  MeteredCache(HostCache& cache, Metrics& metrics) : cache_(cache), metrics_(metrics) {}

  void Read(std::span<CachedRead> reads) override {
    Meter meter(metrics_, Operation::kCachedRead);
    for (std::size_t i = 1; i < reads.size(); ++i) metrics_.Count(Operation::kCachedRead);
    cache_.Read(reads);
    for (const CachedRead& read : reads) {
      if (read.status.ok()) {
        metrics_.CountBytes(Operation::kCachedRead, read.into.size());
      } else {
        metrics_.CountError(Operation::kCachedRead);
      }
    }
  }
  void Advise(DeviceOffset offset, std::uint64_t length, CacheAdvice advice) override {
    cache_.Advise(offset, length, advice);
  }

 private:
  HostCache& cache_;
  Metrics& metrics_;
};

class MeteredDevice final : public ForwardingDevice {
 public:
  MeteredDevice(std::unique_ptr<ZonedDevice> device, Metrics& metrics)
      : ForwardingDevice(std::move(device)), metrics_(metrics) {
    if (HostCache* const cache = inner().host_cache()) cache_.emplace(*cache, metrics);
  }

  HostCache* host_cache() override { return cache_ ? &*cache_ : nullptr; }
  std::uint64_t KnownZeros(DeviceOffset from, std::uint64_t length) override {
    return inner().KnownZeros(from, length);
  }
  Status Read(DeviceOffset offset, ByteSpan into) override {
    Meter meter(metrics_, Operation::kDeviceRead);
    Status read = inner().Read(offset, into);
    NoteRepeatedReads(inner(), metrics_);
    return meter.Done(std::move(read), into.size());
  }
  using ZonedDevice::Write;
  Status Write(DeviceOffset offset, std::span<const ByteView> pieces) override {
    std::uint64_t bytes = 0;
    for (const ByteView piece : pieces) bytes += piece.size();
    Meter meter(metrics_, Operation::kZoneWrite);
    return meter.Done(inner().Write(offset, pieces), bytes);
  }
  Result<DeviceOffset> Append(ZoneId zone, ByteView bytes) override {
    Meter meter(metrics_, Operation::kZoneAppend);
    return meter.Done(inner().Append(zone, bytes), bytes.size());
  }
  // Counts as a write: it takes the same of the device.
  Status Copy(DeviceOffset from, DeviceOffset to, std::uint64_t length) override {
    Meter meter(metrics_, Operation::kZoneWrite);
    return meter.Done(inner().Copy(from, to, length), length);
  }
  Status Reset(ZoneId zone) override {
    Meter meter(metrics_, Operation::kZoneReset);
    return meter.Done(inner().Reset(zone));
  }
  Status Finish(ZoneId zone) override {
    const std::uint64_t room = RoomOf(zone);
    Meter meter(metrics_, Operation::kZoneFinish);
    Status finished = meter.Done(inner().Finish(zone));
    if (finished.ok()) metrics_.Change(Value::kFinishedBytes, static_cast<std::int64_t>(room));
    return finished;
  }
  Status Flush() override {
    Meter meter(metrics_, Operation::kDeviceFlush);
    return meter.Done(inner().Flush());
  }
  Status FlushDeviceOf(ZoneId zone) override {
    Meter meter(metrics_, Operation::kDeviceFlush);
    return meter.Done(inner().FlushDeviceOf(zone));
  }
  std::unique_ptr<IoQueue> CreateQueue(std::size_t depth) override {
    return std::make_unique<MeteredQueue>(inner(), inner().CreateQueue(depth), metrics_);
  }

 private:
  // Bytes that can still be written to the zone; 0 if the report fails.
  std::uint64_t RoomOf(ZoneId zone) {
    const Result<ZoneInfo> report = inner().ReportZone(zone);
    if (!report) return 0;
    return report->capacity - std::min(report->capacity, report->WrittenBytes());
  }

  Metrics& metrics_;
  std::optional<MeteredCache> cache_;
};

}  // namespace

std::unique_ptr<ZonedDevice> MeterDevice(std::unique_ptr<ZonedDevice> device, Metrics& metrics) {
  return std::make_unique<MeteredDevice>(std::move(device), metrics);
}

}  // namespace zenfs
