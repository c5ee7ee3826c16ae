#include "queue_load.h"

#include <cmath>
#include <optional>

#include "base/aligned_buffer.h"
#include "base/random.h"
#include "zone_load.h"

namespace zenfs {
namespace {

using Kind = TimedCommand::Kind;

constexpr std::chrono::milliseconds kStart{20};  // in which the buffer fills

std::chrono::nanoseconds Seconds(double seconds) {
  return std::chrono::nanoseconds(std::llround(seconds * 1e9));
}

// One command in flight, sent again and again.
struct Sender {
  IoRequest request;
  SteadyTime sent;
  std::uint64_t written = 0;  // of its zone, if it writes
};

class QueueLoad {
 public:
  QueueLoad(ZonedDevice& device, const Load& load, double seconds)
      : device_(device),
        load_(load),
        buffer_(std::max(load.bytes, kBackgroundWrite)),
        random_(1),
        senders_(load.in_flight),
        queue_(device.CreateQueue(load.in_flight + 1)),
        begin_(SteadyNow() + kStart),
        end_(begin_ + Seconds(seconds)) {
    buffer_.Resize(buffer_.capacity());
    std::ranges::fill(buffer_.Whole(), std::byte{0x5a});
  }

  Result<LoadOutcome> Go() {
    std::optional<ZoneLoad> manager;
    if (load_.finishing || load_.resets_per_second > 0) manager.emplace(device_, load_);
    for (std::uint32_t i = 0; i < senders_.size(); ++i) {
      senders_[i].request.tag = &senders_[i];
      Send(senders_[i], i);
    }
    SteadyTime now = SteadyNow();
    background_next_ = now;
    background_.request.tag = &background_;
    while (now < end_) {
      if (load_.write_mib_per_second > 0 && !background_in_flight_ && now >= background_next_)
        SendBackground(now);
      // While a write beside is to be sent soon, the queue must not be waited for.
      const bool idle_background = load_.write_mib_per_second > 0 && !background_in_flight_;
      done_.clear();
      queue_->Reap(idle_background ? 0 : 1, done_);
      now = SteadyNow();
      for (IoRequest* request : done_)
        ZENFS_RETURN_IF_ERROR(Completed(*static_cast<Sender*>(request->tag), now));
    }
    queue_->Reap(queue_->in_flight(), done_);
    outcome_.seconds = std::chrono::duration<double>(end_ - begin_).count();
    return std::move(outcome_);
  }

 private:
  void Send(Sender& sender, std::uint32_t index) {
    IoRequest& request = sender.request;
    switch (load_.kind) {
      case Kind::kWrite:
        request.kind = IoRequest::Kind::kWrite;
        request.offset = device_.geometry().ZoneStart(ZoneId(index)) + sender.written;
        sender.written += load_.bytes;
        break;
      case Kind::kAppend:
        request.kind = IoRequest::Kind::kAppend;
        request.offset = device_.geometry().ZoneStart(ZoneId(0));
        break;
      default: {
        request.kind = IoRequest::Kind::kRead;
        const ZoneId zone(kFirstReadZone + static_cast<std::uint32_t>(random_.Below(kReadZones)));
        request.offset =
            device_.geometry().ZoneStart(zone) + random_.Below(kZoneCapacity / load_.bytes) * load_.bytes;
      }
    }
    request.read_into = buffer_.Whole().first(load_.bytes);
    request.write_from = buffer_.View(0, load_.bytes);
    sender.sent = SteadyNow();
    queue_->Submit(&request);
  }

  void SendBackground(SteadyTime now) {
    background_.request.kind = IoRequest::Kind::kWrite;
    background_.request.offset = device_.geometry().ZoneStart(ZoneId(kBackgroundZone)) + background_.written;
    background_.request.write_from = buffer_.View(0, kBackgroundWrite);
    background_.written += kBackgroundWrite;
    background_next_ = std::max(background_next_, now - kStart) +  // catches up, but not with a long stall
                       Seconds(static_cast<double>(kBackgroundWrite) / (load_.write_mib_per_second * kMib));
    background_in_flight_ = true;
    queue_->Submit(&background_.request);
  }

  Status Completed(Sender& sender, SteadyTime now) {
    if (!sender.request.status.ok()) return sender.request.status;
    const bool counts = now >= begin_ && now < end_;
    if (&sender == &background_) {
      background_in_flight_ = false;
      if (counts) outcome_.background_bytes += kBackgroundWrite;
      return {};
    }
    if (counts) {
      outcome_.latencies_us.push_back(std::chrono::duration<double, std::micro>(now - sender.sent).count());
    }
    Send(sender, static_cast<std::uint32_t>(&sender - senders_.data()));
    return {};
  }

  ZonedDevice& device_;
  const Load load_;
  AlignedBuffer buffer_;  // of all of them: nobody looks at the data
  Random random_;
  std::vector<Sender> senders_;
  Sender background_;
  bool background_in_flight_ = false;
  SteadyTime background_next_;
  const std::unique_ptr<IoQueue> queue_;
  const SteadyTime begin_;
  const SteadyTime end_;
  std::vector<IoRequest*> done_;
  LoadOutcome outcome_;
};

}  // namespace

Result<LoadOutcome> RunQueueLoad(ZonedDevice& device, const Load& load, double seconds) {
  return QueueLoad(device, load, seconds).Go();
}

}  // namespace zenfs
