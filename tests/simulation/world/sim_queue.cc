#include "world/sim_queue.h"

#include <algorithm>

#include "testing/immediate_queue.h"
#include "world/sim_device.h"

namespace zenfs {

SimQueue::~SimQueue() {
  while (!waiting_.empty()) CarryOutOne();
}

IoRequest* SimQueue::CarryOutOne() {
  const auto picked = waiting_.begin() + static_cast<std::ptrdiff_t>(device_.Below(waiting_.size()));
  IoRequest* const request = *picked;
  waiting_.erase(picked);
  CarryOut(device_, *request);
  return request;
}

void SimQueue::Reap(std::size_t min_count, std::vector<IoRequest*>& done) {
  const std::size_t must = std::min(min_count, waiting_.size());
  const std::size_t count = must + (waiting_.empty() ? 0 : device_.Below(waiting_.size() - must + 1));
  for (std::size_t i = 0; i < count; ++i) done.push_back(CarryOutOne());
}

}  // namespace zenfs
