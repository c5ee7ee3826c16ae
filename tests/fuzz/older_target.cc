// Devices of the older ZenFS. The input is a list of steps on a small device, each a byte and its arguments: a record of any
// contents with a matching checksum, a superblock, any blocks in any zone, and a zone's condition. Then the device is probed,
// replayed twice, each extent of the state is inside a zone that may hold data, and an upgrade and its undo keep all files.
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <map>
#include <memory>
#include <span>
#include <string>

#include "backends/emulator/emulator.h"
#include "file/extent_reader.h"
#include "input.h"
#include "metalog/follower.h"
#include "metalog/probe.h"
#include "scratch_path.h"
#include "testing/older_writer.h"
#include "upgrade/upgrade.h"

namespace zenfs {
namespace {

constexpr std::uint32_t kBlock = 4096;
constexpr std::uint32_t kZones = 12;

std::uint64_t RoomIn(ZonedDevice& device, ZoneId zone) {
  const auto info = device.ReportZone(zone);
  const bool writable = info && (info->condition == ZoneCondition::kEmpty || IsActive(info->condition));
  return writable ? info->capacity - info->WrittenBytes() : 0;
}

class Script {
 public:
  Script(EmulatorDevice& device, FuzzInput& input, std::uint32_t version)
      : device_(device), input_(input), writer_(device, version) {}

  void Run() {
    while (!input_.AtEnd()) Step();
  }

 private:
  void Step() {
    const auto step = input_.Take<std::uint8_t>();
    const ZoneId zone(input_.Take<std::uint8_t>() % kZones);
    const std::uint64_t room = RoomIn(device_, zone);
    const std::uint64_t log_room = RoomIn(device_, log_);
    switch (step % 5) {
      case 0:
        if (room < kBlock) return;
        log_ = zone;
        return writer_.Superblock(zone, input_.Take<std::uint8_t>());
      case 1: {
        const std::string payload = Text();
        if (log_room >= payload.size() + kBlock) writer_.Raw(OlderWriter::RecordBytes(payload));
        return;
      }
      case 2: {
        const std::string bytes = Text();
        if (room >= bytes.size() + kBlock && !bytes.empty()) writer_.Plain(zone, bytes);
        return;
      }
      case 3: {
        const std::string bytes = Text();
        if (log_room >= bytes.size() + kBlock && !bytes.empty()) writer_.Raw(bytes);
        return;
      }
      default: {
        constexpr std::array kConditions{ZoneCondition::kFull, ZoneCondition::kReadOnly,
                                         ZoneCondition::kOffline};
        static_cast<void>(
            device_.SetCondition(zone, kConditions[input_.Take<std::uint8_t>() % kConditions.size()]).ok());
      }
    }
  }

  std::string Text() {
    const auto length = input_.Take<std::uint16_t>();
    return std::string(AsText(input_.Bytes(length)));
  }

  EmulatorDevice& device_;
  FuzzInput& input_;
  OlderWriter writer_;
  ZoneId log_{0};
};

void CheckPlaces(ZonedDevice& device, const Superblock& superblock, const State& state) {
  const Geometry& geometry = device.geometry();
  Require(state.Check().empty(), "the state keeps its invariants");
  for (const auto& [id, record] : state.files()) {
    for (const Extent& extent : record->extents) {
      Require(extent.place.value < geometry.size_bytes(), "an extent is on the device");
      const ZoneId zone = geometry.ZoneOf(extent.place);
      Require(extent.place - geometry.ZoneStart(zone) + extent.length <= geometry.zone_size,
              "an extent is in one zone");
      for (const ZoneId metadata : superblock.metadata_zones)
        Require(metadata != zone, "an extent is not in a metadata zone");
    }
  }
}

using FilesOnIt = std::map<std::string, std::string>;  // the bytes of each file, by path

void AddBelow(ZonedDevice& device, const State& state, FileId directory, const std::string& path,
              FilesOnIt& contents) {
  for (const auto& [name, id] : state.FindDirectory(directory)->entries) {
    const std::string below = path + "/" + name;
    if (state.FindDirectory(id) != nullptr) {
      AddBelow(device, state, id, below, contents);
      continue;
    }
    const auto file = state.FindFile(id);
    std::string bytes(file->size, '\0');
    const bool read = ReadExtents(device, file->extents, 0, std::as_writable_bytes(std::span(bytes))).ok();
    contents[below] = read ? bytes : "unreadable";
  }
}

FilesOnIt ContentsOf(ZonedDevice& device) {
  FilesOnIt contents;
  const auto superblock = ProbeReadable(device);
  Require(superblock.has_value(), "there is a volume");
  LogFollower follower(device, *superblock);
  Require(follower.Refresh().has_value(), "its metadata can be read");
  AddBelow(device, follower.state(), kRootDirectory, "", contents);
  return contents;
}

// Every file is the same after an upgrade, after one that failed, and after its undo.
void Upgrade(ZonedDevice& device) {
  const auto plan = PlanUpgrade(device);
  if (!plan) return;
  const FilesOnIt before = ContentsOf(device);
  static const ScratchPath copy;
  ::unlink(copy.path().c_str());  // left by the previous input
  const bool done = CarryOutUpgrade(device, *plan, copy.path()).ok();
  Require(ContentsOf(device) == before, "an upgrade keeps the files");
  if (!done || !UndoUpgrade(device, copy.path()).ok()) return;
  Require(ProbeReadable(device)->is_older(), "an undo gives the older volume back");
  Require(ContentsOf(device) == before, "an undo keeps the files");
}

}  // namespace
}  // namespace zenfs

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace zenfs;
  FuzzInput input(std::as_bytes(std::span(data, size)));
  const auto device = CreateMemoryDevice({.zones = kZones, .zone_size = 64 << 10, .zone_capacity = 48 << 10});
  Script(*device, input, 1 + input.Take<std::uint8_t>() % 2).Run();
  const auto superblock = ProbeReadable(*device);
  Require(!ProbeSuperblock(*device), "nobody may write to it");
  if (!superblock) return 0;
  Require(superblock->is_older(), "only such a volume is there");
  LogFollower follower(*device, *superblock);
  if (!follower.Refresh()) return 0;
  CheckPlaces(*device, *superblock, follower.state());
  LogFollower again(*device, *superblock);
  Require(again.Refresh().has_value() && again.state() == follower.state(), "a device has one meaning");
  Upgrade(*device);
  return 0;
}
