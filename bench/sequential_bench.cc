// A plain file of 256 MiB, written and read in pieces of 1 MiB, like RocksDB's direct I/O.
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include "base/aligned_buffer.h"
#include "bench_volume.h"
#include "testing/device_data.h"

namespace zenfs {
namespace {

constexpr std::uint64_t kPiece = 1 << 20;
constexpr std::uint64_t kFile = 256 * kPiece;
constexpr int kRounds = 6;

std::unique_ptr<FileHandle> WriteFile(Volume& volume, const std::string& name, const AlignedBuffer& piece) {
  auto file = Must(volume.Create(name, Lifetime::kMedium));
  for (std::uint64_t at = 0; at < kFile; at += kPiece) Must(file->PositionedAppend(piece.View(), at));
  Must(file->Sync());
  return file;
}

void SequentialWrite(benchmark::State& state, Medium medium) {
  BenchVolume bench(medium);
  const AlignedBuffer piece = Pattern(kPiece, 1);
  Cost total;
  int number = 0;
  for (auto _ : state) {
    const std::string name = fmt::format(
        "/{:06}.sst", ++number);  // keeps the file, so that no memory is freed while CPU time is counted
    const Cost before = bench.CostSoFar();
    Must(WriteFile(bench.volume(), name, piece)->Close());
    const Cost cost = bench.CostSoFar() - before;
    total += cost;
    state.SetIterationTime(cost.seconds);
  }
  ReportBytes(state, total, kFile * state.iterations());
}

void SequentialWritePosix(benchmark::State& state) {
  const AlignedBuffer piece = Pattern(kPiece, 1);
  Cost total;
  for (auto _ : state) {
    BenchFile file(O_DIRECT);
    const Cost before = file.CostSoFar();
    for (std::uint64_t at = 0; at < kFile; at += kPiece) file.WriteAsDevice(piece.View(), at);
    ::fsync(file.fd());
    const Cost cost = file.CostSoFar() - before;
    total += cost;
    state.SetIterationTime(cost.seconds);
  }
  ReportBytes(state, total, kFile * state.iterations());
}

void SequentialRead(benchmark::State& state, Medium medium) {
  BenchVolume bench(medium);
  AlignedBuffer piece = Pattern(kPiece, 1);
  const auto file = WriteFile(bench.volume(), "/000001.sst", piece);
  Cost total;
  for (auto _ : state) {
    const Cost before = bench.CostSoFar();
    for (std::uint64_t at = 0; at < kFile; at += kPiece) Must(file->Read(at, piece.Span()));
    const Cost cost = bench.CostSoFar() - before;
    total += cost;
    state.SetIterationTime(cost.seconds);
  }
  ReportBytes(state, total, kFile * state.iterations());
}

void SequentialReadPosix(benchmark::State& state) {
  AlignedBuffer piece = Pattern(kPiece, 1);
  BenchFile file(O_DIRECT);
  for (std::uint64_t at = 0; at < kFile; at += kPiece) file.WriteAsDevice(piece.View(), at);
  Cost total;
  for (auto _ : state) {
    const Cost before = file.CostSoFar();
    for (std::uint64_t at = 0; at < kFile; at += kPiece) {
      const ssize_t n = ::pread(file.fd(), piece.Span().data(), kPiece, static_cast<off_t>(at));
      if (n != static_cast<ssize_t>(kPiece)) Must(Status(FailErrno(errno, "read")));
    }
    const Cost cost = file.CostSoFar() - before;
    total += cost;
    state.SetIterationTime(cost.seconds);
  }
  ReportBytes(state, total, kFile * state.iterations());
}

BENCHMARK_CAPTURE(SequentialWrite, memory, Medium::kMemory)->UseManualTime()->Iterations(kRounds);
BENCHMARK_CAPTURE(SequentialWrite, tmpfs, Medium::kTmpfs)->UseManualTime()->Iterations(kRounds);
BENCHMARK(SequentialWritePosix)->Name("SequentialWrite/posix")->UseManualTime()->Iterations(kRounds);
BENCHMARK_CAPTURE(SequentialRead, memory, Medium::kMemory)->UseManualTime()->Iterations(kRounds);
BENCHMARK_CAPTURE(SequentialRead, tmpfs, Medium::kTmpfs)->UseManualTime()->Iterations(kRounds);
BENCHMARK(SequentialReadPosix)->Name("SequentialRead/posix")->UseManualTime()->Iterations(kRounds);

}  // namespace
}  // namespace zenfs
