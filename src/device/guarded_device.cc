#include "device/guarded_device.h"

#include <atomic>
#include <utility>

#include "base/clock.h"
#include "device/forwarding_device.h"
#include "device/shared_flush.h"

namespace zenfs {
namespace {

// Returns true for errors after which a retry may succeed.
bool MayPass(const Error& error) {
  return error.code() == Code::kIo || error.code() == Code::kBusy || error.code() == Code::kUnknownOutcome;
}

class GuardedDevice final : public ForwardingDevice {
 public:
  using ForwardingDevice::ForwardingDevice;

  // Who gets an error from the cache asks the device.
  HostCache* host_cache() override { return inner().host_cache(); }
  std::uint64_t KnownZeros(DeviceOffset from, std::uint64_t length) override {
    return inner().KnownZeros(from, length);
  }
  DeviceErrors errors() const override {
    return {.repeated_reads = repeated_reads_.load(std::memory_order_relaxed),
            .failed_flushes = failed_flushes_.load(std::memory_order_acquire)};
  }
  Result<std::vector<ZoneInfo>> Report(ZoneId first, std::uint32_t count) override {
    const auto report = [&] { return inner().Report(first, count); };
    Result<std::vector<ZoneInfo>> zones = report();
    Repeat(zones, report);
    return zones;
  }
  Status Read(DeviceOffset offset, ByteSpan into) override {
    return Settle(inner().Read(offset, into), offset, into);
  }
  Status Flush() override {
    if (geometry().log_zones == 0) return flush_.Run();
    const Status log = log_flush_.Run();
    const Status main = flush_.Run();
    return main.ok() ? log : main;
  }
  Status FlushDeviceOf(ZoneId zone) override {
    return geometry().OnLogDevice(zone) ? log_flush_.Run() : flush_.Run();
  }
  std::unique_ptr<IoQueue> CreateQueue(std::size_t depth) override;

  // Repeats a read whose first try returned `read`, if needed. Returns the final status.
  Status Settle(Status read, DeviceOffset offset, ByteSpan into) {
    Repeat(read, [&] {
      repeated_reads_.fetch_add(1, std::memory_order_relaxed);
      return inner().Read(offset, into);
    });
    return read;
  }

 private:
  // `result`: the result of the first try; set to that of the last try.
  template <typename Outcome, typename Again>
  void Repeat(Outcome& result, const Again& again) {
    for (int tried = 1; !result.ok() && tried < kReadTries; ++tried) {
      if (!MayPass(result.error()) || in_vain_.load(std::memory_order_relaxed) >= kGiveUpAfter) break;
      if (tried + 1 == kReadTries) SleepUntil(SteadyNow() + kReadPause);
      result = again();
    }
    if (!result.ok()) {
      in_vain_.fetch_add(1, std::memory_order_relaxed);
    } else if (in_vain_.load(std::memory_order_relaxed) != 0) {
      in_vain_.store(0, std::memory_order_relaxed);
    }
  }

  Status FlushOne(ZoneId zone) {
    const Status flushed = inner().FlushDeviceOf(zone);
    if (flushed.ok()) return flushed;
    failed_flushes_.fetch_add(1, std::memory_order_acq_rel);
    // Any failed flush may have lost data, so all have the same code.
    return Fail(flushed.error().As(Code::kIo));
  }

  std::atomic<std::uint64_t> repeated_reads_{0};
  std::atomic<std::uint64_t> failed_flushes_{0};
  // For each of two joined devices. A single device has the first.
  SharedFlush flush_{[this] { return FlushOne(ZoneId(0)); }};
  SharedFlush log_flush_{[this] { return FlushOne(ZoneId(geometry().main_zones())); }};
  std::atomic<std::uint32_t> in_vain_{0};  // consecutive reads and reports that failed finally
};

class GuardedQueue final : public IoQueue {
 public:
  GuardedQueue(GuardedDevice& device, std::unique_ptr<IoQueue> queue)
      : device_(device), queue_(std::move(queue)) {}

  void Submit(IoRequest* request) override { queue_->Submit(request); }
  void Reap(std::size_t min_count, std::vector<IoRequest*>& done) override {
    const std::size_t before = done.size();
    queue_->Reap(min_count, done);
    for (std::size_t i = before; i < done.size(); ++i) {
      IoRequest& request = *done[i];
      if (request.kind != IoRequest::Kind::kRead) continue;
      request.status = device_.Settle(std::move(request.status), request.offset, request.read_into);
    }
  }
  std::size_t in_flight() const override { return queue_->in_flight(); }
  bool overlaps() const override { return queue_->overlaps(); }

 private:
  GuardedDevice& device_;
  const std::unique_ptr<IoQueue> queue_;
};

std::unique_ptr<IoQueue> GuardedDevice::CreateQueue(std::size_t depth) {
  return std::make_unique<GuardedQueue>(*this, inner().CreateQueue(depth));
}

}  // namespace

std::unique_ptr<ZonedDevice> GuardDevice(std::unique_ptr<ZonedDevice> device) {
  return std::make_unique<GuardedDevice>(std::move(device));
}

std::unique_ptr<ZonedDevice> GuardDevice(ZonedDevice& device) {
  return std::make_unique<GuardedDevice>(device);
}

}  // namespace zenfs
