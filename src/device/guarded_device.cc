#include "device/guarded_device.h"

#include <atomic>
#include <utility>

#include "base/clock.h"
#include "device/shared_flush.h"

namespace zenfs {
namespace {

// What may come out otherwise when it is asked again.
bool MayPass(const Error& error) {
  return error.code() == Code::kIo || error.code() == Code::kBusy || error.code() == Code::kUnknownOutcome;
}

class GuardedDevice final : public ZonedDevice {
 public:
  GuardedDevice(std::unique_ptr<ZonedDevice> owned, ZonedDevice& device)
      : owned_(std::move(owned)), device_(device) {}

  const Geometry& geometry() const override { return device_.geometry(); }
  const std::string& name() const override { return device_.name(); }
  const std::string& identity() const override { return device_.identity(); }
  std::optional<std::uint32_t> owner() const override { return device_.owner(); }
  std::vector<std::string> notices() const override { return device_.notices(); }
  std::uint64_t emulation_cpu_ns() const override { return device_.emulation_cpu_ns(); }
  OpenMode mode() const override { return device_.mode(); }
  DeviceErrors errors() const override {
    return {.repeated_reads = repeated_reads_.load(std::memory_order_relaxed),
            .failed_flushes = failed_flushes_.load(std::memory_order_acquire)};
  }
  Result<std::vector<ZoneInfo>> Report(ZoneId first, std::uint32_t count) override {
    const auto report = [&] { return device_.Report(first, count); };
    Result<std::vector<ZoneInfo>> zones = report();
    Repeat(zones, report);
    return zones;
  }
  Status Read(DeviceOffset offset, ByteSpan into) override {
    return Settle(device_.Read(offset, into), offset, into);
  }
  using ZonedDevice::Write;
  Status Write(DeviceOffset offset, std::span<const ByteView> pieces) override {
    return device_.Write(offset, pieces);
  }
  Result<DeviceOffset> Append(ZoneId zone, ByteView bytes) override { return device_.Append(zone, bytes); }
  Status Reset(ZoneId zone) override { return device_.Reset(zone); }
  Status Finish(ZoneId zone) override { return device_.Finish(zone); }
  Status Open(ZoneId zone) override { return device_.Open(zone); }
  Status Close(ZoneId zone) override { return device_.Close(zone); }
  Status Flush() override { return flush_.Run(); }
  std::unique_ptr<IoQueue> CreateQueue(std::size_t depth) override;

  // What comes of a read that has been sent once and ended as `read`.
  Status Settle(Status read, DeviceOffset offset, ByteSpan into) {
    Repeat(read, [&] {
      repeated_reads_.fetch_add(1, std::memory_order_relaxed);
      return device_.Read(offset, into);
    });
    return read;
  }

 private:
  // `result`: of the first try, then of the last.
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

  const std::unique_ptr<ZonedDevice> owned_;  // or null
  ZonedDevice& device_;
  std::atomic<std::uint64_t> repeated_reads_{0};
  std::atomic<std::uint64_t> failed_flushes_{0};
  SharedFlush flush_{[this]() -> Status {
    const Status flushed = device_.Flush();
    if (flushed.ok()) return flushed;
    failed_flushes_.fetch_add(1, std::memory_order_acq_rel);
    // Timed out or refused: for what was written it is the same.
    return Fail(flushed.error().As(Code::kIo));
  }};
  std::atomic<std::uint32_t> in_vain_{0};  // reads and reports in a row that failed for good
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

 private:
  GuardedDevice& device_;
  const std::unique_ptr<IoQueue> queue_;
};

std::unique_ptr<IoQueue> GuardedDevice::CreateQueue(std::size_t depth) {
  return std::make_unique<GuardedQueue>(*this, device_.CreateQueue(depth));
}

}  // namespace

std::unique_ptr<ZonedDevice> GuardDevice(std::unique_ptr<ZonedDevice> device) {
  ZonedDevice& guarded = *device;
  return std::make_unique<GuardedDevice>(std::move(device), guarded);
}

std::unique_ptr<ZonedDevice> GuardDevice(ZonedDevice& device) {
  return std::make_unique<GuardedDevice>(nullptr, device);
}

}  // namespace zenfs
