#include <fmt/format.h>

#include "backends/emulator/emulator.h"
#include "base/counted.h"
#include "base/short_bytes.h"
#include "cli/flags.h"
#include "cli/interrupt.h"
#include "cli/verbs.h"

namespace zenfs {
namespace {

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
    if (!created.ok()) {
      if (force_ || created.error().code() != Code::kExists) return Fail(created.error());
      return Fail(Code::kExists, created.error().text() + " (--force replaces an emulated device)");
    }
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

}  // namespace

std::unique_ptr<Action> MakeEmuCreate(CLI::App& app) { return MakeAction<EmuCreateAction>(app); }

}  // namespace zenfs
