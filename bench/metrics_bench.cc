// The cost of counting: each figure is the time that one call adds.
#include <benchmark/benchmark.h>

#include "base/status.h"
#include "metrics/metrics.h"
#include "metrics/metrics_snapshot.h"

namespace zenfs {
namespace {

Metrics& Shared() {
  static Metrics metrics;
  return metrics;
}

// All counts for the append and the flush of a WAL record of 116 bytes.
void BM_WalRecord(benchmark::State& state) {
  Metrics& metrics = Shared();
  for (auto _ : state) {
    {
      Meter meter(metrics, Operation::kWalWrite);
      benchmark::DoNotOptimize(meter.Done(Status(), 116));
    }
    Meter meter(metrics, Operation::kWalFlush);
    benchmark::DoNotOptimize(meter.Done(Status()));
  }
}
BENCHMARK(BM_WalRecord)->ThreadRange(1, 16)->UseRealTime();

// An operation whose every call is timed, such as a read or a device command.
void BM_TimedOperation(benchmark::State& state) {
  Metrics& metrics = Shared();
  for (auto _ : state) {
    Meter meter(metrics, Operation::kRead);
    benchmark::DoNotOptimize(meter.Done(Status(), 4096));
  }
}
BENCHMARK(BM_TimedOperation)->ThreadRange(1, 16)->UseRealTime();

void BM_ReadPage(benchmark::State& state) {
  for (auto _ : state) benchmark::DoNotOptimize(DecodeMetrics(Shared().page()));
}
BENCHMARK(BM_ReadPage);

}  // namespace
}  // namespace zenfs

BENCHMARK_MAIN();
