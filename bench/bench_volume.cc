#include "bench_volume.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "backends/emulator/precise_wait.h"
#include "base/clock.h"
#include "device/checked_device.h"
#include "testing/borrowed_device.h"
#include "volume/mkfs.h"

namespace zenfs {
namespace {

constexpr EmulatorGeometry kGeometry{.zones = 64, .zone_size = 64u << 20};

double Seconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
}

Cost CostOfProcess() {
  Cost cost;
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  cost.cpu_seconds = Seconds(usage.ru_utime) + Seconds(usage.ru_stime);
  cost.seconds = std::chrono::duration<double>(SteadyNow().time_since_epoch()).count();
  return cost;
}

// The CPU time of a metered command that its meter does not see: mostly the reading of the CPU
// clock.
double UnmeteredSeconds() {
  static const double seconds = [] {
    constexpr int kCommands = 100'000;
    const auto device = CreateMemoryDevice(kGeometry);
    const double before = CostOfProcess().cpu_seconds;
    for (int i = 0; i < kCommands; ++i) Must(device->Flush());
    const double used = CostOfProcess().cpu_seconds - before;
    return (used - static_cast<double>(device->meter().cpu_ns) / 1e9) / kCommands;
  }();
  return seconds;
}

std::string NameFor(const char* kind) {
  return BenchDirectory() + "/zenfs-bench-" + std::to_string(::getpid()) + kind;
}

}  // namespace

std::string BenchDirectory() {
  const char* directory = std::getenv("ZENFS_BENCH_DIR");
  return directory != nullptr ? directory : "/dev/shm";
}

Cost Cost::operator-(const Cost& earlier) const {
  return {.seconds = seconds - earlier.seconds,
          .cpu_seconds = cpu_seconds - earlier.cpu_seconds,
          .device_cpu_seconds = device_cpu_seconds - earlier.device_cpu_seconds,
          .device_writes = device_writes - earlier.device_writes,
          .device_bytes = device_bytes - earlier.device_bytes};
}

Cost& Cost::operator+=(const Cost& other) {
  seconds += other.seconds;
  cpu_seconds += other.cpu_seconds;
  device_cpu_seconds += other.device_cpu_seconds;
  device_writes += other.device_writes;
  device_bytes += other.device_bytes;
  return *this;
}

Cost BenchVolume::CostSoFar() const {
  Cost cost = CostOfProcess();
  const EmulatorMeter meter = device_->meter();
  cost.device_cpu_seconds =
      static_cast<double>(meter.cpu_ns) / 1e9 + static_cast<double>(meter.metered) * UnmeteredSeconds();
  for (const auto kind : {EmulatorCommand::kWrite, EmulatorCommand::kAppend}) {
    cost.device_writes += meter.of(kind).commands;
    cost.device_bytes += meter.of(kind).bytes;
  }
  return cost;
}

Cost BenchFile::CostSoFar() const {
  Cost cost = CostOfProcess();
  cost.device_cpu_seconds = static_cast<double>(waiting_cpu_ns_) / 1e9;
  return cost;
}

BenchVolume::BenchVolume(Medium medium) {
  UnmeteredSeconds();  // determined now, not during a measurement
  if (medium == Medium::kMemory) {
    device_ = CreateMemoryDevice(kGeometry);
  } else {
    path_ = NameFor(".img");
    Must(CreateEmulatedFile(path_, kGeometry, /*overwrite=*/true));
    EmulatorOptions options;
    options.write_us = options.append_us = kWriteMicroseconds;
    device_ = Must(OpenEmulatedFile(path_, OpenMode::kExclusive, options));
  }
  Must(FormatVolume(*device_, FormatOptions{}));
  Mount();
}

BenchVolume::~BenchVolume() {
  Unmount();
  if (!path_.empty()) ::unlink(path_.c_str());
}

void BenchVolume::Mount() {
  volume_ = Must(Volume::Mount(Must(CheckDevice(Borrow(*device_))), MountOptions{}));
}

void BenchVolume::Unmount() {
  if (volume_ == nullptr) return;
  Must(volume_->Unmount());
  volume_.reset();
}

BenchFile::BenchFile(int flags)
    : path_(NameFor(".file")), fd_(::open(path_.c_str(), flags | O_RDWR | O_CREAT | O_CLOEXEC, 0644)) {
  if (fd_ < 0) Must(Status(FailErrno(errno, path_)));
}

BenchFile::~BenchFile() {
  ::close(fd_);
  ::unlink(path_.c_str());
}

void BenchFile::WriteAsDevice(ByteView bytes, std::uint64_t offset) {
  const SteadyTime due = SteadyNow() + std::chrono::microseconds(kWriteMicroseconds);
  const ssize_t n = ::pwrite(fd_, bytes.data(), bytes.size(), static_cast<off_t>(offset));
  if (n != static_cast<ssize_t>(bytes.size())) Must(Status(FailErrno(n < 0 ? errno : EIO, path_)));
  const std::uint64_t cpu_before = ThreadCpuNanoseconds();
  WaitPrecisely(due);
  waiting_cpu_ns_ += ThreadCpuNanoseconds() - cpu_before;
}

void ReportBytes(benchmark::State& state, const Cost& cost, std::uint64_t bytes) {
  state.counters["MiB_per_s"] = static_cast<double>(bytes) / cost.seconds / (1 << 20);
  state.counters["cpu_ns_per_KiB"] = cost.cpu_seconds * 1e9 / (static_cast<double>(bytes) / 1024);
  state.counters["own_cpu_ns_per_KiB"] = cost.own_cpu_seconds() * 1e9 / (static_cast<double>(bytes) / 1024);
}

void ReportOperations(benchmark::State& state, const Cost& cost, std::uint64_t operations) {
  const auto count = static_cast<double>(operations);
  state.counters["us_per_op"] = cost.seconds * 1e6 / count;
  state.counters["ops_per_s"] = count / cost.seconds;
  state.counters["own_cpu_us_per_op"] = cost.own_cpu_seconds() * 1e6 / count;
  if (cost.device_writes == 0) return;
  state.counters["ops_per_device_write"] = count / static_cast<double>(cost.device_writes);
  state.counters["device_bytes_per_op"] = static_cast<double>(cost.device_bytes) / count;
}

}  // namespace zenfs
