// Lists of devices, for devices that the kernel does not know as zoned (emulated ones), or to avoid
// naming them each time.
//
//    ZENFS_DEVICES   paths, emu:PATH and zenfs://emu:PATH, separated by ':' like PATH
//    a file          one device per line; '#' begins a comment. The first of these that exists: the file in
//                    ZENFS_DEVICES_FILE, $XDG_CONFIG_HOME/zenfs/devices (without that variable
//                    ~/.config/zenfs/devices), /etc/zenfs/devices
//
// A path means a zoned block device if it leads to a block device, a mounted zonefs if it leads to
// a directory, otherwise the file of an emulated device.
//
// In a program with more privileges than its caller the variables count as not set.
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

  // The places of this process. If the file in ZENFS_DEVICES_FILE does not exist, reading it is an
  // error.
  static ListPlaces OfEnvironment();
};

struct ListedDevices {
  std::vector<DeviceUri> devices;  // in the order of the lists; those of the variable first
  std::vector<Error> problems;     // invalid entries: "/etc/zenfs/devices:3: ...", "ZENFS_DEVICES: ..."
};

[[nodiscard]] ListedDevices ReadDeviceLists(const ListPlaces& places);

// The entries of a list in a variable, unchanged, without empty ones. As in PATH, a path in it
// can't contain a ':'.
[[nodiscard]] std::vector<std::string> SplitDeviceList(std::string_view list);

}  // namespace zenfs
