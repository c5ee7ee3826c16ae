#include "discovery/known_devices.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/stat.h>

#include <filesystem>
#include <set>

#include "backends/block/block_device.h"
#include "backends/zonefs/zonefs_mount.h"

namespace zenfs {
namespace {

DeviceUri Uri(std::string_view kind, std::string target) {
  return {.kind = std::string(kind), .target = std::move(target), .options = {}};
}

struct Mount {
  ZonefsMount zonefs;
  std::optional<BlockFacts> block;
};

std::vector<Mount> ReadMounts(const SearchPlaces& places) {
  std::vector<Mount> mounts;
  for (ZonefsMount& zonefs : ZonefsMounts(places.mountinfo)) {
    Mount mount{.zonefs = std::move(zonefs), .block = {}};
    if (auto facts = ReadBlockFacts(mount.zonefs.device, places.sysfs)) mount.block = std::move(*facts);
    mounts.push_back(std::move(mount));
  }
  return mounts;
}

// Returns one mount of each file system, preferably a writable one. Ignores bind mounts of a
// directory of a zonefs.
std::vector<Mount> Distinct(const std::vector<Mount>& mounts) {
  std::vector<Mount> distinct;
  std::set<dev_t> devices;
  for (const bool read_only : {false, true}) {
    for (const Mount& mount : mounts) {
      if (!mount.zonefs.whole || mount.zonefs.read_only != read_only) continue;
      if (devices.insert(mount.zonefs.device).second) distinct.push_back(mount);
    }
  }
  return distinct;
}

class Collector {
 public:
  explicit Collector(const SearchPlaces& places) : places_(places), mounts_(ReadMounts(places)) {}

  KnownDevices Run(const std::vector<DeviceUri>& asked) && {
    using enum KnownDevice::Origin;
    for (const DeviceUri& uri : asked) Add(uri, kAsked);
    for (const BlockFacts& facts : ZonedBlockDevices(places_.sysfs)) Add(Uri("dev", facts.name), kKernel);
    for (const Mount& mount : Distinct(mounts_)) Add(Uri("zonefs", mount.zonefs.mountpoint), kKernel);
    ListedDevices listed = ReadDeviceLists(places_.lists);
    for (DeviceUri& uri : listed.devices) Add(std::move(uri), kListed);
    found_.problems = std::move(listed.problems);
    return std::move(found_);
  }

 private:
  void Add(DeviceUri uri, KnownDevice::Origin origin) {
    const std::string canonical = Canonical(uri);
    if (!seen_.insert(canonical).second) return;
    KnownDevice device{.uri = std::move(uri), .origin = origin, .block = {}, .used_by = {}};
    if (device.uri.kind == "dev") {
      device.block = FactsOfNode(BlockNodePath(device.uri.target), places_.sysfs);
      if (device.block) device.used_by = UserOf(*device.block);
    } else if (device.uri.kind == "zonefs") {
      for (const Mount& mount : mounts_) {
        if (Canonical(Uri("zonefs", mount.zonefs.mountpoint)) == canonical) device.block = mount.block;
      }
    }
    found_.devices.push_back(std::move(device));
  }

  std::string UserOf(const BlockFacts& facts) const {
    for (const Mount& mount : mounts_) {
      if (mount.block && mount.block->name == facts.name) return "the zonefs at " + mount.zonefs.mountpoint;
    }
    return fmt::format("{}", fmt::join(facts.holders, ", "));
  }

  const SearchPlaces& places_;
  const std::vector<Mount> mounts_;
  std::set<std::string> seen_;
  KnownDevices found_;
};

}  // namespace

std::string KnownDevice::Flag() const {
  return fmt::format("--{}={}", uri.kind == "dev" ? "zbd" : uri.kind, uri.target);
}

KnownDevices FindDevices(const SearchPlaces& places, const std::vector<DeviceUri>& asked) {
  return Collector(places).Run(asked);
}

std::optional<BlockFacts> FactsOfNode(const std::string& path, const std::string& sysfs) {
  struct stat node{};
  if (sysfs == "/sys" && ::stat(path.c_str(), &node) == 0 && S_ISBLK(node.st_mode)) {
    if (auto facts = ReadBlockFacts(node.st_rdev)) return std::move(*facts);
  }
  auto facts = ReadBlockFacts(std::filesystem::path(path).filename().string(), sysfs);
  if (!facts) return std::nullopt;
  return std::move(*facts);
}

}  // namespace zenfs
