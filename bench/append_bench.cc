// Records of 116 bytes appended to a log, as RocksDB writes its WAL: each synced, or each flushed
// (they survive the death of the process, not a power loss).
#include <fcntl.h>
#include <unistd.h>

#include "base/aligned_buffer.h"
#include "bench_volume.h"
#include "testing/device_data.h"

namespace zenfs {
namespace {

constexpr std::size_t kRecord = 116;
constexpr std::uint64_t kBlock = 4096;
constexpr int kSynced = 20'000;
constexpr int kFlushed = 1'000'000;

void Append(benchmark::State& state, Medium medium, Status (FileHandle::*persist)(), int records) {
  BenchVolume bench(medium);
  const AlignedBuffer record = Pattern(kRecord, 1);
  const auto file = Must(bench.volume().Create("/000001.log", Lifetime::kShort));
  Must(file->Append(record.View()));
  Must(file->Sync());  // creating the file is not measured
  Cost total;
  for (auto _ : state) {
    const Cost before = bench.CostSoFar();
    for (int i = 0; i < records; ++i) {
      Must(file->Append(record.View()));
      Must(((*file).*persist)());
    }
    const Cost cost = bench.CostSoFar() - before;
    total += cost;
    state.SetIterationTime(cost.seconds);
  }
  ReportOperations(state, total, records * state.iterations());
}

// The minimum for a file system that overwrites in place: a write of the block in which the record
// ends.
void SyncedAppendPosix(benchmark::State& state) {
  const AlignedBuffer block = Pattern(kBlock, 1);
  BenchFile file(O_DIRECT);
  Cost total;
  for (auto _ : state) {
    const Cost before = file.CostSoFar();
    for (std::uint64_t i = 0; i < kSynced; ++i) {
      file.WriteAsDevice(block.View(), RoundDown(i * kRecord, kBlock));
    }
    const Cost cost = file.CostSoFar() - before;
    total += cost;
    state.SetIterationTime(cost.seconds);
  }
  ReportOperations(state, total, kSynced * state.iterations());
}

// RocksDB's flush of a POSIX file: write(2) of the record into the page cache.
void FlushedAppendPosix(benchmark::State& state) {
  const AlignedBuffer record = Pattern(kRecord, 1);
  BenchFile file(O_APPEND);
  Cost total;
  for (auto _ : state) {
    const Cost before = file.CostSoFar();
    for (int i = 0; i < kFlushed; ++i) {
      if (::write(file.fd(), record.View().data(), kRecord) != static_cast<ssize_t>(kRecord)) {
        Must(Status(FailErrno(errno, "write")));
      }
    }
    const Cost cost = file.CostSoFar() - before;
    total += cost;
    state.SetIterationTime(cost.seconds);
  }
  ReportOperations(state, total, kFlushed * state.iterations());
}

BENCHMARK_CAPTURE(Append, memory, Medium::kMemory, &FileHandle::Sync, kSynced)
    ->Name("SyncedAppend/memory")
    ->UseManualTime()
    ->Iterations(2);
BENCHMARK_CAPTURE(Append, tmpfs, Medium::kTmpfs, &FileHandle::Sync, kSynced)
    ->Name("SyncedAppend/tmpfs")
    ->UseManualTime()
    ->Iterations(2);
BENCHMARK(SyncedAppendPosix)->Name("SyncedAppend/posix")->UseManualTime()->Iterations(2);
// A device in memory has no shared memory for buffers: its flush is a device write, like a sync.
BENCHMARK_CAPTURE(Append, tmpfs, Medium::kTmpfs, &FileHandle::Flush, kFlushed)
    ->Name("FlushedAppend/tmpfs")
    ->UseManualTime()
    ->Iterations(2);
BENCHMARK(FlushedAppendPosix)->Name("FlushedAppend/posix")->UseManualTime()->Iterations(2);

}  // namespace
}  // namespace zenfs
