#include "image_bases.h"

#include <fmt/format.h>

#include <algorithm>

#include "input.h"
#include "metalog/probe.h"
#include "metalog/replay.h"
#include "simulated.h"
#include "testing/split_device.h"
#include "volume/mkfs.h"
#include "volume/volume.h"

namespace zenfs {
namespace {

struct Shape {
  EmulatorGeometry geometry;
  ImageLogDevice log_device{};
};

std::vector<Shape> Shapes() {
  return {{{.zones = 12, .zone_size = 64 << 10, .max_open = 0, .max_active = 0}},
          {{.zones = 12, .zone_size = 64 << 10, .max_open = 4, .max_active = 5, .block_size = 512}},
          {{.zones = 20,
            .zone_size = 128 << 10,
            .zone_capacity = 96 << 10,
            .max_open = 6,
            .max_active = 6,
            .conventional = 1,
            .block_size = 512}},
          {{.zones = 18, .zone_size = 64 << 10, .max_open = 10, .max_active = 10, .block_size = 512},
           {.zones = 7, .active = 5}}};
}

template <typename T>
T Must(Result<T> result) {
  Require(result.has_value(), result ? "" : result.error().ToString());
  return *std::move(result);
}
void Must(const Status& status) { Require(status.ok(), status.ok() ? "" : status.error().ToString()); }

std::string Text(std::size_t size, char first) {
  std::string text(size, '\0');
  for (std::size_t i = 0; i < size; ++i) text[i] = static_cast<char>(first + i % 17);
  return text;
}

void Put(Volume& volume, const std::string& path, const std::string& text) {
  const auto file = Must(volume.Create(path));
  Must(file->Append(AsBytes(text)));
  Must(file->Sync());
  Must(file->Append(AsBytes(text.substr(0, 700))));
  Must(file->Close());
}

ImageAge TakeAge(ImageDevice& device, const Superblock& superblock) {
  ImageAge age{.image = device.Save(), .log_zones = {}};
  const auto joined = Must(BorrowJoined(device));
  age.log_zones = Must(Replay(*joined, superblock)).state.log_zones();
  return age;
}

void Format(ImageDevice& device) {
  FormatOptions options{
      .label = "fuzz", .uuid = *Uuid::Parse("01234567-89ab-4def-8123-456789abcdef"), .metadata_zones = 3};
  if (!IsSplit(device)) {
    Must(FormatVolume(device, options));
    return;
  }
  const SplitParts parts = Split(device, OpenMode::kExclusive);
  Must(FormatTwoDevices(
      {.main = *parts.main, .logs = *parts.logs, .main_name = "emu:/main.img", .logs_name = "emu:/logs.img"},
      std::move(options)));
}

// Files of both shapes, two names of one file, directories, a rename over another file, and garbage
// from deletions.
void Work(Volume& volume) {
  Must(volume.MakeDirectory("db/sub", true));
  Put(volume, "db/000001.sst", Text(9000, 'a'));
  Put(volume, "db/000002.log", Text(3000, 'b'));
  Put(volume, "db/sub/000003.sst", Text(100, 'c'));
  Put(volume, "db/CURRENT.tmp", "MANIFEST-1\n");
  Must(volume.Rename("db/CURRENT.tmp", "db/CURRENT"));
  Must(volume.Link("db/000001.sst", "db/sub/link"));
  Put(volume, "MANIFEST-1", Text(1500, 'd'));
}

void MoreWork(Volume& volume) {
  for (int i = 0; i < 6; ++i) {
    Put(volume, fmt::format("db/{:06}.log", 10 + i), Text(2000, 'e'));
    Put(volume, "db/000001.sst", Text(5000, static_cast<char>('f' + i)));
    if (i > 0) Must(volume.Unlink(fmt::format("db/{:06}.log", 9 + i)));
  }
  Must(TruncateFile(volume, "MANIFEST-1", 900));
  Must(volume.Unlink("db/sub/link"));
}

void Grow(ImageBase& base) {
  ImageDevice device(base.geometry, OpenMode::kExclusive, "", base.log_device);
  Format(device);
  base.superblock = Must(FindSuperblock(*Must(BorrowJoined(device))));
  base.ages.push_back(TakeAge(device, base.superblock));
  const MountOptions options{.plain_buffer_bytes = 64 << 10, .flush_directory = "none"};
  for (const auto& work : {Work, MoreWork}) {
    auto volume = Must(Volume::Mount(Must(BorrowJoined(device)), options));
    work(*volume);
    base.ages.push_back(TakeAge(device, base.superblock));  // as left by a process that dies now
    Must(volume->Unmount());
    volume.reset();
    base.ages.push_back(TakeAge(device, base.superblock));
  }
}

}  // namespace

const std::vector<ImageBase>& ImageBases() {
  static const std::vector<ImageBase> bases = [] {
    std::vector<ImageBase> made;
    for (const Shape& shape : Shapes()) {
      ImageBase& base = made.emplace_back(ImageBase{
          .geometry = shape.geometry, .log_device = shape.log_device, .superblock = {}, .ages = {}});
      RunSimulated([&] { Grow(base); });
    }
    return made;
  }();
  return bases;
}

std::size_t SingleImageBases() {
  const auto& bases = ImageBases();
  return static_cast<std::size_t>(
      std::ranges::count_if(bases, [](const ImageBase& base) { return base.log_device.zones == 0; }));
}

}  // namespace zenfs
