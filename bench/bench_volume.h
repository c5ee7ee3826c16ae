// The volume for benchmarks: a fresh file system on an emulated device, in memory or in a file on
// tmpfs.
#pragma once

#include <benchmark/benchmark.h>

#include <memory>
#include <string>

#include "backends/emulator/emulator.h"
#include "must.h"
#include "volume/volume.h"

namespace zenfs {

enum class Medium {
  kMemory,  // the emulator's memory, without latencies
  kTmpfs,   // a file on tmpfs; every write takes kWriteMicroseconds or longer, as on a fast NVMe device
  kPosix,   // no ZenFS: a file on tmpfs, opened for direct I/O, with the write latency of kTmpfs
};

inline constexpr std::uint32_t kWriteMicroseconds = 15;

// The directory for files on tmpfs: $ZENFS_BENCH_DIR, or /dev/shm.
[[nodiscard]] std::string BenchDirectory();

// The cost of some work for this process: time, CPU time of all threads, and the part of it spent
// in the device (everything that the emulator does, with reading clocks for its meter; for a
// BenchFile, only waiting).
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
  // `medium` must not be kPosix. 4 GiB in zones of 64 MiB.
  explicit BenchVolume(Medium medium);
  ~BenchVolume();
  BenchVolume(const BenchVolume&) = delete;
  BenchVolume& operator=(const BenchVolume&) = delete;

  void Mount();
  void Unmount();
  Volume& volume() { return *volume_; }
  // The cost since an unspecified start, to compute differences.
  Cost CostSoFar() const;

 private:
  std::string path_;  // of the file; empty for memory
  std::unique_ptr<EmulatorDevice> device_;
  std::shared_ptr<Volume> volume_;
};

// A file of the host on tmpfs, removed with this object.
class BenchFile {
 public:
  // `flags`: as for open(2), added to O_RDWR | O_CREAT.
  explicit BenchFile(int flags);
  ~BenchFile();
  BenchFile(const BenchFile&) = delete;
  BenchFile& operator=(const BenchFile&) = delete;

  // A complete pwrite(2) that takes at least kWriteMicroseconds.
  void WriteAsDevice(ByteView bytes, std::uint64_t offset);
  int fd() const { return fd_; }
  Cost CostSoFar() const;

 private:
  std::string path_;
  int fd_ = -1;
  std::uint64_t waiting_cpu_ns_ = 0;
};

// Sets the counters of benchmarks that process bytes: bytes per second, and CPU time per byte with
// and without the emulator.
void ReportBytes(benchmark::State& state, const Cost& cost, std::uint64_t bytes);
// The same for operations.
void ReportOperations(benchmark::State& state, const Cost& cost, std::uint64_t operations);

}  // namespace zenfs
