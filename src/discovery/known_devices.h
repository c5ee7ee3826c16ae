// Every device that this process could open: zoned block devices and mounted zonefs of the host, and those that lists
// name (discovery/device_list.h).
//
// Opens nothing; asks for no permission.
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

// Where to look. The defaults are this host's; others are for tests.
struct SearchPlaces {
  std::string sysfs = "/sys";
  std::string mountinfo = "/proc/self/mountinfo";
  ListPlaces lists;

  static SearchPlaces OfThisProcess() { return {.lists = ListPlaces::OfEnvironment()}; }
};

struct KnownDevice {
  DeviceUri uri;  // no options
  // Whether its absence is worth a word: somebody named it in this call, or it is there by the kernel's word.
  enum class Origin { kAsked, kKernel, kListed } origin = Origin::kKernel;
  std::optional<BlockFacts> block;  // of a block device, and of the one below a zonefs, where sysfs shows it
  // A block device whose bytes belong to something above it: "the zonefs at /mnt/z", "dm-0"; else "".
  std::string used_by;
  // What to append to "zenfs VERB ": "--zbd=nvme0n1".
  std::string Flag() const;
  // As a person knows it, and URIs have it: "dev:nvme0n1", "zonefs:/mnt/z", "emu:a.img".
  std::string Name() const { return uri.kind + ":" + uri.target; }
};

struct KnownDevices {
  std::vector<KnownDevice> devices;
  std::vector<Error> problems;  // of the lists; one line each
};

// `asked` first, then block devices by name, then zonefs, then listed ones. Each device once, by its canonical URI, and
// each zonefs once, also if it is mounted at several places (one that may be written, if there is one).
[[nodiscard]] KnownDevices FindDevices(const SearchPlaces& places, const std::vector<DeviceUri>& asked = {});

// Facts of the block device at `path` ("/dev/nvme0n1"), which need not exist where `sysfs` is not the host's.
[[nodiscard]] std::optional<BlockFacts> FactsOfNode(const std::string& path,
                                                    const std::string& sysfs = "/sys");

}  // namespace zenfs
