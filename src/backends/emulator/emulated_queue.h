// The queue of an emulated device. A command is executed when it is submitted and completes when
// its latency has passed, so latencies of commands in flight overlap. Starts no thread.
#pragma once

#include <vector>

#include "base/clock.h"
#include "device/zoned_device.h"

namespace zenfs {

class EmulatedDevice;

class EmulatedQueue final : public IoQueue {
 public:
  EmulatedQueue(EmulatedDevice& device, std::size_t depth);
  ~EmulatedQueue() override;

  void Submit(IoRequest* request) override;
  void Reap(std::size_t min_count, std::vector<IoRequest*>& done) override;
  std::size_t in_flight() const override { return waiting_.size(); }
  bool overlaps() const override;

 private:
  struct Entry {
    SteadyTime due;
    IoRequest* request;
  };

  EmulatedDevice& device_;
  std::vector<Entry> waiting_;  // sorted by due time, then by submission
};

}  // namespace zenfs
