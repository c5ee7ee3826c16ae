// Counts into a metrics page.
//
// Threads: any, without locks. Exception: nobody may count during MoveTo and MoveHome. Only one
// Metrics at a time counts into a page. Must not be used in a child after fork(): the page may not
// be mapped there.
#pragma once

#include <atomic>
#include <memory>

#include "base/clock.h"
#include "metrics/metrics_page.h"
#include "metrics/thread_shard.h"

namespace zenfs {

class Metrics {
 public:
  // Counts in private memory.
  Metrics();
  ~Metrics();
  Metrics(const Metrics&) = delete;
  Metrics& operator=(const Metrics&) = delete;

  // Continues in `page`, with all counts so far. `page` has kMetricsPageBytes on a boundary of 4096
  // bytes and must stay valid until MoveHome or the end of this object.
  void MoveTo(ByteSpan page);
  // Continues in private memory. The old page keeps its counts.
  void MoveHome();
  // The current page; readers decode it with DecodeMetrics.
  [[nodiscard]] ByteView page() const { return std::as_bytes(std::span(page_, 1)); }

  // --- operations; most callers use a Meter ---
  // Returns the earlier count of this thread's shard.
  std::uint64_t Count(Operation operation) { return Add(operation, &OperationCells::count, 1); }
  void CountBytes(Operation operation, std::uint64_t bytes) { Add(operation, &OperationCells::bytes, bytes); }
  void CountError(Operation operation) { Add(operation, &OperationCells::errors, 1); }
  void Time(Operation operation, std::chrono::nanoseconds latency);

  // --- values ---
  void Set(Value value, std::uint64_t to) { Cell(value).store(to, std::memory_order_relaxed); }
  void Change(Value value, std::int64_t by) {
    Cell(value).fetch_add(static_cast<std::uint64_t>(by), std::memory_order_relaxed);
  }
  // Never lowers the value: of two threads that copy a counter here, the later one may have the
  // older count.
  void RaiseTo(Value value, std::uint64_t to);

 private:
  std::uint64_t Add(Operation operation, std::uint64_t OperationCells::* cell, std::uint64_t n) {
    const std::uint32_t shard = ThreadShard();
    return AddTo(page_->shards[shard].operations[static_cast<std::size_t>(operation)].*cell, n, shard);
  }
  static std::uint64_t AddTo(std::uint64_t& cell, std::uint64_t n, std::uint32_t shard) {
    const std::atomic_ref<std::uint64_t> atomic(cell);
    if (shard == kSharedShard) return atomic.fetch_add(n, std::memory_order_relaxed);
    const std::uint64_t before = atomic.load(std::memory_order_relaxed);
    atomic.store(before + n, std::memory_order_relaxed);
    return before;
  }
  std::atomic_ref<std::uint64_t> Cell(Value value) {
    return std::atomic_ref<std::uint64_t>(page_->values[static_cast<std::size_t>(value)]);
  }

  const std::unique_ptr<MetricsPage> own_;
  MetricsPage* page_;
};

// Measures one operation: counts it at the start, and times it until the end of its scope.
//
//    Meter meter(metrics, Operation::kWalSync);
//    return meter.Done(file.Sync());
class Meter {
 public:
  Meter(Metrics& metrics, Operation operation) : metrics_(metrics), operation_(operation) {
    const std::uint64_t before = metrics.Count(operation);
    if (IsSampled(operation) && before % kTimedOneIn != 0) return;
    timed_ = true;
    begin_ = SteadyNow();
  }
  ~Meter() {
    if (timed_) metrics_.Time(operation_, SteadyNow() - begin_);
  }
  Meter(const Meter&) = delete;
  Meter& operator=(const Meter&) = delete;

  // True if the latency of this operation is measured.
  bool timed() const { return timed_; }

  void Failed() { metrics_.CountError(operation_); }
  // Returns `result`, a Status or Result, unchanged. Counts a failure as an error, and `bytes`
  // otherwise.
  template <typename R>
  [[nodiscard]] R Done(R result, std::uint64_t bytes = 0) {
    if (!result.ok()) {
      Failed();
    } else if (bytes != 0) {
      metrics_.CountBytes(operation_, bytes);
    }
    return result;
  }

 private:
  Metrics& metrics_;
  const Operation operation_;
  bool timed_ = false;
  SteadyTime begin_;
};

}  // namespace zenfs
