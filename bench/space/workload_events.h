// The events of a workload that is made up, in their order. A workload derives from it and adds events step by step.
//
// Threads: for one thread.
#pragma once

#include <deque>

#include "base/random.h"
#include "trace_source.h"

namespace zenfs::space {

// Uniform in [0, 1).
inline double DrawShare(Random& random) { return static_cast<double>(random.Next() >> 11) * 0x1p-53; }

class WorkloadEvents : public TraceSource {
 public:
  [[nodiscard]] Result<std::optional<TraceEvent>> Next() final {
    while (events_.empty()) Step();
    const TraceEvent event = events_.front();
    events_.pop_front();
    return event;
  }

 protected:
  // Adds the next events. Called again and again while it added none.
  virtual void Step() = 0;

  FileId Create(TracedKind kind, Lifetime lifetime) {
    const FileId id(next_id_++);
    events_.push_back(
        {.at_ms = now_ms(), .what = TraceEvent::What::kCreate, .id = id, .kind = kind, .lifetime = lifetime});
    return id;
  }
  // The file has grown by `grown` to `size` bytes.
  void Grow(FileId id, std::uint64_t size, std::uint64_t grown) {
    written_ += grown;
    events_.push_back({.at_ms = now_ms(), .what = TraceEvent::What::kSize, .id = id, .bytes = size});
  }
  void Close(FileId id, std::uint64_t size) {
    events_.push_back({.at_ms = now_ms(), .what = TraceEvent::What::kClose, .id = id, .bytes = size});
  }
  void Delete(FileId id) {
    events_.push_back({.at_ms = now_ms(), .what = TraceEvent::What::kDelete, .id = id});
  }

 private:
  // Times are those of a device that writes a MiB in a ms.
  std::uint64_t now_ms() const { return written_ >> 20; }

  std::deque<TraceEvent> events_;
  std::uint64_t next_id_ = 1;
  std::uint64_t written_ = 0;
};

}  // namespace zenfs::space
