// Mounts a volume with 100,000 files of one block each, in one directory.
#include <fmt/format.h>

#include <vector>

#include "base/aligned_buffer.h"
#include "base/thread.h"
#include "bench_volume.h"
#include "testing/device_data.h"

namespace zenfs {
namespace {

constexpr int kFiles = 100'000;
constexpr int kThreads = 8;

void Fill(Volume& volume) {
  const AlignedBuffer content = Pattern(4096, 1);
  Must(volume.MakeDirectory("/db", /*parents=*/false));
  std::vector<Thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back("filler", [&, t] {
      for (int i = t; i < kFiles; i += kThreads) {
        const auto file = Must(volume.Create(fmt::format("/db/{:06}.sst", i), Lifetime::kMedium));
        Must(file->Append(content.View()));
        Must(file->Close());
      }
    });
  }
}

void Mount(benchmark::State& state, Medium medium) {
  BenchVolume bench(medium);
  Fill(bench.volume());
  Cost total;
  for (auto _ : state) {
    bench.Unmount();
    const Cost before = bench.CostSoFar();
    bench.Mount();
    const Cost cost = bench.CostSoFar() - before;
    total += cost;
    state.SetIterationTime(cost.seconds);
    if (Must(bench.volume().List("/db")).size() != kFiles) state.SkipWithError("files are missing");
  }
  const auto mounts = static_cast<double>(state.iterations());
  state.counters["ms"] = total.seconds * 1e3 / mounts;
  state.counters["own_cpu_ms"] = total.own_cpu_seconds() * 1e3 / mounts;
}

BENCHMARK_CAPTURE(Mount, memory, Medium::kMemory)
    ->UseManualTime()
    ->Iterations(5)
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(Mount, tmpfs, Medium::kTmpfs)
    ->UseManualTime()
    ->Iterations(5)
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace zenfs
