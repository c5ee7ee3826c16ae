// The repeatable flag --emu of verbs over all devices: more emulated devices to look at.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "discovery/known_devices.h"

namespace zenfs {

class AskedDevices {
 public:
  // `app` keeps references to this object.
  explicit AskedDevices(CLI::App& app) {
    app.add_option("--emu", paths_, "Also look at this emulated device; may be given several times")
        ->type_name("PATH")
        ->expected(1)
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  }

  // The devices of the flags, and all devices of this host and its lists.
  [[nodiscard]] KnownDevices Find() const {
    std::vector<DeviceUri> asked;
    for (const std::string& path : paths_) asked.push_back({.kind = "emu", .target = path, .options = {}});
    return FindDevices(SearchPlaces::OfThisProcess(), asked);
  }

 private:
  std::vector<std::string> paths_;
};

}  // namespace zenfs
