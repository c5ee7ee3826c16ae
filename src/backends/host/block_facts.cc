#include "backends/host/block_facts.h"

#include <fmt/format.h>
#include <sys/sysmacros.h>
#include <sys/utsname.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace zenfs {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kSector = 512;     // unit of sysfs, whatever the device's block size
constexpr std::uint64_t kHostPage = 4096;  // the least bytes in a segment of a command

// The first line without surrounding white space; "" if there is none.
std::string Line(const fs::path& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  const std::size_t begin = line.find_first_not_of(" \t");
  if (begin == std::string::npos) return "";
  return line.substr(begin, line.find_last_not_of(" \t") - begin + 1);
}

std::uint64_t Number(const fs::path& path) {
  const std::string line = Line(path);
  std::uint64_t number = 0;
  std::from_chars(line.data(), line.data() + line.size(), number);
  return number;
}

// Parses a line like "none [mq-deadline] kyber".
void ReadSchedulers(const fs::path& path, BlockFacts& facts) {
  std::istringstream words(Line(path));
  for (std::string word; words >> word;) {
    const bool chosen = word.front() == '[' && word.back() == ']';
    if (chosen) word = word.substr(1, word.size() - 2);
    if (chosen) facts.scheduler = word;
    facts.schedulers.push_back(std::move(word));
  }
}

ZonedModel ReadModel(const fs::path& path) {
  const std::string model = Line(path);
  if (model == "host-managed") return ZonedModel::kHostManaged;
  return model == "host-aware" ? ZonedModel::kHostAware : ZonedModel::kNotZoned;
}

std::string ReadHardware(const fs::path& disk) {
  const std::string vendor = Line(disk / "device" / "vendor");
  std::string model = Line(disk / "device" / "model");
  // For NVMe, sysfs has a numeric PCI vendor id, which is of no use to people.
  if (vendor.empty() || vendor.starts_with("0x")) return model;
  return model.empty() ? vendor : vendor + " " + model;
}

std::string ReadIdentity(const fs::path& disk, const std::string& number) {
  for (const char* file : {"wwid", "device/wwid", "dm/uuid"}) {
    if (std::string wwid = Line(disk / file); !wwid.empty()) return wwid;
  }
  if (const std::string sequence = Line(disk / "diskseq"); !sequence.empty()) {
    return fmt::format("{}#{}", disk.filename().string(), sequence);
  }
  return number;
}

std::uint64_t LongestCommand(const fs::path& queue) {
  const std::uint64_t by_size = Number(queue / "max_sectors_kb") * 1024;
  const std::uint64_t by_segments = Number(queue / "max_segments") * kHostPage;
  return by_segments == 0 ? by_size : std::min(by_size, by_segments);
}

// The disks below a mapped disk or a multipath head. Not every head has links to its paths: for
// "nvme4n1" of a subsystem, "nvme4c7n1" is below the subsystem's link to each controller.
std::vector<fs::path> DisksBelow(const fs::path& disk) {
  std::vector<fs::path> below;
  std::error_code none;
  const auto add = [&](const fs::path& link) {
    if (const fs::path lower = fs::canonical(link, none); !none) below.push_back(lower);
  };
  for (const auto& slave : fs::directory_iterator(disk / "slaves", none)) add(slave.path());
  const std::string name = disk.filename();
  const std::size_t ns = name.rfind('n');
  if (!name.starts_with("nvme") || ns <= 4 || !fs::exists(disk.parent_path() / "subsysnqn")) return below;
  for (const auto& controller : fs::directory_iterator(disk.parent_path(), none)) {
    if (!controller.is_symlink(none)) continue;
    for (const auto& path : fs::directory_iterator(controller.path(), none)) {
      const std::string lower = path.path().filename();
      if (lower.starts_with(name.substr(0, ns) + "c") && lower.ends_with(name.substr(ns))) add(path.path());
    }
  }
  return below;
}

BlockFacts ReadFacts(const fs::path& directory);

// Before Linux 6.10 mapped disks and multipath heads show no limits on zones. The limits of the
// disks below apply.
void ReadLimits(const fs::path& disk, BlockFacts& facts) {
  facts.max_open = static_cast<std::uint32_t>(Number(disk / "queue" / "max_open_zones"));
  facts.max_active = static_cast<std::uint32_t>(Number(disk / "queue" / "max_active_zones"));
  if (facts.model == ZonedModel::kNotZoned || (facts.max_open != 0 && facts.max_active != 0)) return;
  const auto lower = [](std::uint32_t mine, std::uint32_t other) {
    return mine == 0 || other == 0 ? std::max(mine, other) : std::min(mine, other);
  };
  for (const fs::path& below : DisksBelow(disk)) {
    const BlockFacts its = ReadFacts(below);
    facts.max_open = lower(facts.max_open, its.max_open);
    facts.max_active = lower(facts.max_active, its.max_active);
  }
}

BlockFacts ReadFacts(const fs::path& directory) {
  BlockFacts facts;
  facts.name = directory.filename();
  facts.partition = fs::exists(directory / "partition");
  const fs::path disk = facts.partition ? directory.parent_path() : directory;
  const fs::path queue = disk / "queue";
  facts.disk = disk.filename();
  facts.model = ReadModel(queue / "zoned");
  facts.hardware = ReadHardware(disk);
  facts.size = Number(directory / "size") * kSector;
  facts.zone_size = facts.model == ZonedModel::kNotZoned ? 0 : Number(queue / "chunk_sectors") * kSector;
  facts.zone_count = static_cast<std::uint32_t>(Number(queue / "nr_zones"));
  ReadLimits(disk, facts);
  std::uint64_t granularity = Number(queue / "zone_write_granularity");
  if (granularity == 0) granularity = Number(queue / "physical_block_size");
  facts.write_granularity = granularity == 0 ? 4096 : static_cast<std::uint32_t>(granularity);
  facts.volatile_cache = Line(queue / "write_cache") != "write through";
  ReadSchedulers(queue / "scheduler", facts);
  facts.longest_command = LongestCommand(queue);
  std::error_code none;
  for (const auto& holder : fs::directory_iterator(directory / "holders", none)) {
    facts.holders.push_back(holder.path().filename());
  }
  std::sort(facts.holders.begin(), facts.holders.end());
  facts.identity = ReadIdentity(disk, Line(directory / "dev"));
  return facts;
}

Result<BlockFacts> ReadFactsAt(const fs::path& link, const std::string& asked) {
  std::error_code error;
  const fs::path directory = fs::canonical(link, error);
  if (!error) return ReadFacts(directory);
  return Fail(Code::kNotFound,
              fmt::format("the kernel knows no block device {} (looked for {})", asked, link.string()));
}

}  // namespace

Result<BlockFacts> ReadBlockFacts(dev_t device, const std::string& sysfs) {
  const std::string number = fmt::format("{}:{}", major(device), minor(device));
  return ReadFactsAt(fs::path(sysfs) / "dev" / "block" / number, number);
}

Result<BlockFacts> ReadBlockFacts(const std::string& name, const std::string& sysfs) {
  return ReadFactsAt(fs::path(sysfs) / "class" / "block" / name, name);
}

std::vector<BlockFacts> ZonedBlockDevices(const std::string& sysfs) {
  std::vector<BlockFacts> devices;
  std::error_code none;  // no /sys: no devices
  for (const auto& entry : fs::directory_iterator(fs::path(sysfs) / "block", none)) {
    if (ReadModel(entry.path() / "queue" / "zoned") == ZonedModel::kNotZoned) continue;
    if (Line(entry.path() / "hidden") == "1") continue;
    if (auto facts = ReadFactsAt(entry.path(), entry.path().filename())) devices.push_back(std::move(*facts));
  }
  std::sort(devices.begin(), devices.end(),
            [](const BlockFacts& a, const BlockFacts& b) { return a.name < b.name; });
  return devices;
}

bool KernelPlugsZoneWrites(const std::string& release) {
  unsigned version = 0, patch = 0;
  if (std::sscanf(release.c_str(), "%u.%u", &version, &patch) != 2) return false;
  return version > 6 || (version == 6 && patch >= 10);
}

std::string KernelRelease() {
  utsname name{};
  return ::uname(&name) == 0 ? name.release : "";
}

std::string_view ZonedModelName(ZonedModel model) {
  switch (model) {
    case ZonedModel::kHostManaged: return "host-managed";
    case ZonedModel::kHostAware: return "host-aware";
    case ZonedModel::kNotZoned: return "none";
  }
  return "";
}

}  // namespace zenfs
