// Reorders requests: each Reap executes as many as it must, chosen at random.
//
// Threads: one at a time, as for every IoQueue.
#pragma once

#include <vector>

#include "device/zoned_device.h"

namespace zenfs {

class SimDevice;

class SimQueue final : public IoQueue {
 public:
  // `device` must outlive the queue.
  explicit SimQueue(SimDevice& device) : device_(device) {}
  ~SimQueue() override;

  void Submit(IoRequest* request) override { waiting_.push_back(request); }
  void Reap(std::size_t min_count, std::vector<IoRequest*>& done) override;
  std::size_t in_flight() const override { return waiting_.size(); }

 private:
  IoRequest* CarryOutOne();

  SimDevice& device_;
  std::vector<IoRequest*> waiting_;
};

}  // namespace zenfs
