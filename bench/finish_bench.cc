// Measures reads of a zone while the zone is finished.
//
//    zenfs_finish_bench URI [--truncate=MOUNT]
//
// For each empty zone of the device: writes a quarter of it, starts a thread that reads its blocks
// without a pause, and finishes the zone. Prints one line of JSON with latencies in microseconds:
// of reads during a finish, of other reads, and of the finishes. With --truncate, the zone is
// finished by truncate(2) on its file instead of by ZenFS, as programs do that use zonefs directly.
// Destroys the data on the device.
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "backends/open_device.h"
#include "base/aligned_buffer.h"
#include "base/clock.h"
#include "base/random.h"
#include "base/thread.h"
#include "must.h"

namespace zenfs {
namespace {

constexpr std::uint32_t kZones = 40;
constexpr std::size_t kBlock = 4096;
constexpr std::chrono::milliseconds kBeside{20};

double Microseconds(SteadyTime from, SteadyTime to) {
  return std::chrono::duration<double, std::micro>(to - from).count();
}

struct Read {
  SteadyTime begin, end;
};

// Reads the first `bytes` of a zone repeatedly until `stop`.
std::vector<Read> ReadOn(ZonedDevice& device, DeviceOffset start, std::uint64_t bytes,
                         const std::atomic<bool>& stop) {
  AlignedBuffer buffer(kBlock);
  buffer.Resize(kBlock);
  Random random(1);
  std::vector<Read> reads;
  while (!stop.load()) {
    const SteadyTime begin = SteadyNow();
    Must(device.Read(start + random.Below(bytes / kBlock) * kBlock, buffer.Span()));
    reads.push_back({.begin = begin, .end = SteadyNow()});
  }
  return reads;
}

struct Latencies {
  std::vector<double> beside, alone, finish;
};

void OneZone(ZonedDevice& device, ZoneId zone, const std::string& mount, Latencies& latencies) {
  const ZoneInfo info = Must(device.Report(zone, 1)).front();
  const DeviceOffset start = device.geometry().ZoneStart(zone);
  AlignedBuffer data(info.capacity / 4 / kBlock * kBlock);
  data.Resize(data.capacity());
  std::memset(data.data(), 7, data.size());
  Must(device.Write(start, data.View()));
  std::atomic<bool> stop = false;
  std::vector<Read> reads;
  SteadyTime begin, end;
  {
    Thread reader("reader", [&] { reads = ReadOn(device, start, data.size(), stop); });
    SleepUntil(SteadyNow() + kBeside);
    begin = SteadyNow();
    if (mount.empty()) {
      Must(device.Finish(zone));
    } else {
      Must(device.Close(zone));
      const std::string file = mount + "/seq/" + std::to_string(zone.value);
      if (::truncate(file.c_str(), static_cast<off_t>(info.capacity)) != 0) std::perror("truncate");
    }
    end = SteadyNow();
    SleepUntil(SteadyNow() + kBeside);
    stop = true;
  }
  // The device does not know of the truncation and must stop counting the zone as active.
  Must(device.Reset(zone));
  latencies.finish.push_back(Microseconds(begin, end));
  for (const Read& read : reads) {
    const bool overlaps = read.end > begin && read.begin < end;
    (overlaps ? latencies.beside : latencies.alone).push_back(Microseconds(read.begin, read.end));
  }
}

void Print(const char* name, std::vector<double>& values, const char* behind) {
  std::sort(values.begin(), values.end());
  const auto at = [&](double share) {
    return values.empty() ? 0
                          : values[static_cast<std::size_t>(share * static_cast<double>(values.size() - 1))];
  };
  std::printf("\"%s\": {\"count\": %zu, \"p50\": %.1f, \"p99\": %.1f, \"max\": %.1f}%s", name, values.size(),
              at(0.5), at(0.99), at(1), behind);
}

int Run(const std::string& text, const std::string& mount) {
  const DeviceUri uri = Must(ParseDeviceUri(text));
  DeviceOptions unclaimed;
  const auto device = Must(OpenDevice(uri, OpenMode::kExclusive, &unclaimed));
  Latencies latencies;
  std::uint32_t done = 0;
  for (const ZoneInfo& zone : Must(device->Report(ZoneId(0), device->geometry().zone_count))) {
    if (done == kZones) break;
    if (zone.type != ZoneType::kSequentialRequired || zone.condition != ZoneCondition::kEmpty) continue;
    OneZone(*device, zone.id, mount, latencies);
    ++done;
  }
  std::printf("{");
  Print("reads_beside_a_finish", latencies.beside, ", ");
  Print("reads_alone", latencies.alone, ", ");
  Print("finish", latencies.finish, "}\n");
  return done == 0 ? 1 : 0;
}

}  // namespace
}  // namespace zenfs

int main(int argc, char** argv) {
  std::string mount;
  if (argc == 3 && std::string(argv[2]).starts_with("--truncate="))
    mount = argv[2] + std::strlen("--truncate=");
  if (argc < 2 || (argc == 3) == mount.empty()) {
    std::fputs("usage: zenfs_finish_bench URI [--truncate=MOUNT]\n", stderr);
    return 2;
  }
  return zenfs::Run(argv[1], mount);
}
