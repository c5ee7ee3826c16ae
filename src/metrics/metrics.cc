#include "metrics/metrics.h"

#include <algorithm>
#include <cstring>
#include <new>

namespace zenfs {

std::uint64_t MetricsFingerprint() {
  // FNV-1a with a separator, so that moving a letter between two names changes the result.
  std::uint64_t hash = 0xcbf29ce484222325u;
  const auto add = [&hash](std::string_view name) {
    for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
    hash = (hash ^ 0xff) * 0x100000001b3u;
  };
  for (const OperationInfo& info : Operations()) add(info.name);
  for (const ValueInfo& info : Values()) add(info.name);
  return hash;
}

Metrics::Metrics() : own_(std::make_unique<MetricsPage>()), page_(own_.get()) {
  page_->header.page_bytes = kMetricsPageBytes;
  page_->header.fingerprint = MetricsFingerprint();
}

Metrics::~Metrics() = default;

void Metrics::MoveTo(ByteSpan page) {
  std::memset(page.data(), 0, page.size());
  page_->header.magic = 0;
  auto* moved = new (page.data()) MetricsPage(*page_);
  page_->header.magic = kMetricsMagic;
  std::atomic_ref<std::uint64_t>(moved->header.magic).store(kMetricsMagic, std::memory_order_release);
  page_ = moved;
}

void Metrics::MoveHome() {
  if (page_ == own_.get()) return;
  *own_ = *page_;
  page_ = own_.get();
}

void Metrics::Time(Operation operation, std::chrono::nanoseconds latency) {
  const std::uint32_t shard = ThreadShard();
  LatencyCells& cells = page_->shards[shard].latencies[static_cast<std::size_t>(operation)];
  const auto nanoseconds = static_cast<std::uint64_t>(std::max<std::int64_t>(latency.count(), 0));
  AddTo(cells.buckets[LatencyBucketOf(nanoseconds)], 1, shard);
  AddTo(cells.sum, nanoseconds, shard);
  const std::atomic_ref<std::uint64_t> max(cells.max);
  std::uint64_t highest = max.load(std::memory_order_relaxed);
  while (nanoseconds > highest &&
         !max.compare_exchange_weak(highest, nanoseconds, std::memory_order_relaxed)) {
  }
}

void Metrics::RaiseTo(Value value, std::uint64_t to) {
  const std::atomic_ref<std::uint64_t> cell = Cell(value);
  std::uint64_t now = cell.load(std::memory_order_relaxed);
  while (to > now && !cell.compare_exchange_weak(now, to, std::memory_order_relaxed)) {
  }
}

}  // namespace zenfs
