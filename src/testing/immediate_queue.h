// A queue for devices without their own: Submit executes a request by a call of the device, and the
// next Reap delivers it.
#pragma once

#include <deque>

#include "device/zoned_device.h"

namespace zenfs {

// Executes `request` by the matching call of the device and stores the outcome in the request.
void CarryOut(ZonedDevice& device, IoRequest& request);

class ImmediateQueue final : public IoQueue {
 public:
  // `device` must outlive the queue.
  explicit ImmediateQueue(ZonedDevice& device) : device_(device) {}

  void Submit(IoRequest* request) override;
  void Reap(std::size_t min_count, std::vector<IoRequest*>& done) override;
  std::size_t in_flight() const override { return finished_.size(); }
  bool overlaps() const override { return false; }

 private:
  ZonedDevice& device_;
  std::deque<IoRequest*> finished_;
};

}  // namespace zenfs
