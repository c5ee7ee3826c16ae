#include <fmt/format.h>

#include <limits>

#include "backends/host/block_facts.h"
#include "cli/asked_devices.h"
#include "cli/device_table.h"
#include "cli/flags.h"
#include "cli/verbs.h"

namespace zenfs {
namespace {

class DevicesAction : public Action {
 public:
  explicit DevicesAction(CLI::App& app) : asked_(app) { AddJson(app, json_); }

  Result<int> Run(Console& console) override {
    const KnownDevices known = asked_.Find();
    const std::string release = KernelRelease();
    std::vector<SeenDevice> devices;
    for (const KnownDevice& device : known.devices)
      devices.push_back({.known = device, .look = Examine(device)});
    for (const Error& problem : known.problems) {
      console.PrintError(fmt::format("zenfs devices: {}", Printable(problem.ToString())));
    }
    if (json_) {
      PrintJson(console, devices, release);
    } else {
      const int columns =
          console.terminal().is_terminal ? console.terminal().columns : std::numeric_limits<int>::max();
      console.Print(DeviceTable(devices, release, columns) + NextStep(devices));
    }
    return 0;
  }

 private:
  static void PrintJson(Console& console, const std::vector<SeenDevice>& devices,
                        const std::string& release) {
    Json list = Json::array();
    for (const SeenDevice& device : devices) list.push_back(DeviceJson(device, release));
    console.PrintJson(Json{{"kernel", release}, {"devices", std::move(list)}});
  }

  AskedDevices asked_;
  bool json_ = false;
};

}  // namespace

std::unique_ptr<Action> MakeDevices(CLI::App& app) { return MakeAction<DevicesAction>(app); }

}  // namespace zenfs
