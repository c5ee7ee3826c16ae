// What the benchmarks run on: a fresh file system on an emulated device, in memory or in a file on tmpfs.
#pragma once

#include <benchmark/benchmark.h>

#include <memory>
#include <string>

#include "backends/emulator/emulator.h"
#include "volume/volume.h"

namespace zenfs {

enum class Medium {
  kMemory,  // the emulator's memory, as fast as it goes
  kTmpfs,   // a file on tmpfs; every write takes kWriteMicroseconds or longer, as on a fast NVMe device
  kPosix,   // no ZenFS: a file on tmpfs, opened for direct I/O, with writes as slow as those of kTmpfs
};

inline constexpr std::uint32_t kWriteMicroseconds = 15;

// Where files on tmpfs go: $ZENFS_BENCH_DIR, or /dev/shm.
[[nodiscard]] std::string BenchDirectory();

// Ends the program with the error's text: a benchmark that could not do its work has no figure.
void Must(const Status& status);
template <typename T>
T Must(Result<T> result) {
  if (!result) Must(Status(Fail(result.error())));
  return std::move(*result);
}

// What a stretch of work cost this process: time, CPU time of all threads, and what of it went into the device
// (all that the emulator does, with the reading of clocks for its meter; of a BenchFile, only waiting).
struct Cost {
  double seconds = 0;
  double cpu_seconds = 0;
  double device_cpu_seconds = 0;
  std::uint64_t device_writes = 0;
  std::uint64_t device_bytes = 0;

  Cost operator-(const Cost& earlier) const;
  Cost& operator+=(const Cost& other);
  double own_cpu_seconds() const { return cpu_seconds - device_cpu_seconds; }
};

class BenchVolume {
 public:
  // `medium` is not kPosix. 4 GiB in zones of 64 MiB.
  explicit BenchVolume(Medium medium);
  ~BenchVolume();
  BenchVolume(const BenchVolume&) = delete;
  BenchVolume& operator=(const BenchVolume&) = delete;

  void Mount();
  void Unmount();
  Volume& volume() { return *volume_; }
  // Since some time in the past: for differences.
  Cost CostSoFar() const;

 private:
  std::string path_;  // of the file; empty in memory
  std::unique_ptr<EmulatorDevice> device_;
  std::shared_ptr<Volume> volume_;
};

// A file of the host on tmpfs, removed with this object.
class BenchFile {
 public:
  // `flags` as open(2) has them, added to O_RDWR | O_CREAT.
  explicit BenchFile(int flags);
  ~BenchFile();
  BenchFile(const BenchFile&) = delete;
  BenchFile& operator=(const BenchFile&) = delete;

  // pwrite(2) of all of it, made to take kWriteMicroseconds at least.
  void WriteAsDevice(ByteView bytes, std::uint64_t offset);
  int fd() const { return fd_; }
  Cost CostSoFar() const;

 private:
  std::string path_;
  int fd_ = -1;
  std::uint64_t waiting_cpu_ns_ = 0;
};

// Counters that every benchmark of bytes has: bytes per second, and CPU per byte with and without the emulator.
void ReportBytes(benchmark::State& state, const Cost& cost, std::uint64_t bytes);
// The same for operations.
void ReportOperations(benchmark::State& state, const Cost& cost, std::uint64_t operations);

}  // namespace zenfs
