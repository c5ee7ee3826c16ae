#include "backends/emulator/emulated_queue.h"

#include <algorithm>

#include "backends/emulator/emulated_device.h"

namespace zenfs {

EmulatedQueue::EmulatedQueue(EmulatedDevice& device, std::size_t depth) : device_(device) {
  waiting_.reserve(depth);
  device_.CountQueue(1);
}

EmulatedQueue::~EmulatedQueue() {
  if (!waiting_.empty()) device_.WaitUntil(waiting_.back().due);
  device_.CountQueue(-1);
}

bool EmulatedQueue::overlaps() const { return device_.ReadsWait(); }

void EmulatedQueue::Submit(IoRequest* request) {
  const SteadyTime due = device_.Start(*request);
  const auto later = std::upper_bound(waiting_.begin(), waiting_.end(), due,
                                      [](SteadyTime when, const Entry& entry) { return when < entry.due; });
  waiting_.insert(later, Entry{due, request});
}

void EmulatedQueue::Reap(std::size_t min_count, std::vector<IoRequest*>& done) {
  if (waiting_.empty()) return;
  const std::size_t wanted = std::min(min_count, waiting_.size());
  if (waiting_.back().due == SteadyTime{}) {  // without latencies: completes without reading the clock
    for (const Entry& entry : waiting_) done.push_back(entry.request);
    waiting_.clear();
    return;
  }
  if (wanted != 0) device_.WaitUntil(waiting_[wanted - 1].due);
  const SteadyTime now = SteadyNow();
  const auto end = std::find_if(waiting_.begin() + static_cast<std::ptrdiff_t>(wanted), waiting_.end(),
                                [now](const Entry& entry) { return entry.due > now; });
  std::for_each(waiting_.begin(), end, [&done](const Entry& entry) { done.push_back(entry.request); });
  waiting_.erase(waiting_.begin(), end);
}

}  // namespace zenfs
