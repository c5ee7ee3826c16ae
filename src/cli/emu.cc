// Verbs of emulated devices: emu create, emu clone, emu info, emu power-cut.
#include <fmt/format.h>

#include <vector>

#include "backends/emulator/emulated_clone.h"
#include "backends/emulator/emulator.h"
#include "backends/emulator/power_loss.h"
#include "base/counted.h"
#include "base/random.h"
#include "base/short_bytes.h"
#include "cli/flags.h"
#include "cli/interrupt.h"
#include "cli/number.h"
#include "cli/table.h"
#include "cli/verbs.h"
#include "metalog/metalog.h"
#include "metalog/probe.h"
#include "metalog/replay.h"

namespace zenfs {
namespace {

// The error of making the file of a device, with the flag that helps.
Error NotMade(const Error& error, bool force) {
  if (force || error.code() != Code::kExists) return error;
  return Error(Code::kExists, error.text() + " (--force replaces an emulated device)");
}

const EmulatorGeometry* KnownGeometry(std::string_view name) {
  if (name == "zn540") return &kZn540Geometry;
  if (name == "smallzone") return &kSmallZoneGeometry;
  return nullptr;
}

class EmuCreateAction : public Action {
 public:
  explicit EmuCreateAction(CLI::App& app) {
    app.add_option("path", path_, "The file to make")->required()->type_name("PATH");
    app.add_option("--geometry", preset_, "The shape of a known drive; other flags override single values")
        ->type_name("NAME")
        ->check([](const std::string& name) {
          return KnownGeometry(name) != nullptr
                     ? ""
                     : fmt::format("unknown geometry {}; known: zn540 and smallzone", name);
        });
    zones_ = AddCount(app, "--zones", geometry_.zones, "Number of zones");
    zone_size_ = AddSize(app, "--zone-size", geometry_.zone_size, "Distance between the starts of two zones")
                     ->default_str("16M");
    zone_capacity_ =
        AddSize(app, "--zone-capacity", geometry_.zone_capacity, "Bytes of a zone that can be written")
            ->default_str("zone-size");
    max_open_ =
        AddCount(app, "--max-open", geometry_.max_open, "Zones that may be open at once, 0 for no limit");
    max_active_ = AddCount(app, "--max-active", geometry_.max_active,
                           "Zones that may be active at once, 0 for no limit");
    AddCount(app, "--conventional", geometry_.conventional,
             "Number of conventional zones, from the first on");
    AddSize(app, "--block-size", block_size_, "Unit of reads and writes")->default_str("4096");
    AddSize(app, "--random-area", geometry_.random_area,
            "Bytes of the random write area of a zone, 0 for none")
        ->default_str("0");
    random_unit_ =
        AddSize(app, "--random-unit", geometry_.random_unit, "Unit of its commits")->default_str("16K");
    random_zones_ =
        AddCount(app, "--random-zones", geometry_.random_zones, "Zones that may have such an area")
            ->default_str("8");
    app.add_option("--timing", timing_,
                   "Timing profile of its commands: none, zn540, bufferless, smr or smallzone")
        ->type_name("NAME")
        ->default_str("none");
    app.add_flag("--volatile-cache", volatile_cache_,
                 "With a volatile cache: zenfs emu power-cut loses data that was not flushed");
    app.add_flag("--reserve", options_.reserve, "Take all of its space on the host now, and keep it");
    AddFileMode(app, options_.mode, "600");
    app.add_flag("--force", force_, "Replace an existing emulated device");
  }

  Result<int> Run(Console& console) override {
    if (!preset_.empty()) TakePreset(*KnownGeometry(preset_));
    ZENFS_ASSIGN_OR_RETURN(const Timing timing, ParseTiming(timing_));
    if (block_size_ > UINT32_MAX) return Fail(Code::kInvalidArgument, "the block size is above 65536");
    geometry_.block_size = static_cast<std::uint32_t>(block_size_);
    ZENFS_RETURN_IF_ERROR(TakeRandomArea());
    ZENFS_RETURN_IF_ERROR(Validate(geometry_));
    options_.progress = [&](std::uint64_t done, std::uint64_t of) {
      console.Progress("reserving", done, of);
    };
    if (options_.reserve) options_.stop = &StopOnInterrupt();
    const Status created = CreateEmulatedFile(path_, geometry_, force_, timing, volatile_cache_, options_);
    console.EndProgress();
    if (!created.ok()) return Fail(NotMade(created.error(), force_));
    const std::uint64_t capacity = geometry_.capacity() * (geometry_.zones - geometry_.conventional);
    console.Print(fmt::format("Emulated device created: {}, {} of {} ({} writable), {} in all.\n",
                              Printable(path_), Counted(geometry_.zones, "zone"),
                              FormatSize(geometry_.zone_size), FormatSize(geometry_.capacity()),
                              ShortBytes(capacity)));
    return 0;
  }

 private:
  // If the user gave a zone size, the capacity follows from it.
  void TakePreset(const EmulatorGeometry& preset) {
    if (zones_->empty()) geometry_.zones = preset.zones;
    if (zone_size_->empty() && zone_capacity_->empty()) geometry_.zone_capacity = preset.zone_capacity;
    if (zone_size_->empty()) geometry_.zone_size = preset.zone_size;
    if (max_open_->empty()) geometry_.max_open = preset.max_open;
    if (max_active_->empty()) geometry_.max_active = preset.max_active;
  }

  // The defaults count only for a device with random write areas.
  Status TakeRandomArea() {
    if (geometry_.random_area == 0) {
      if (random_unit_->empty() && random_zones_->empty()) return {};
      return Fail(Code::kInvalidArgument, "--random-unit and --random-zones need --random-area");
    }
    if (random_unit_->empty()) geometry_.random_unit = 16 << 10;
    if (random_zones_->empty()) geometry_.random_zones = 8;
    return {};
  }

  std::string path_;
  std::string preset_;
  std::string timing_ = "none";
  CLI::Option* zones_ = nullptr;
  CLI::Option* zone_size_ = nullptr;
  CLI::Option* zone_capacity_ = nullptr;
  CLI::Option* max_open_ = nullptr;
  CLI::Option* max_active_ = nullptr;
  CLI::Option* random_unit_ = nullptr;
  CLI::Option* random_zones_ = nullptr;
  EmulatorGeometry geometry_;
  std::uint64_t block_size_ = 4096;
  EmulatedFileOptions options_;
  bool volatile_cache_ = false;
  bool force_ = false;
};

// Returns the superblock of the file system on the device, or the reason why it can't get another
// UUID.
Result<Superblock> SuperblockOf(const std::string& path) {
  ZENFS_ASSIGN_OR_RETURN(const auto device, OpenEmulatedFile(path, OpenMode::kReadOnly));
  return ProbeSuperblock(*device);
}

// A clone of one of two devices would be a second owner of the other one.
Status RefuseOneOfTwo(const std::string& path) {
  const auto device = OpenEmulatedFile(path, OpenMode::kReadOnly);
  if (!device) return {};
  const Result<Superblock> found = FindSuperblock(**device);
  if (!found || (!found->has_log_device() && !found->is_log_device())) return {};
  return Fail(Code::kNotSupported,
              fmt::format("{}: its volume has a second device, {}, and a clone of one is none of the volume; "
                          "use zenfs backup",
                          path, found->peer));
}

// True if the process of the last mount died. Its flushed and unsynced bytes are in shared memory
// of this host, and belong only to the original.
bool WasLeftMounted(const std::string& path, const Superblock& superblock) {
  const auto device = OpenEmulatedFile(path, OpenMode::kReadOnly);
  if (!device) return false;
  const auto log = Metalog::Open(**device, superblock);
  return log && !(*log)->recovered().buffer_place().empty();
}

// Every metadata zone in use begins with a copy of the superblock.
Status GiveUuid(const std::string& original, EmulatedClone& clone, const Superblock& superblock,
                const Uuid& uuid) {
  ZENFS_ASSIGN_OR_RETURN(const auto device, OpenEmulatedFile(original, OpenMode::kReadOnly));
  std::vector<std::byte> bytes(kSuperblockBytes);
  for (const ZoneId zone : MetadataZones(*device, superblock)) {
    ZENFS_RETURN_IF_ERROR(clone.ReadStart(zone, bytes));
    const auto found = DecodeSuperblock(bytes);
    // The zone is not in use, or a crash cut the copy short; it stays invalid.
    if (!found || found->uuid != superblock.uuid) continue;
    ZENFS_RETURN_IF_ERROR(MakeClone(bytes, uuid));
    ZENFS_RETURN_IF_ERROR(clone.ReplaceStart(zone, bytes));
  }
  return {};
}

class EmuCloneAction : public Action {
 public:
  explicit EmuCloneAction(CLI::App& app) {
    app.add_option("source", from_, "The file of the device to copy")->required()->type_name("SRC");
    app.add_option("target", to_, "The file to make")->required()->type_name("DST");
    AddFileMode(app, mode_, "600");
    app.add_flag("--force", force_, "Replace an existing emulated device");
  }

  Result<int> Run(Console& console) override {
    ZENFS_RETURN_IF_ERROR(RefuseOneOfTwo(from_));
    const auto progress = [&](std::uint64_t done, std::uint64_t of) {
      console.Progress("copying", done, of);
    };
    auto clone = EmulatedClone::Begin(from_, to_, force_, progress, mode_.value_or(kEmulatedFileMode));
    console.EndProgress();
    if (!clone) return Fail(NotMade(clone.error(), force_));
    // The clone's lock keeps writers off the source.
    const Result<Superblock> superblock = SuperblockOf(from_);
    if (!superblock && superblock.error().code() == Code::kIo) return Fail(superblock.error());
    const Uuid uuid = Uuid::Generate();
    if (superblock) ZENFS_RETURN_IF_ERROR(GiveUuid(from_, **clone, *superblock, uuid));
    ZENFS_RETURN_IF_ERROR((*clone)->Finish());
    Report(console, superblock, uuid, (*clone)->copied_bytes());
    if (const Timing dropped = (*clone)->dropped_timing(); dropped != Timing::kNone) {
      console.Print(
          fmt::format("It does not have the times of {0} that the original asks for, because the original "
                      "belongs to another user; "
                      "?timing:{0} sets them.\n",
                      TimingName(dropped)));
    }
    if (superblock && WasLeftMounted(from_, *superblock)) {
      console.Print(
          "The original was not unmounted: data that was flushed and not synced is not in the clone. Mount "
          "the original once and clone it again to include it.\n");
    }
    return 0;
  }

 private:
  void Report(Console& console, const Result<Superblock>& superblock, const Uuid& uuid,
              std::uint64_t copied_bytes) const {
    console.Print(fmt::format("Cloned: {}, {} copied.\n", Printable(to_), ShortBytes(copied_bytes)));
    if (!superblock) {
      console.Print(
          fmt::format("It is a plain copy, without a new UUID: {}\n", Printable(superblock.error().text())));
      return;
    }
    console.Print(fmt::format("Its file system has the UUID {}.\n", uuid.ToString()));
    if (superblock->aux_path.empty()) return;
    console.Print(fmt::format("It has no aux directory: {} belongs to the original.\n",
                              Printable(superblock->aux_path)));
  }

  std::string from_;
  std::string to_;
  std::optional<mode_t> mode_;
  bool force_ = false;
};

class EmuInfoAction : public Action {
 public:
  explicit EmuInfoAction(CLI::App& app) {
    app.add_option("path", path_, "The file of the emulated device")->required()->type_name("PATH");
    AddJson(app, json_);
  }

  Result<int> Run(Console& console) override {
    ZENFS_ASSIGN_OR_RETURN(const EmulatedFileInfo info, ReadEmulatedFileInfo(path_));
    const EmulatorGeometry& g = info.geometry;
    Figures figures;
    figures.Add("Model", "model", info.model);
    figures.Add("UUID", "uuid", info.uuid.ToString());
    figures.Add("File version", "version", info.version);
    figures.Add("Zones", "zones", g.zones);
    figures.Add("Conventional zones", "conventional", g.conventional);
    figures.Add("Zone size", "zone_size", g.zone_size, FormatSize(g.zone_size));
    figures.Add("Zone capacity", "zone_capacity", g.capacity(), FormatSize(g.capacity()));
    figures.Add("Block size", "block_size", g.block_size, FormatSize(g.block_size));
    figures.Add("Open zones at most", "max_open", g.max_open, FormatLimit(g.max_open));
    figures.Add("Active zones at most", "max_active", g.max_active, FormatLimit(g.max_active));
    figures.Add("Random write area", "random_area",
                RandomAreaJson(g.random_area, g.random_unit, g.random_zones),
                RandomAreaText(g.random_area, g.random_unit, g.random_zones));
    figures.Add("Timing", "timing", std::string(TimingName(info.timing)));
    figures.Add("Volatile cache", "volatile_cache", info.volatile_cache, info.volatile_cache ? "yes" : "no");
    figures.Add("Space reserved", "reserved", info.reserved, info.reserved ? "yes" : "no");
    figures.Add("Size of the file", "file_bytes", info.file_bytes, ShortBytes(info.file_bytes));
    figures.Add("On the host's disk", "allocated_bytes", info.allocated_bytes,
                ShortBytes(info.allocated_bytes));
    figures.Print(console, json_);
    return 0;
  }

 private:
  std::string path_;
  bool json_ = false;
};

class EmuPowerCutAction : public Action {
 public:
  explicit EmuPowerCutAction(CLI::App& app) {
    app.add_option("path", path_, "The file of the emulated device")->required()->type_name("PATH");
    seeded_ = AddCount(app, "--seed", seed_, "Of what is lost")->default_str("always another");
    AddJson(app, json_);
  }

  Result<int> Run(Console& console) override {
    // A short seed: easy to type, and exact in every JSON reader.
    if (seeded_->empty()) seed_ = RandomSeed() >> 32;
    ZENFS_ASSIGN_OR_RETURN(const PowerCutLosses lost, CutPower(path_, seed_));
    if (json_) {
      console.PrintJson({{"seed", seed_},
                         {"zones_at_risk", lost.zones_at_risk},
                         {"blocks_at_risk", lost.blocks_at_risk},
                         {"zones", lost.zones},
                         {"blocks", lost.blocks}});
      return 0;
    }
    console.Print(fmt::format("Power cut: {}, seed {}: {} of {} zones lost {} of {} unflushed blocks.\n",
                              Printable(path_), seed_, lost.zones, lost.zones_at_risk, lost.blocks,
                              lost.blocks_at_risk));
    return 0;
  }

 private:
  std::string path_;
  std::uint64_t seed_ = 0;
  CLI::Option* seeded_ = nullptr;
  bool json_ = false;
};

}  // namespace

std::unique_ptr<Action> MakeEmuCreate(CLI::App& app) { return MakeAction<EmuCreateAction>(app); }

std::unique_ptr<Action> MakeEmuClone(CLI::App& app) { return MakeAction<EmuCloneAction>(app); }

std::unique_ptr<Action> MakeEmuInfo(CLI::App& app) { return MakeAction<EmuInfoAction>(app); }

std::unique_ptr<Action> MakeEmuPowerCut(CLI::App& app) { return MakeAction<EmuPowerCutAction>(app); }

}  // namespace zenfs
