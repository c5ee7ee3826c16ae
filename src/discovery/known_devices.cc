#include "discovery/known_devices.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <set>

#include "backends/block/block_device.h"
#include "backends/zonefs/zonefs_mount.h"
#include "base/environment.h"
#include "base/text_file.h"

namespace zenfs {

// --- lists ---

namespace {

// True if the ':' after this part belongs to a device instead of separating two.
bool IsPrefix(std::string_view part) {
  constexpr std::array<std::string_view, 6> kPrefixes = {"zenfs", "emu", "dev", "nvme", "zonefs", "uuid"};
  if (part.starts_with("//")) part.remove_prefix(2);
  return std::ranges::find(kPrefixes, part) != kPrefixes.end();
}

// In an absolute path, a ':' is part of the path.
Result<DeviceUri> ParseListed(const std::string& text) {
  if (text.starts_with('/') || text.find(':') == std::string::npos) {
    struct stat st{};
    const bool there = ::stat(text.c_str(), &st) == 0;
    const char* kind = there && S_ISBLK(st.st_mode) ? "dev" : there && S_ISDIR(st.st_mode) ? "zonefs" : "emu";
    return DeviceUri{.kind = kind, .target = text, .options = {}};
  }
  ZENFS_ASSIGN_OR_RETURN(DeviceUri uri, ParseDeviceUri(text));
  if (uri.kind == "uuid") {
    return Fail(Code::kInvalidArgument,
                fmt::format("{}: a list says where to look for a UUID; name a device by its place", text));
  }
  if (uri.kind == "nvme") {  // it would be the same device twice
    return Fail(Code::kInvalidArgument,
                fmt::format("{}: a list names a drive by its block device, as dev:NAME", text));
  }
  if (!uri.options.empty()) {
    return Fail(
        Code::kInvalidArgument,
        fmt::format("{}: a list of devices takes no options; they belong to the URI that a program opens",
                    text));
  }
  return uri;
}

// Paths in a file must be absolute: the program's working directory has nothing to do with the
// file.
Result<DeviceUri> ParseLine(const std::string& line) {
  ZENFS_ASSIGN_OR_RETURN(DeviceUri uri, ParseListed(line));
  if (uri.kind == "dev" || uri.target.starts_with('/')) return uri;
  return Fail(
      Code::kInvalidArgument,
      fmt::format("{}: not an absolute path; a line is /PATH, emu:/PATH, dev:NAME or zonefs:/MOUNT", line));
}

std::string Trimmed(std::string_view line) {
  constexpr std::string_view kSpace = " \t\r";
  const std::size_t begin = line.find_first_not_of(kSpace);
  if (begin == line.npos || line[begin] == '#') return "";
  return std::string(line.substr(begin, line.find_last_not_of(kSpace) - begin + 1));
}

void ReadVariable(const std::string& list, ListedDevices& listed) {
  for (const std::string& text : SplitDeviceList(list)) {
    if (auto uri = ParseListed(text)) {
      listed.devices.push_back(std::move(*uri));
    } else {
      listed.problems.push_back(uri.error().With("ZENFS_DEVICES"));
    }
  }
}

void ReadFile(const std::string& path, ListedDevices& listed) {
  const Result<TextFile> file = ReadTextFile(path, "list of devices");
  if (!file) return listed.problems.push_back(file.error());
  std::string_view rest = file->text;
  for (unsigned number = 1; !rest.empty(); ++number) {
    const std::string line = Trimmed(rest.substr(0, rest.find('\n')));
    rest.remove_prefix(std::min(rest.find('\n'), rest.size() - 1) + 1);
    if (line.empty()) continue;
    if (auto uri = ParseLine(line)) {
      listed.devices.push_back(std::move(*uri));
    } else {
      listed.problems.push_back(uri.error().With(fmt::format("{}:{}", path, number)));
    }
  }
}

}  // namespace

ListPlaces ListPlaces::OfEnvironment() {
  ListPlaces places{.variable = std::string(EnvironmentVariable("ZENFS_DEVICES")),
                    .file = std::string(EnvironmentVariable("ZENFS_DEVICES_FILE"))};
  if (!places.file.empty()) return places;
  const std::string config = UserConfigDirectory();
  std::error_code ignored;  // an unreadable directory has no list
  for (const std::string& path :
       {config.empty() ? "" : config + "/zenfs/devices", std::string("/etc/zenfs/devices")}) {
    if (!path.empty() && std::filesystem::exists(path, ignored)) {
      places.file = path;
      break;
    }
  }
  return places;
}

ListedDevices ReadDeviceLists(const ListPlaces& places) {
  ListedDevices listed;
  ReadVariable(places.variable, listed);
  if (!places.file.empty()) ReadFile(places.file, listed);
  return listed;
}

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

// --- the devices of the host and of the lists ---

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
