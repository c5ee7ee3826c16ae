#include <fmt/format.h>

#include "backends/emulator/emulator.h"
#include "base/short_bytes.h"
#include "cli/flags.h"
#include "cli/number.h"
#include "cli/table.h"
#include "cli/verbs.h"

namespace zenfs {
namespace {

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

}  // namespace

std::unique_ptr<Action> MakeEmuInfo(CLI::App& app) { return MakeAction<EmuInfoAction>(app); }

}  // namespace zenfs
