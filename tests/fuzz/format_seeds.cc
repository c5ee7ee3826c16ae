// Seeds of the targets superblock, metadata_copy and edits.
#include <fmt/format.h>

#include "format/edit_codec.h"
#include "format/metadata_copy.h"
#include "format/superblock.h"
#include "input.h"
#include "seeds.h"
#include "testing/edit_walk.h"

namespace zenfs {
namespace {

Superblock Small() {
  const Uuid uuid = *Uuid::Parse("01234567-89ab-4def-8123-456789abcdef");
  return {.uuid = uuid,
          .seed = uuid,
          .label = "seed",
          .created_seconds = 1'700'000'000,
          .block_size = 4096,
          .zone_size = 1 << 20,
          .zone_count = 40,
          .metadata_zones = {ZoneId(0), ZoneId(1), ZoneId(2)},
          .made_by = "seeds",
          .aux_path = "/var/lib/zenfs",
          .aux_secret = *Uuid::Parse("6b1d0c5e-93a7-4f2b-8d14-0e7f5a9c3b28")};
}

void WriteSuperblocks(SeedWriter& writer) {
  Superblock feature = Small();
  feature.read_only_compatible = 2;
  Superblock many = Small();
  many.zone_count = 1000;
  many.metadata_zones.clear();
  for (std::uint32_t i = 0; i < kMaxMetadataZones; ++i) many.metadata_zones.push_back(ZoneId(i * 2));
  int number = 0;
  for (const Superblock& each : {Small(), feature, many}) {
    const std::string bytes = EncodeSuperblock(each);
    writer.Write("superblock", fmt::format("fixed-{}", number), "\x02" + bytes.substr(0, 1600));
    writer.Write("superblock", fmt::format("as-it-is-{}", number++), std::string(1, '\0') + bytes);
  }
}

void WriteMetadataCopies(SeedWriter& writer) {
  MetadataCopy copy{.uuid = Small().uuid,
                    .seed = Small().seed,
                    .block_size = 4096,
                    .zone_size = 1 << 20,
                    .zone_count = 40,
                    .made_seconds = 1'700'000'000,
                    .highest_sequence = 70,
                    .next_generation = 8,
                    .repaired_sequence = 71,
                    .zones = {}};
  writer.Write("metadata_copy", "empty", "\x01" + EncodeMetadataCopy(copy));
  copy.zones = {{.zone = ZoneId(0), .condition = 4, .bytes = 8192, .crc = 7, .unreadable = 1},
                {.zone = ZoneId(2), .condition = 7}};
  writer.Write("metadata_copy", "two-zones", "\x01" + EncodeMetadataCopy(copy).substr(0, 256));
  writer.Write("metadata_copy", "as-it-is", std::string(1, '\0') + EncodeMetadataCopy(copy));
}

void PutList(std::string& out, const std::vector<Edit>& edits) {
  std::string list;
  EncodeEdits(edits, list);
  PutRaw(out, static_cast<std::uint16_t>(list.size()));
  out += list;
}

void WriteWalks(SeedWriter& writer) {
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    EditWalk walk(seed);
    std::string out;
    for (std::uint64_t commits = 4 * seed; commits > 0; --commits) {
      PutList(out, walk.Next());
    }
    writer.Write("edits", fmt::format("walk-{}", seed), out);
  }
  std::string zones;
  PutList(zones, {AllocateLogZones{{{ZoneId(3), 1, 7}, {ZoneId(4), 2, 8}}}, RaiseCounters{0, 3}});
  PutList(zones, {MarkSyncZone{ZoneId(4), 65536}, ReleaseLogZones{{ZoneId(3)}}});
  PutList(zones, {BeginEpoch{1}, SetPairKey{*Uuid::Parse("01234567-89ab-4def-8123-456789abcdef")}});
  writer.Write("edits", "log-zones", zones);
}

}  // namespace

void WriteFormatSeeds(SeedWriter& writer) {
  WriteSuperblocks(writer);
  WriteMetadataCopies(writer);
  WriteWalks(writer);
}

}  // namespace zenfs
