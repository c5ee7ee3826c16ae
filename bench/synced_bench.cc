// Measures synced appends to a log beside overwrites of files, with as much live data as asked for.
//
//    zenfs_synced_bench LIVE_PERCENT [MIB_PER_SECOND [SECONDS]]
//
// Fills LIVE_PERCENT of an emulated device with files of 4 MiB. Then one thread overwrites random ones at the given rate, and
// another one appends records of 116 bytes to a log, each synced, one in a millisecond. The rate is the same for each share of
// live data, so only the work of the collector differs. Prints one line of JSON: latencies of the syncs in microseconds, and
// what was overwritten and moved, in MiB.
//
// The device has 64 zones of 128 MiB and the times of a ZN540. It is in memory: a file of the host would make the syncs wait
// for its lock. The threads that write and move data also do the drive's work, so they keep processors busy that a drive would
// leave free. So that the syncs do not wait for a processor, their thread has real-time priority (CAP_SYS_NICE).
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "backends/emulator/emulator.h"
#include "base/aligned_buffer.h"
#include "base/clock.h"
#include "base/random.h"
#include "base/thread.h"
#include "must.h"
#include "volume/mkfs.h"
#include "volume/volume.h"

namespace zenfs {
namespace {

constexpr std::size_t kPiece = 1 << 20;
constexpr std::size_t kPiecesOfFile = 4;
constexpr std::size_t kRecord = 116;
constexpr std::uint64_t kLogBytes = 4 << 20;
constexpr std::chrono::milliseconds kBetweenSyncs{1};

std::shared_ptr<Volume> MakeVolume() {
  EmulatorOptions options;
  options.timing = Timing::kZn540;
  auto device =
      CreateMemoryDevice({.zones = 64, .zone_size = 128 << 20, .max_open = 14, .max_active = 14}, options);
  static_cast<void>(Must(FormatVolume(*device, {})));
  return Must(Volume::Mount(std::move(device), {}));
}

class Files {
 public:
  explicit Files(Volume& volume) : volume_(volume), piece_(kPiece) {
    piece_.Resize(kPiece);
    std::memset(piece_.data(), 7, kPiece);
  }
  void Write(std::uint64_t number) {
    const std::string name = "file" + std::to_string(number);
    const auto file = Must(volume_.Create(name, Lifetime::kMedium));
    for (std::size_t i = 0; i < kPiecesOfFile; ++i) Must(file->Append(piece_.View()));
    Must(file->Sync());
    Must(file->Close());
  }
  // Returns the number of files that it overwrote.
  std::uint64_t Overwrite(std::uint64_t files, double mib_per_second, const std::atomic<bool>& stop) {
    Random random(1);
    const auto pause = std::chrono::duration_cast<std::chrono::nanoseconds>(
        std::chrono::duration<double>(kPiecesOfFile / mib_per_second));
    std::uint64_t done = 0;
    for (const SteadyTime begin = SteadyNow(); !stop; ++done) {
      SleepUntil(begin + pause * done);
      Write(random.Below(files));
    }
    return done;
  }

 private:
  Volume& volume_;
  AlignedBuffer piece_;
};

void TakeRealTimePriority() {
  const sched_param lowest{.sched_priority = 1};
  if (::sched_setscheduler(0, SCHED_FIFO | SCHED_RESET_ON_FORK, &lowest) == 0) return;
  std::fputs("no permission for real-time priority: the latencies include waits for a processor\n", stderr);
}

std::vector<double> SyncOn(Volume& volume, std::chrono::seconds time) {
  const std::string record(kRecord, 'r');
  std::vector<double> latencies;
  std::uint64_t log = 0;
  auto file = Must(volume.Create("0.log"));
  for (const SteadyTime begin = SteadyNow(); SteadyNow() < begin + time;) {
    SleepUntil(SteadyNow() + kBetweenSyncs);
    const SteadyTime from = SteadyNow();
    Must(file->Append(AsBytes(record)));
    Must(file->Sync());
    latencies.push_back(std::chrono::duration<double, std::micro>(SteadyNow() - from).count());
    if (file->size() < kLogBytes) continue;
    Must(file->Close());
    Must(volume.Unlink(std::to_string(log) + ".log"));
    file = Must(volume.Create(std::to_string(++log) + ".log"));
  }
  Must(file->Close());
  return latencies;
}

int Run(double live_percent, double rate, std::chrono::seconds time) {
  const auto volume = MakeVolume();
  Files files(*volume);
  const auto count = static_cast<std::uint64_t>(static_cast<double>(volume->Space().free) * live_percent /
                                                100 / (kPiece * kPiecesOfFile));
  for (std::uint64_t i = 0; i < count; ++i) files.Write(i);
  // Until more was written than the device holds, so that dead data is in all zones.
  const std::uint64_t in_all = volume->Space().total / (kPiece * kPiecesOfFile) * 5 / 4;
  Random random(2);
  for (std::uint64_t i = count; i < in_all; ++i) files.Write(random.Below(count));
  const std::uint64_t moved = volume->counters().written.reclaimed;
  std::atomic<bool> stop = false;
  std::uint64_t overwritten = 0;
  Thread writer("writer", [&] { overwritten = files.Overwrite(count, rate, stop); });
  TakeRealTimePriority();
  std::vector<double> latencies = SyncOn(*volume, time);
  stop = true;
  writer.Join();
  std::ranges::sort(latencies);
  const auto at = [&](double share) {
    return latencies[static_cast<std::size_t>(share * static_cast<double>(latencies.size() - 1))];
  };
  std::printf(
      "{\"syncs\": %zu, \"p50_us\": %.1f, \"p99_us\": %.1f, \"p99.9_us\": %.1f, \"overwritten_mib\": %zu, "
      "\"moved_mib\": "
      "%.0f}\n",
      latencies.size(), at(0.5), at(0.99), at(0.999), static_cast<std::size_t>(overwritten * kPiecesOfFile),
      static_cast<double>(volume->counters().written.reclaimed - moved) / (1 << 20));
  Must(volume->Unmount());
  return 0;
}

}  // namespace
}  // namespace zenfs

int main(int argc, char** argv) {
  if (argc < 2 || argc > 4) {
    std::fputs("usage: zenfs_synced_bench LIVE_PERCENT [MIB_PER_SECOND [SECONDS]]\n", stderr);
    return 2;
  }
  return zenfs::Run(std::atof(argv[1]), argc > 2 ? std::atof(argv[2]) : 100,
                    std::chrono::seconds(argc > 3 ? std::atoi(argv[3]) : 20));
}
