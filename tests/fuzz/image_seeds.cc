// Seeds of the targets image and repair: every volume unchanged, and with each kind of change.
#include <fmt/format.h>

#include "base/random.h"
#include "format/edit_codec.h"
#include "image_mutation.h"
#include "seeds.h"

namespace zenfs {
namespace {

constexpr const char* kPlace = "boot /dev/shm/zenfs-0123456789abcdef-fedcba9876543210";

std::vector<std::vector<Edit>> Commits() {
  return {{BeginEpoch{1000}},
          {RaiseCounters{5000, 5000}},
          {SetBufferPlace{kPlace}},
          {SetBufferPlace{kPlace, std::string(kBufferKeyBytes, 'k'), 1000}},
          {AllocateLogZones{{{ZoneId(9), 400, 4}}}, RaiseCounters{0, 401}},
          {ReleaseLogZones{{ZoneId(5)}}},
          {RaiseCounters{2001, 0}, CreateFile{.id = FileId(2000), .shape = FileShape::kFramed},
           LinkFile{.parent = kRootDirectory, .name = "x.log", .id = FileId(2000)}},
          {RaiseCounters{2001, 0}, CreateFile{.id = FileId(2000)},
           LinkFile{.parent = kRootDirectory, .name = "x.sst", .id = FileId(2000)},
           SetExtents{.id = FileId(2000), .extents = {{0, DeviceOffset(7 * 65536), 4096}}, .size = 4096}},
          {RaiseCounters{2001, 0}, CreateFile{.id = FileId(2000), .shape = FileShape::kFramed},
           LinkFile{.parent = kRootDirectory, .name = "y.log", .id = FileId(2000)},
           SealLog{.id = FileId(2000), .windows = {{1, 1, 3, 100}}, .next_sequence = 4, .size = 100},
           SetLifetime{FileId(2000), Lifetime::kLong}},
          {RaiseCounters{2001, 0}, CreateDirectory{FileId(2000), kRootDirectory, "new"}},
          {RaiseCounters{2001, 0}, CreateDirectory{FileId(2000), kRootDirectory, "new"},
           RemoveDirectory{kRootDirectory, "new"}},
          {UnlinkFile{kRootDirectory, "MANIFEST-1"}},
          {RenameEntry{kRootDirectory, "db", kRootDirectory, "moved"}}};
}

// The bytes that select the volume.
std::string Begin(std::size_t shape, std::size_t age) {
  std::string out;
  PutRaw(out, static_cast<std::uint8_t>(shape));
  PutRaw(out, static_cast<std::uint8_t>(age));
  return out;
}

// Writes the same mutations for both targets: the image is mounted; repaired; repaired and undone.
void WriteEach(SeedWriter& writer, const std::string& name, const std::string& begin,
               const std::string& mutations) {
  const std::string none(1, '\0');
  writer.Write("image", name, begin + none + mutations);
  writer.Write("repair", name, begin + none + none + mutations);
  writer.Write("repair", name + "-undo", begin + "\x01" + none + mutations);
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
      WriteEach(writer, name, begin, "");
      for (unsigned which = 0; which < static_cast<unsigned>(Mutation::kCount); ++which) {
        std::string out;
        PutMutation(out, static_cast<Mutation>(which), static_cast<std::uint8_t>(first + random.Below(9)),
                    random);
        WriteEach(writer, fmt::format("{}-change-{}", name, which), begin, out);
      }
      for (std::uint8_t other = 0; bases[shape].log_device.zones != 0 && other < bases[shape].ages.size();
           ++other) {
        std::string out;
        PutRaw(out, static_cast<std::uint8_t>(Mutation::kPartner));
        PutRaw(out, std::uint8_t{0});
        PutRaw(out, other);
        WriteEach(writer, fmt::format("{}-partner-{}", name, other), begin, out);
      }
      for (std::uint32_t zone = bases[shape].log_device.zones; zone > 0;
           --zone) {  // a superblock of the main device
        std::string out;
        PutRaw(out, static_cast<std::uint8_t>(Mutation::kSplice));
        PutRaw(out, static_cast<std::uint8_t>(bases[shape].geometry.zones - zone));
        PutRaw(out, static_cast<std::uint8_t>(age));
        PutRaw(out, static_cast<std::uint8_t>(first));
        WriteEach(writer, fmt::format("{}-main-copy-{}", name, zone), begin, out);
      }
      for (const auto& [levels, name_bytes] : {std::pair(63, 1), std::pair(40, 103), std::pair(17, 255)}) {
        std::string out;
        for (std::uint32_t zone = first; zone < first + 3; ++zone) {  // all copies of the log
          for (const int byte :
               {static_cast<int>(Mutation::kDeep), static_cast<int>(zone), levels, name_bytes - 1}) {
            PutRaw(out, static_cast<std::uint8_t>(byte));
          }
        }
        WriteEach(writer, fmt::format("{}-deep-{}-{}", name, levels, name_bytes), begin, out);
      }
      int number = 0;
      for (const std::vector<Edit>& edits : Commits()) {
        std::string list;
        EncodeEdits(edits, list);
        std::string out;
        PutRaw(out, static_cast<std::uint8_t>(Mutation::kCommit));
        PutRaw(out, static_cast<std::uint8_t>(first + number % 3));
        PutRaw(out, static_cast<std::uint16_t>(list.size()));
        WriteEach(writer, fmt::format("{}-commit-{}", name, number++), begin, out + list);
      }
    }
  }
}

}  // namespace zenfs
