#include "device/read_only_view.h"

#include "device/forwarding_device.h"

namespace zenfs {
namespace {

class ReadOnlyQueue final : public IoQueue {
 public:
  explicit ReadOnlyQueue(std::unique_ptr<IoQueue> queue) : queue_(std::move(queue)) {}

  void Submit(IoRequest* request) override {
    if (request->kind == IoRequest::Kind::kRead) return queue_->Submit(request);
    request->status = Fail(Code::kReadOnly, "the device is open read-only");
    refused_.push_back(request);
  }
  void Reap(std::size_t min_count, std::vector<IoRequest*>& done) override {
    done.insert(done.end(), refused_.begin(), refused_.end());
    const std::size_t still = min_count > refused_.size() ? min_count - refused_.size() : 0;
    refused_.clear();
    queue_->Reap(still, done);
  }
  std::size_t in_flight() const override { return queue_->in_flight() + refused_.size(); }
  bool overlaps() const override { return queue_->overlaps(); }

 private:
  std::unique_ptr<IoQueue> queue_;
  std::vector<IoRequest*> refused_;
};

class ReadOnlyView final : public ForwardingDevice {
 public:
  explicit ReadOnlyView(ZonedDevice& device) : ForwardingDevice(device) {
    const JoinedParts parts = device.parts();
    if (parts.main == nullptr) return;
    main_ = MakeReadOnlyView(*parts.main);
    logs_ = MakeReadOnlyView(*parts.logs);
  }

  OpenMode mode() const override { return OpenMode::kReadOnly; }
  HostCache* host_cache() override { return inner().host_cache(); }
  std::uint64_t KnownZeros(DeviceOffset from, std::uint64_t length) override {
    return inner().KnownZeros(from, length);
  }
  JoinedParts parts() const override { return {.main = main_.get(), .logs = logs_.get()}; }
  Status Write(DeviceOffset, std::span<const ByteView>) override { return Refuse("write"); }
  Result<DeviceOffset> Append(ZoneId, ByteView) override { return Fail(Refuse("append").error()); }
  Status Reset(ZoneId) override { return Refuse("reset"); }
  Status Finish(ZoneId) override { return Refuse("finish"); }
  Status Open(ZoneId) override { return Refuse("open"); }
  Status Close(ZoneId) override { return Refuse("close"); }
  Status OpenRandom(ZoneId) override { return Refuse("open"); }
  Status CommitRandom(DeviceOffset) override { return Refuse("commit"); }
  Status Copy(DeviceOffset, DeviceOffset, std::uint64_t) override { return Refuse("copy"); }
  Status Flush() override { return Refuse("flush"); }
  Status FlushDeviceOf(ZoneId) override { return Refuse("flush"); }
  std::unique_ptr<IoQueue> CreateQueue(std::size_t depth) override {
    return std::make_unique<ReadOnlyQueue>(inner().CreateQueue(depth));
  }

 private:
  Status Refuse(const char* what) const {
    return Fail(Code::kReadOnly, inner().name() + ": " + what + " on a device that is open read-only");
  }

  std::unique_ptr<ZonedDevice> main_;  // views of the parts of a joined device
  std::unique_ptr<ZonedDevice> logs_;
};

}  // namespace

std::unique_ptr<ZonedDevice> MakeReadOnlyView(ZonedDevice& device) {
  return std::make_unique<ReadOnlyView>(device);
}

}  // namespace zenfs
