// Name changes by 1, 4 and 16 threads. Each is one commit of the metadata log; commits of several
// threads share device writes.
#include <vector>

#include "base/thread.h"
#include "bench_volume.h"

namespace zenfs {
namespace {

constexpr int kCommits = 32'000;  // of all threads together

void RenameBackAndForth(Volume& volume, int thread, int commits) {
  std::string name = "/file" + std::to_string(thread);
  std::string other = name + ".renamed";
  for (int i = 0; i < commits; ++i) {
    Must(volume.Rename(name, other));
    std::swap(name, other);
  }
}

void Commits(benchmark::State& state, Medium medium) {
  BenchVolume bench(medium);
  const auto threads = static_cast<int>(state.range(0));
  for (int t = 0; t < threads; ++t) {
    Must(Must(bench.volume().Create("/file" + std::to_string(t)))->Close());
  }
  Cost total;
  const std::uint64_t frames_before = bench.volume().counters().metalog.frames_written;
  for (auto _ : state) {
    const Cost before = bench.CostSoFar();
    {
      std::vector<Thread> running;
      for (int t = 0; t < threads; ++t) {
        running.emplace_back(
            "committer", [&bench, t, threads] { RenameBackAndForth(bench.volume(), t, kCommits / threads); });
      }
    }  // joined
    const Cost cost = bench.CostSoFar() - before;
    total += cost;
    state.SetIterationTime(cost.seconds);
  }
  ReportOperations(state, total, kCommits * state.iterations());
  const auto frames = static_cast<double>(bench.volume().counters().metalog.frames_written - frames_before);
  state.counters["commits_per_frame"] = static_cast<double>(kCommits * state.iterations()) / frames;
}

BENCHMARK_CAPTURE(Commits, memory, Medium::kMemory)->Arg(1)->Arg(4)->Arg(16)->UseManualTime()->Iterations(1);
BENCHMARK_CAPTURE(Commits, tmpfs, Medium::kTmpfs)->Arg(1)->Arg(4)->Arg(16)->UseManualTime()->Iterations(1);

}  // namespace
}  // namespace zenfs
