#include "buffers_base.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <array>

#include "base/shared_memory.h"
#include "device/read_only_view.h"
#include "input.h"
#include "metalog/probe.h"
#include "metalog/replay.h"
#include "simulated.h"
#include "testing/borrowed_device.h"
#include "volume/mkfs.h"

namespace zenfs {
namespace {

constexpr EmulatorGeometry kBuffersGeometry{
    .zones = 9, .zone_size = 64 << 10, .max_open = 0, .max_active = 0, .block_size = 512};

template <typename T>
T Sure(Result<T> result) {
  Require(result.has_value(), result ? "" : result.error().ToString());
  return *std::move(result);
}
void Sure(const Status& status) { Require(status.ok(), status.ok() ? "" : status.error().ToString()); }

// A file with synced bytes, followed by flushed ones.
std::unique_ptr<FileHandle> PutBoth(Volume& volume, const std::string& path, std::size_t synced) {
  auto file = Sure(volume.Create(path));
  Sure(file->Append(AsBytes(std::string(synced, 's'))));
  Sure(file->Sync());
  Sure(file->Append(AsBytes(std::string(100, 'f'))));
  Sure(file->Flush());
  return file;
}

BufferAreaHeader HeaderOf(const std::string& path) {
  const auto memory = Sure(SharedMemory::Open(path, SharedMemory::Access::kRead));
  return Sure(ReadBufferAreaHeader(memory.view()));
}

BuffersBase Grow() {
  BuffersBase base{.geometry = kBuffersGeometry};
  ImageDevice device = MakeBuffersDevice();
  Sure(FormatVolume(device, {.label = "fuzz", .metadata_zones = 3}));
  const Superblock superblock = Sure(ProbeSuperblock(device));
  auto volume = Sure(Volume::Mount(Borrow(device), {.plain_buffer_bytes = 64 << 10, .append_buffers = 4}));
  Sure(volume->MakeDirectory("db", true));
  {
    [[maybe_unused]] const std::array open{
        PutBoth(*volume, "db/000001.sst", 3000), PutBoth(*volume, "db/000002.log", 700),
        PutBoth(*volume, "MANIFEST-1", 1), PutBoth(*volume, "db/000003.blob", 4096)};
    base.image = device.Save();
    base.state = Sure(Replay(device, superblock)).state;
    base.path = volume->shared_memory_path();
    base.header = HeaderOf(base.path);
  }
  Sure(volume->Unmount());
  volume.reset();
  device.Load(base.image);
  auto reader = Sure(Volume::Mount(MakeReadOnlyView(device), ImageMountOptions()));
  base.synced = Look(*reader);
  for (const auto& [path, text] : base.synced) {
    if (path.ends_with('/')) continue;
    const auto stat = Sure(reader->Stat(path));
    base.paths[stat.id] = path;
    base.sizes[stat.id] = stat.size;
  }
  Sure(reader->Unmount());
  return base;
}

}  // namespace

ImageDevice MakeBuffersDevice() {
  return ImageDevice(kBuffersGeometry, OpenMode::kExclusive, fmt::format("fuzz:{}", ::getpid()));
}

const BuffersBase& TheBuffersBase() {
  static const BuffersBase base = [] {
    BuffersBase made;
    RunSimulated([&] { made = Grow(); });
    return made;
  }();
  return base;
}

}  // namespace zenfs
