// Seeds of the target image: every volume as it is, and with each kind of change.
#include <fmt/format.h>

#include "base/random.h"
#include "format/edit_codec.h"
#include "image_mutation.h"
#include "seeds.h"

namespace zenfs {
namespace {

std::vector<std::vector<Edit>> Commits() {
  return {{BeginEpoch{1000}},
          {RaiseCounters{5000, 5000}},
          {SetBufferPlace{"boot /dev/shm/fuzz"}},
          {ReserveLogZones{{{ZoneId(9), 400, 4}}}, RaiseCounters{0, 401}},
          {ReleaseLogZones{{ZoneId(5)}}},
          {RaiseCounters{2001, 0}, CreateFile{.id = FileId(2000), .shape = FileShape::kFramed},
           LinkFile{.parent = kRootDirectory, .name = "x.log", .id = FileId(2000)}},
          {RaiseCounters{2001, 0}, CreateFile{.id = FileId(2000)},
           LinkFile{.parent = kRootDirectory, .name = "x.sst", .id = FileId(2000)},
           SetExtents{.id = FileId(2000), .extents = {{0, DeviceOffset(7 * 65536), 4096}}, .size = 4096}},
          {UnlinkFile{kRootDirectory, "MANIFEST-1"}},
          {RenameEntry{kRootDirectory, "db", kRootDirectory, "moved"}}};
}

std::string Begin(std::size_t shape, std::size_t age) {
  std::string out;
  PutRaw(out, static_cast<std::uint8_t>(shape));
  PutRaw(out, static_cast<std::uint8_t>(age));
  PutRaw(out, std::uint8_t{0});
  return out;
}

void PutMutation(std::string& out, Mutation which, std::uint8_t zone, Random& random) {
  PutRaw(out, static_cast<std::uint8_t>(which));
  PutRaw(out, zone);
  for (int i = 0; i < 6; ++i) PutRaw(out, static_cast<std::uint8_t>(random.Below(6)));
}

}  // namespace

void WriteImageSeeds(SeedWriter& writer) {
  Random random(1);
  const auto& bases = ImageBases();
  for (std::size_t shape = 0; shape < bases.size(); ++shape) {
    const std::uint32_t first = bases[shape].superblock.metadata_zones.front().value;
    for (std::size_t age = 0; age < bases[shape].ages.size(); ++age) {
      const std::string begin = Begin(shape, age);
      const std::string name = fmt::format("{}-{}", shape, age);
      writer.Write("image", name, begin);
      for (unsigned which = 0; which < static_cast<unsigned>(Mutation::kCount); ++which) {
        std::string out = begin;
        PutMutation(out, static_cast<Mutation>(which), static_cast<std::uint8_t>(first + random.Below(9)),
                    random);
        writer.Write("image", fmt::format("{}-change-{}", name, which), out);
      }
      int number = 0;
      for (const std::vector<Edit>& edits : Commits()) {
        std::string list;
        EncodeEdits(edits, list);
        std::string out = begin;
        PutRaw(out, static_cast<std::uint8_t>(Mutation::kCommit));
        PutRaw(out, static_cast<std::uint8_t>(first + number % 3));
        PutRaw(out, static_cast<std::uint16_t>(list.size()));
        writer.Write("image", fmt::format("{}-commit-{}", name, number++), out + list);
      }
    }
  }
}

}  // namespace zenfs
