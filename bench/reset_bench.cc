// Measures writes while the zones of deleted files are reset.
//
//    zenfs_reset_bench DIRECTORY [ZONES]
//
// Makes an emulated device with the times of a ZN540 in DIRECTORY, which should be on a tmpfs, fills ZONES zones of 16 MiB with
// a file each, and deletes them at once. Then one thread writes for three seconds, in pieces of a MiB. Prints one line of
// JSON: the bandwidth, latencies of a piece in milliseconds, and how many zones were reset meanwhile.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "backends/emulator/emulator.h"
#include "backends/open_device.h"
#include "base/aligned_buffer.h"
#include "base/clock.h"
#include "must.h"
#include "volume/mkfs.h"
#include "volume/volume.h"

namespace zenfs {
namespace {

constexpr std::size_t kPiece = 1 << 20;
constexpr std::uint64_t kZone = 16 << 20;
constexpr std::chrono::seconds kTime{3};

double Milliseconds(SteadyTime from, SteadyTime to) {
  return std::chrono::duration<double, std::milli>(to - from).count();
}

std::uint32_t Resets(const Volume& volume) {
  std::uint32_t dead = 0;
  for (const ZoneStatus& zone : volume.Zones()) dead += zone.phase == ZonePhase::kDead;
  return dead;
}

int Run(const std::string& path, std::uint32_t zones) {
  Must(CreateEmulatedFile(
      path, {.zones = 3 * zones + 64, .zone_size = kZone, .max_open = 14, .max_active = 14}, false));
  // Memory that the host gives a page at a time would be measured, too.
  const int fd = ::open(path.c_str(), O_RDWR);
  const int error = ::posix_fallocate(fd, 0, static_cast<off_t>(kZone * (3 * zones + 64)));
  ::close(fd);
  if (error != 0) Must(Status(Fail(Code::kIo, std::strerror(error))));
  DeviceOptions unclaimed;
  auto device = Must(
      OpenDevice(Must(ParseDeviceUri("emu:" + path + "?timing:zn540")), OpenMode::kExclusive, &unclaimed));
  Must(Status(FormatVolume(*device, {}) ? Status() : Fail(Code::kIo, "mkfs failed")));
  const auto volume = Must(Volume::Mount(std::move(device), {}));
  AlignedBuffer piece(kPiece);
  piece.Resize(kPiece);
  std::memset(piece.data(), 7, kPiece);
  for (std::uint32_t i = 0; i < zones; ++i) {
    const auto file = Must(volume->Create("dies" + std::to_string(i), Lifetime::kShort));
    for (std::uint64_t at = 0; at < kZone; at += kPiece) Must(file->Append(piece.View()));
    Must(file->Sync());
    Must(file->Close());
  }
  for (std::uint32_t i = 0; i < zones; ++i) Must(volume->Unlink("dies" + std::to_string(i)));
  const std::uint32_t before = Resets(*volume);
  const auto file = Must(volume->Create("written", Lifetime::kLong));
  std::vector<double> latencies;
  const SteadyTime begin = SteadyNow();
  while (SteadyNow() < begin + kTime) {
    const SteadyTime from = SteadyNow();
    Must(file->Append(piece.View()));
    latencies.push_back(Milliseconds(from, SteadyNow()));
  }
  const double seconds = Milliseconds(begin, SteadyNow()) / 1000;
  const std::uint32_t after = Resets(*volume);
  std::ranges::sort(latencies);
  const auto at = [&](double share) {
    return latencies[static_cast<std::size_t>(share * static_cast<double>(latencies.size() - 1))];
  };
  std::printf(
      "{\"mib_per_second\": %.0f, \"p50_ms\": %.2f, \"p99_ms\": %.2f, \"max_ms\": %.2f, \"resets\": %u}\n",
      static_cast<double>(latencies.size()) / seconds, at(0.5), at(0.99), at(1), before - after);
  Must(file->Close());
  Must(volume->Unmount());
  return 0;
}

}  // namespace
}  // namespace zenfs

int main(int argc, char** argv) {
  if (argc < 2 || argc > 3) {
    std::fputs("usage: zenfs_reset_bench DIRECTORY [ZONES]\n", stderr);
    return 2;
  }
  const std::string path = std::string(argv[1]) + "/reset-bench.img";
  const int status = zenfs::Run(path, argc == 3 ? static_cast<std::uint32_t>(std::atoi(argv[2])) : 100);
  std::remove(path.c_str());
  return status;
}
