// Counts into a metrics page.
//
// Threads: any, without locks, but for MoveTo and MoveHome, during which nobody counts. A page is counted into by one
// Metrics at a time. Must not be used in a child after fork(): the page may not be mapped there.
#pragma once

#include <atomic>
#include <memory>

#include "base/clock.h"
#include "metrics/metrics_page.h"
#include "metrics/thread_shard.h"

namespace zenfs {

class Metrics {
 public:
  // Counts in memory of its own.
  Metrics();
  ~Metrics();
  Metrics(const Metrics&) = delete;
  Metrics& operator=(const Metrics&) = delete;

  // From here on counts in `page`, which goes on from what has been counted so far. It is kMetricsPageBytes long,
  // on a boundary of 4096 bytes, and stays until MoveHome or the end of this object.
  void MoveTo(ByteSpan page);
  // Back to memory of its own; the page that is left keeps its counts.
  void MoveHome();
  // What is counted in now; a reader decodes it with DecodeMetrics.
  [[nodiscard]] ByteView page() const { return std::as_bytes(std::span(page_, 1)); }

  // --- operations; most callers use a Meter ---
  // Returns how many were counted before in this thread's shard.
  std::uint64_t Count(Operation operation) { return Add(operation, &OperationCells::count, 1); }
  void CountBytes(Operation operation, std::uint64_t bytes) { Add(operation, &OperationCells::bytes, bytes); }
  void CountError(Operation operation) { Add(operation, &OperationCells::errors, 1); }
  void Time(Operation operation, std::chrono::nanoseconds latency);

  // --- values ---
  void Set(Value value, std::uint64_t to) { Cell(value).store(to, std::memory_order_relaxed); }
  void Change(Value value, std::int64_t by) {
    Cell(value).fetch_add(static_cast<std::uint64_t>(by), std::memory_order_relaxed);
  }
  // Never lowers it: of two threads that copy a counter here, the later may have the older count.
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

// Measures one operation: counted at the start, timed until this goes out of scope.
//
//   Meter meter(metrics, Operation::kWalSync);
//   return meter.Done(file.Sync());
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

  // Whether this one's latency is measured.
  bool timed() const { return timed_; }

  void Failed() { metrics_.CountError(operation_); }
  // `result` as it is (a Status or Result): a failure is counted as one, else `bytes` are.
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
