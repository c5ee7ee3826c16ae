// Lists every device that this process could open: the zoned block devices and mounted zonefs of
// the host, and those in lists (discovery/device_list.h).
//
// Opens nothing; needs no permission.
//
// Threads: no state.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "backends/device_uri.h"
#include "backends/host/block_facts.h"
#include "discovery/device_list.h"

namespace zenfs {

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
