#include "device/guarded_device.h"

#include <atomic>
#include <utility>

#include "base/aligned_buffer.h"
#include "base/assert.h"
#include "base/clock.h"
#include "base/sync_point.h"
#include "device/forwarding_device.h"
#include "device/presence.h"

namespace zenfs {

Status SharedFlush::Run() noexcept {
  MutexLock lock(mutex_);
  if (under_way_ && next_ == nullptr) next_ = std::make_shared<Group>();
  const std::shared_ptr<Group> mine = next_;
  SyncPoint::Reach("SharedFlush::Run:joined");
  while (under_way_ && !mine->done) ended_.Wait(mutex_);
  if (mine != nullptr && mine->done) return mine->status;
  under_way_ = true;
  ZENFS_ASSERT(next_ == mine);
  next_ = nullptr;
  lock.Unlock();
  Status flushed = flush_();
  lock.Lock();
  ZENFS_ASSERT(under_way_);
  under_way_ = false;
  if (mine != nullptr) {
    mine->done = true;
    mine->status = flushed;
  }
  if (mine != nullptr || next_ != nullptr) ended_.NotifyAll();
  return flushed;
}

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
            .failed_flushes = failed_flushes_.load(std::memory_order_acquire),
            .outages = outages_.load(std::memory_order_relaxed)};
  }
  Result<std::vector<ZoneInfo>> Report(ZoneId first, std::uint32_t count) override {
    const auto report = [&] { return inner().Report(first, count); };
    Result<std::vector<ZoneInfo>> zones = report();
    Repeat(zones, PartOf(first), report);
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
    Repeat(read, PartOf(offset), [&] {
      repeated_reads_.fetch_add(1, std::memory_order_relaxed);
      return inner().Read(offset, into);
    });
    return read;
  }

 private:
  static constexpr std::uint64_t kNoBlock = ~std::uint64_t{0};
  // One of two joined devices, or the only one.
  struct Part {
    std::atomic<std::uint64_t> readable{kNoBlock};  // a block of the device of the part that could be read
    std::atomic<std::uint32_t> bad_in_a_row{
        0};                        // reads and reports that failed although the part serves others
    std::atomic<bool> out{false};  // it served nothing when it was last asked
  };

  Part& PartOf(ZoneId zone) { return parts_[geometry_.OnLogDevice(zone) ? 1 : 0]; }
  // Every read asks: a single device needs no division.
  Part& PartOf(DeviceOffset offset) {
    return geometry_.log_zones == 0 ? parts_[0] : PartOf(geometry_.ZoneOf(offset));
  }

  // `result`: the result of the first try; set to that of the last try.
  template <typename Outcome, typename Again>
  void Repeat(Outcome& result, Part& part, const Again& again) {
    bool out = part.out.load(std::memory_order_relaxed);  // others may change it meanwhile
    if (!result.ok() && !out) out = TryAgain(result, part, again);
    if (result.ok()) {
      // Loads first: a store by each read would move the line between the processors.
      if (part.out.load(std::memory_order_relaxed)) part.out.store(false, std::memory_order_relaxed);
      if (part.bad_in_a_row.load(std::memory_order_relaxed) != 0)
        part.bad_in_a_row.store(0, std::memory_order_relaxed);
    } else if (out) {
      part.out.store(true, std::memory_order_relaxed);
      outages_.fetch_add(1, std::memory_order_relaxed);
    } else if (result.error().code() != Code::kInvalidArgument) {  // that says nothing of the medium
      part.bad_in_a_row.fetch_add(1, std::memory_order_relaxed);
    }
  }

  // A try counts against the block only if the part then serves another one: else the block may be good. Returns true if the
  // part serves nothing.
  template <typename Outcome, typename Again>
  bool TryAgain(Outcome& result, Part& part, const Again& again) {
    const Deadline deadline = Deadline::After(kOutageMax);
    const bool in_a_row = part.bad_in_a_row.load(std::memory_order_relaxed) >= kGiveUpAfter;
    for (int failed = 1;; ++failed) {
      if (result.error().code() == Code::kInvalidArgument) return false;
      const Status serves = Serves(part, deadline);
      if (serves.ok()) {
        if (failed == MostTries(result.error(), in_a_row)) return false;
        if (failed + 1 == kReadTries) SleepUntil(SteadyNow() + kReadPause);
      } else if (MayPass(serves.error()) && !inner().IsGone() && !deadline.Passed()) {
        failed = 0;
        SleepUntil(SteadyNow() + kReadPause);
      } else {
        return true;
      }
      result = again();
      if (result.ok()) return false;
    }
  }

  static int MostTries(const Error& error, bool in_a_row) {
    if (error.code() == Code::kTimedOut) return 2;  // it may have been the end of an outage
    if (!MayPass(error)) return 1;
    return in_a_row ? 2 : kReadTries;
  }

  // Reads a block that can be read. OK also if there is none because nothing is written. Of two joined devices the one of the part
  // is asked directly, with the zones that the joined device hides: they may be the only good ones.
  Status Serves(Part& part, Deadline deadline) {
    const JoinedParts joined = parts();
    ZonedDevice& device = joined.main == nullptr ? inner()
                          : &part == &parts_[0]  ? *joined.main
                                                 : *joined.logs;
    if (const std::uint64_t known = part.readable.load(std::memory_order_relaxed); known != kNoBlock) {
      AlignedBuffer block(device.geometry().block_size);
      block.Resize(device.geometry().block_size);
      if (device.Read(DeviceOffset(known), block.Span()).ok()) return {};
    }
    // The zone of that block may have been reset.
    ZENFS_ASSIGN_OR_RETURN(const std::optional<DeviceOffset> found, FindReadable(device, deadline));
    if (found) part.readable.store(found->value, std::memory_order_relaxed);
    return {};
  }

  Status FlushOne(ZoneId zone) {
    const Status flushed = inner().FlushDeviceOf(zone);
    if (flushed.ok()) return flushed;
    failed_flushes_.fetch_add(1, std::memory_order_acq_rel);
    // Any failed flush may have lost data, so all have the same code.
    return Fail(flushed.error().As(Code::kIo));
  }

  const Geometry& geometry_ = inner().geometry();  // without the calls through all decorators
  std::atomic<std::uint64_t> repeated_reads_{0};
  std::atomic<std::uint64_t> failed_flushes_{0};
  // For each of two joined devices. A single device has the first.
  SharedFlush flush_{[this] { return FlushOne(ZoneId(0)); }};
  SharedFlush log_flush_{[this] { return FlushOne(ZoneId(geometry().main_zones())); }};
  std::atomic<std::uint64_t> outages_{0};
  Part parts_[2];  // the main zones; those of the log device
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
      if (request.kind != IoRequest::Kind::kRead || request.given_up) continue;
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
