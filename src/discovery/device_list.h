// Devices that somebody wrote down, because the kernel does not know them as zoned (emulated ones), or to name them once.
//
//   ZENFS_DEVICES   a list as PATH is one: paths, emu:PATH and zenfs://emu:PATH, with ':' between them
//   a file          one device a line; '#' begins a comment. The first there is of: what ZENFS_DEVICES_FILE names,
//                   $XDG_CONFIG_HOME/zenfs/devices (without that variable ~/.config/zenfs/devices), /etc/zenfs/devices
//
// A path is a zoned block device if it leads to a block device, a mounted zonefs if it leads to a directory, else the file
// of an emulated device.
//
// Threads: no state.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "backends/device_uri.h"
#include "base/status.h"

namespace zenfs {

struct ListPlaces {
  std::string variable;  // the value of ZENFS_DEVICES
  std::string file;      // "": none

  // Of this process. A file that ZENFS_DEVICES_FILE names need not be there; reading it is then an error.
  static ListPlaces OfEnvironment();
};

struct ListedDevices {
  std::vector<DeviceUri> devices;  // in the order written; the variable's first
  std::vector<Error> problems;     // what is no device: "/etc/zenfs/devices:3: ...", "ZENFS_DEVICES: ..."
};

[[nodiscard]] ListedDevices ReadDeviceLists(const ListPlaces& places);

// The parts of a list in a variable as they were written; empty ones are passed over. As in PATH, no path can contain a
// ':'.
[[nodiscard]] std::vector<std::string> SplitDeviceList(std::string_view list);

}  // namespace zenfs
