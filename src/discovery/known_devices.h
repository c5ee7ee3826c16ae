// Lists every device that this process could open: the zoned block devices and mounted zonefs of
// the host, and those in lists (ListPlaces).
//
// Opens nothing; needs no permission.
//
// Threads: no state.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "backends/device_uri.h"
#include "backends/host/block_facts.h"
#include "base/status.h"

namespace zenfs {

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

// The places to search. The defaults are those of this host; tests use others.
struct SearchPlaces {
  std::string sysfs = "/sys";
  std::string mountinfo = "/proc/self/mountinfo";
  ListPlaces lists;

  static SearchPlaces OfThisProcess() { return {.lists = ListPlaces::OfEnvironment()}; }
};

struct KnownDevice {
  DeviceUri uri;  // no options
  // Where the device is from. Callers report a missing device only if the user asked for it or the
  // kernel listed it.
  enum class Origin { kAsked, kKernel, kListed } origin = Origin::kKernel;
  std::optional<BlockFacts> block;  // of the block device, or of the one below a zonefs, if sysfs shows it
  // The user of a block device that belongs to something above it: "the zonefs at /mnt/z", "dm-0";
  // otherwise "".
  std::string used_by;
  // The flag to append to "zenfs VERB ": "--zbd=nvme0n1".
  std::string Flag() const;
  // The name for users, as in URIs: "dev:nvme0n1", "zonefs:/mnt/z", "emu:a.img".
  std::string Name() const { return uri.kind + ":" + uri.target; }
};

struct KnownDevices {
  std::vector<KnownDevice> devices;
  std::vector<Error> problems;  // problems of the lists, one line each
};

// Order: `asked`, block devices by name, zonefs, listed devices. Each device once, by its canonical
// URI. A zonefs with several mounts also appears once, with a writable mount if there is one.
[[nodiscard]] KnownDevices FindDevices(const SearchPlaces& places, const std::vector<DeviceUri>& asked = {});

// Facts of the block device at `path` ("/dev/nvme0n1"). In tests, with another `sysfs`, `path` need
// not exist.
[[nodiscard]] std::optional<BlockFacts> FactsOfNode(const std::string& path,
                                                    const std::string& sysfs = "/sys");

}  // namespace zenfs
