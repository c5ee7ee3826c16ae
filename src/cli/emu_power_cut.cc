#include <fmt/format.h>

#include "backends/emulator/power_loss.h"
#include "base/random.h"
#include "cli/flags.h"
#include "cli/verbs.h"

namespace zenfs {
namespace {

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

std::unique_ptr<Action> MakeEmuPowerCut(CLI::App& app) { return MakeAction<EmuPowerCutAction>(app); }

}  // namespace zenfs
