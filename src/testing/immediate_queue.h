// A queue for devices that have none of their own: a request is carried out by the device's own calls when it
// is submitted, and delivered by the next Reap.
#pragma once

#include <deque>

#include "device/zoned_device.h"

namespace zenfs {

// By the device's own call for it; the outcome is in the request.
void CarryOut(ZonedDevice& device, IoRequest& request);

class ImmediateQueue final : public IoQueue {
 public:
  // `device` must outlive the queue.
  explicit ImmediateQueue(ZonedDevice& device) : device_(device) {}

  void Submit(IoRequest* request) override;
  void Reap(std::size_t min_count, std::vector<IoRequest*>& done) override;
  std::size_t in_flight() const override { return finished_.size(); }

 private:
  ZonedDevice& device_;
  std::deque<IoRequest*> finished_;
};

}  // namespace zenfs
