#include "cli/device_list.h"

#include <algorithm>
#include <array>

namespace zenfs {
namespace {

// What stands before a ':' that belongs to a device rather than between two.
bool IsPrefix(std::string_view part) {
  constexpr std::array<std::string_view, 8> kPrefixes = {"zenfs",    "emu",  "dev",   "zonefs",
                                                         "//zonefs", "uuid", "//emu", "//dev"};
  return part == "//uuid" || std::find(kPrefixes.begin(), kPrefixes.end(), part) != kPrefixes.end();
}

}  // namespace

std::vector<std::string> SplitDeviceList(std::string_view list) {
  std::vector<std::string> devices;
  std::string device;
  while (!list.empty()) {
    const std::string_view part = list.substr(0, list.find(':'));
    list.remove_prefix(std::min(part.size() + 1, list.size()));
    device += part;
    if (IsPrefix(part) && !list.empty()) {
      device += ':';
    } else if (!device.empty()) {
      devices.push_back(std::move(device));
      device.clear();
    }
  }
  return devices;
}

}  // namespace zenfs
