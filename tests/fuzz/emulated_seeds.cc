// Seeds of the target emulated.
#include <fmt/format.h>

#include "backends/emulator/emulated_file.h"
#include "emulated_input.h"
#include "input.h"
#include "seeds.h"

namespace zenfs {
namespace {

constexpr char kModel[] = "ZenFS emulated zoned device";

std::string Device(std::uint8_t flags, std::uint32_t version, const EmulatorGeometry& geometry,
                   Timing timing) {
  EmulatedFileHeader header{};
  std::memcpy(header.magic, kEmulatedFileMagic, sizeof header.magic);
  header.version = version;
  header.block_size = geometry.block_size;
  header.zones = geometry.zones;
  header.zone_size = geometry.zone_size;
  header.zone_capacity = geometry.capacity();
  header.conventional = geometry.conventional;
  header.max_open = geometry.max_open;
  header.max_active = geometry.max_active;
  header.random_area = geometry.random_area;
  header.random_unit = geometry.random_unit;
  header.random_zones = geometry.random_zones;
  header.durable_offset = geometry.random_area;  // not 0: with a volatile cache; the target corrects it
  header.timing = static_cast<std::uint32_t>(timing);
  std::memcpy(header.model, kModel, sizeof kModel);
  std::string out;
  PutRaw(out, flags);
  PutRaw(out, std::uint16_t{600});
  PutRaw(out, header);
  const std::uint64_t capacity = geometry.capacity() / geometry.block_size;
  const MachineZone states[] = {{ZoneCondition::kEmpty, 0},          {ZoneCondition::kImplicitlyOpen, 3},
                                {ZoneCondition::kExplicitlyOpen, 0}, {ZoneCondition::kClosed, 5},
                                {ZoneCondition::kFull, capacity},    {ZoneCondition::kReadOnly, 2},
                                {ZoneCondition::kOffline, 1}};
  const auto state = [&](std::uint32_t i) {
    if (geometry.random_area != 0 && i % 7 == 2) return MachineZone{ZoneCondition::kExplicitlyOpen, 4, true};
    return i < geometry.conventional ? MachineZone{ZoneCondition::kNotWritePointer, 0} : states[i % 7];
  };
  for (std::uint32_t i = 0; i < geometry.zones; ++i) PutRaw(out, PackZone(state(i)));
  for (std::uint32_t i = 0; i < geometry.zones; ++i) PutRaw(out, std::uint64_t{state(i).written / 2});
  if (geometry.random_area == 0) return out;
  for (std::uint32_t i = 0; i < geometry.zones; ++i) PutRaw(out, std::uint64_t{0x18});
  return out;
}

}  // namespace

void WriteEmulatedSeeds(SeedWriter& writer) {
  const EmulatorGeometry small{.zones = 8, .zone_size = 64 << 10, .max_open = 4, .max_active = 6};
  EmulatorGeometry odd{
      .zones = 10, .zone_size = 96 << 10, .zone_capacity = 80 << 10, .max_open = 0, .max_active = 0};
  odd.conventional = 2;
  odd.block_size = 512;
  writer.Write("emulated", "small", Device(0, kEmulatedFileVersion, small, Timing::kNone));
  writer.Write("emulated", "odd", Device(0, kEmulatedFileVersion, odd, Timing::kZn540));
  writer.Write("emulated", "cache", Device(0, kEmulatedCacheVersion, small, Timing::kBufferless));
  writer.Write("emulated", "odd-cache", Device(0, kEmulatedCacheVersion, odd, Timing::kNone));
  EmulatorGeometry random = small;
  random.random_area = 16 << 10;
  random.random_unit = 8 << 10;
  random.random_zones = 2;
  writer.Write("emulated", "random", Device(0, kEmulatedRandomVersion, random, Timing::kNone));
  writer.Write("emulated", "damaged", Device(kEmulatedCrcAsItIs, kEmulatedFileVersion, small, Timing::kNone));
  writer.Write("emulated", "layout",
               Device(kEmulatedLayoutAsItIs, kEmulatedFileVersion, small, Timing::kNone));
  writer.Write("emulated", "cut-off", Device(kEmulatedWrongSize, kEmulatedFileVersion, small, Timing::kNone));
}

}  // namespace zenfs
