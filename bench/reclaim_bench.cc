// Picking and emptying a zone with 16 small live files, on a volume with many other files, all of which are open for reading.
#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "base/aligned_buffer.h"
#include "base/clock.h"
#include "bench_volume.h"
#include "testing/borrowed_device.h"
#include "testing/device_data.h"
#include "testing/empty_zone.h"
#include "volume/mkfs.h"
#include "volume/mount/mounted_volume.h"

namespace zenfs {
namespace {

constexpr std::uint64_t kZone = 256 << 20;  // the metadata of a million files fit into the metadata zones
constexpr int kLive = 16;

std::string OtherName(std::uint64_t i) { return fmt::format("/other{:07}", i); }

// Committed without contents, many in one frame: writing them one by one takes minutes.
void MakeOthers(const VolumeParts& parts, std::uint64_t count) {
  constexpr std::uint64_t kFirst = std::uint64_t{1} << 32;
  std::vector<Edit> edits{RaiseCounters{kFirst + count, 0}};
  for (std::uint64_t i = 0; i < count; ++i) {
    const FileId id(kFirst + i);
    edits.push_back(CreateFile{.id = id});
    edits.push_back(LinkFile{kRootDirectory, OtherName(i).substr(1), id});
    if (edits.size() < 256 && i + 1 < count) continue;
    Must(parts.metalog->Commit(std::move(edits), {}));
    edits.clear();
  }
}

void Put(Volume& volume, const std::string& name, ByteView content, int times = 1) {
  const auto file = Must(volume.Create(name, Lifetime::kMedium));
  for (int i = 0; i < times; ++i) Must(file->Append(content));
  Must(file->Sync());
  Must(file->Close());
}

// A full zone that holds live files and garbage. The live files of the last call are replaced.
ZoneId MakeVictim(Volume& volume) {
  const AlignedBuffer small = Pattern(4096, 1);
  const AlignedBuffer large = Pattern(1 << 20, 1);
  for (int i = 0; i < kLive; ++i) {
    const std::string name = fmt::format("/live{}", i);
    if (volume.Stat(name)) Must(volume.Unlink(name));
    Put(volume, name, small.View());
  }
  const ZoneId zone = volume.info().geometry.ZoneOf(Must(volume.Layout("/live0")).extents.front().place);
  while (volume.Zones()[zone.value].phase != ZonePhase::kFull) {
    Put(volume, "/garbage", large.View(), 32);
    Must(volume.Unlink("/garbage"));
  }
  return zone;
}

void EmptyAZone(benchmark::State& state) {
  const auto others = static_cast<std::uint64_t>(state.range(0));
  const auto device = CreateMemoryDevice({.zones = 32, .zone_size = kZone});
  Must(FormatVolume(*device, {}));
  const std::shared_ptr<Volume> volume = Must(Volume::Mount(Borrow(*device), {}));
  VolumeParts& parts = dynamic_cast<MountedVolume&>(*volume).mount().parts();
  MakeOthers(parts, others);
  std::vector<std::unique_ptr<FileHandle>> open;
  for (std::uint64_t i = 0; i < others; ++i) open.push_back(Must(volume->OpenForRead(OtherName(i))));
  std::vector<double> seconds;
  for (auto _ : state) {
    const ZoneId zone = MakeVictim(*volume);
    const SteadyTime begin = SteadyNow();
    if (parts.mover.IsHeld(zone)) state.SkipWithError("a closed file holds its zone");
    Must(EmptyZone(*volume, zone));
    const double took = std::chrono::duration<double>(SteadyNow() - begin).count();
    state.SetIterationTime(took);
    seconds.push_back(took);
    if (volume->Zones()[zone.value].live != 0) state.SkipWithError("the zone is not empty");
  }
  std::ranges::sort(seconds);  // the median: the first one also allocates the buffers of the mover
  state.counters["us_per_op"] = seconds.empty() ? 0 : seconds[seconds.size() / 2] * 1e6;
  open.clear();
  Must(volume->Unmount());
}

BENCHMARK(EmptyAZone)->Name("EmptyAZone/memory")->Arg(1'000)->Arg(1'000'000)->UseManualTime()->Iterations(9);

}  // namespace
}  // namespace zenfs
