#include <fmt/format.h>

#include "cli/device_option.h"
#include "cli/flags.h"
#include "cli/verbs.h"

namespace zenfs {
namespace {

// Dead bytes that no reset can free yet, in percent of the used bytes.
std::uint64_t SpaceAmplification(const SpaceReport& space) {
  if (space.used() == 0) return 0;
  return static_cast<std::uint64_t>(100.0 * static_cast<double>(space.reclaimable()) /
                                    static_cast<double>(space.used()));
}

class DfAction : public Action {
 public:
  explicit DfAction(CLI::App& app) : device_(app) { AddJson(app, json_); }

  Result<int> Run(Console& console) override {
    ZENFS_ASSIGN_OR_RETURN(const auto volume, device_.MountReadOnly());
    const SpaceReport space = volume->Space();
    if (json_) {
      console.PrintJson(Json{{"total_bytes", space.total},
                             {"free_bytes", space.free},
                             {"used_bytes", space.used()},
                             {"reclaimable_bytes", space.reclaimable()},
                             {"reserved_bytes", space.reserved()},
                             {"lost_bytes", space.lost},
                             {"data_bytes", space.live},
                             {"log_bytes", space.log_used},
                             {"metadata_bytes", space.metadata_used},
                             {"reclaim_bytes", space.reclaim},
                             {"space_amplification_percent", SpaceAmplification(space)}});
      return 0;
    }
    console.Print(fmt::format("Free: {} MB\nUsed: {} MB\nReclaimable: {} MB\nSpace amplification: {}%\n",
                              WholeMegabytes(space.free), WholeMegabytes(space.used()),
                              WholeMegabytes(space.reclaimable()), SpaceAmplification(space)));
    return 0;
  }

 private:
  DeviceOption device_;
  bool json_ = false;
};

}  // namespace

std::unique_ptr<Action> MakeDf(CLI::App& app) { return MakeAction<DfAction>(app); }

}  // namespace zenfs
