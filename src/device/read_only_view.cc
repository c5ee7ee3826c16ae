#include "device/read_only_view.h"

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

 private:
  std::unique_ptr<IoQueue> queue_;
  std::vector<IoRequest*> refused_;
};

class ReadOnlyView final : public ZonedDevice {
 public:
  explicit ReadOnlyView(ZonedDevice& device) : device_(device) {}

  const Geometry& geometry() const override { return device_.geometry(); }
  const std::string& name() const override { return device_.name(); }
  const std::string& identity() const override { return device_.identity(); }
  std::optional<std::uint32_t> owner() const override { return device_.owner(); }
  std::vector<std::string> notices() const override { return device_.notices(); }
  std::uint64_t emulation_cpu_ns() const override { return device_.emulation_cpu_ns(); }
  DeviceErrors errors() const override { return device_.errors(); }
  OpenMode mode() const override { return OpenMode::kReadOnly; }
  Result<std::vector<ZoneInfo>> Report(ZoneId first, std::uint32_t count) override {
    return device_.Report(first, count);
  }
  Status Read(DeviceOffset offset, ByteSpan into) override { return device_.Read(offset, into); }
  Status Write(DeviceOffset, std::span<const ByteView>) override { return Refuse("write"); }
  Result<DeviceOffset> Append(ZoneId, ByteView) override { return Fail(Refuse("append").error()); }
  Status Reset(ZoneId) override { return Refuse("reset"); }
  Status Finish(ZoneId) override { return Refuse("finish"); }
  Status Open(ZoneId) override { return Refuse("open"); }
  Status Close(ZoneId) override { return Refuse("close"); }
  Status Flush() override { return Refuse("flush"); }
  std::unique_ptr<IoQueue> CreateQueue(std::size_t depth) override {
    return std::make_unique<ReadOnlyQueue>(device_.CreateQueue(depth));
  }

 private:
  Status Refuse(const char* what) const {
    return Fail(Code::kReadOnly, device_.name() + ": " + what + " on a device that is open read-only");
  }

  ZonedDevice& device_;
};

}  // namespace

std::unique_ptr<ZonedDevice> MakeReadOnlyView(ZonedDevice& device) {
  return std::make_unique<ReadOnlyView>(device);
}

}  // namespace zenfs
