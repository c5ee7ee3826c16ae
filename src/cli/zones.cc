#include "cli/device_option.h"
#include "cli/flags.h"
#include "cli/verbs.h"
#include "cli/zone_picture.h"

namespace zenfs {
namespace {

Json ToJson(const ZoneStatus& zone) {
  return {{"zone", zone.id.value},
          {"phase", PhaseName(zone.phase)},
          {"lifetime", LifetimeName(zone.lifetime)},
          {"capacity", zone.capacity},
          {"written", zone.written},
          {"live", zone.live}};
}

class ZonesAction : public Action {
 public:
  explicit ZonesAction(CLI::App& app) : device_(app) { AddJson(app, json_); }

  Result<int> Run(Console& console) override {
    ZENFS_ASSIGN_OR_RETURN(const auto volume, device_.MountReadOnly());
    const std::vector<ZoneStatus> zones = volume->Zones();
    if (json_) {
      Json list = Json::array();
      for (const ZoneStatus& zone : zones) list.push_back(ToJson(zone));
      console.PrintJson(Json{{"zones", std::move(list)}});
    } else {
      console.Print(DrawZones(zones, console.terminal()));
    }
    return 0;
  }

 private:
  DeviceOption device_;
  bool json_ = false;
};

}  // namespace

std::unique_ptr<Action> MakeZones(CLI::App& app) { return MakeAction<ZonesAction>(app); }

}  // namespace zenfs
