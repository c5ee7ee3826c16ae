#include "backends/nvme/nvme_device.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <array>
#include <cerrno>
#include <filesystem>
#include <utility>

#include "backends/block/block_device.h"
#include "backends/block/block_device_impl.h"
#include "backends/block/open_block_device.h"
#include "backends/block/zone_control.h"
#include "backends/host/block_facts.h"
#include "backends/nvme/nvme_commands.h"
#include "backends/nvme/nvme_namespace.h"
#include "base/bytes.h"
#include "base/file_lock.h"

namespace zenfs {
namespace {

constexpr BackendOption<NvmeOptions> kOptions[] = {kIoOption<NvmeOptions>};

// Adds to `geometry`, whose block size may be several logical blocks of the drive, what only commands of the drive do: zone
// appends, copies and random write areas. `path`: for messages. Errors: kCorruption if the drive and the kernel have
// different zones.
Status AddCommandLimits(const std::string& path, const NamespaceFacts& facts, const NvmePath& commands,
                        Geometry& geometry) {
  if (facts.zone_size != geometry.zone_size || !IsMultiple(geometry.block_size, facts.block_size)) {
    return Fail(
        Code::kCorruption,
        fmt::format("{}: the drive has zones of {} bytes and blocks of {}, the kernel's have {} and {}", path,
                    facts.zone_size, facts.block_size, geometry.zone_size, geometry.block_size));
  }
  geometry.max_append_bytes = RoundDown(commands.longest_append(), geometry.block_size);
  geometry.max_copy_bytes = RoundDown(facts.longest_copy, geometry.block_size);
  if (IsMultiple(facts.random_unit, geometry.block_size)) {  // the kernel's granularity may be larger
    geometry.random_area_bytes = facts.random_area;
    geometry.random_area_unit = facts.random_unit;
    geometry.random_area_zones = facts.random_zones;
  }
  return {};
}

Result<BlockFacts> FactsBehind(const std::string& path) {
  const std::string name = std::filesystem::path(path).filename();
  const std::string block = BlockNodeOf(name);
  if (block.empty()) {
    return Fail(
        Code::kInvalidArgument,
        fmt::format("{} is not the character device of an NVMe namespace, which is named like ng0n1", path));
  }
  Result<BlockFacts> facts = ReadBlockFacts(block);
  if (facts || facts.error().code() != Code::kNotFound) return facts;
  return Fail(Code::kNotFound,
              fmt::format("{}: there is no such device; `zenfs devices` lists those there are", path));
}

// The block device, held exclusively if the device is to be written. The name of the node is the kernel's.
Result<UniqueFd> HoldBlockDevice(const BlockFacts& facts, OpenMode mode) {
  const std::string path = "/dev/" + facts.name;
  const int flags = (mode == OpenMode::kExclusive ? O_RDWR | O_EXCL : O_RDONLY) | O_DIRECT | O_CLOEXEC;
  UniqueFd held;
  const int error = RetryWhileBusy(EBUSY, [&] {
    held = UniqueFd::Opened([&] { return ::open(path.c_str(), flags); });
    return held.valid() ? 0 : errno;
  });
  if (error != 0) return Fail(OpenError(error, path, facts, mode).error());
  return held;
}

Result<std::shared_ptr<const NvmeNamespace>> NamespaceAt(const std::string& path, OpenMode mode) {
  Result<NvmeNamespace> opened = OpenNamespace(path, mode == OpenMode::kExclusive ? O_RDWR : O_RDONLY);
  if (opened) return std::make_shared<const NvmeNamespace>(std::move(*opened));
  if (opened.error().code() != Code::kPermission) return Fail(std::move(opened).error());
  return Fail(
      std::move(opened).error().Advise("become root, or use dev:, which needs no commands of the drive "
                                       "(before Linux 6.2 only root may send them)"));
}

// What the drive itself says of its limits takes the place of what the kernel says.
Result<Geometry> GeometryOf(const std::string& path, Geometry geometry, const NamespaceFacts& facts,
                            const NvmePath& commands) {
  geometry.block_size = std::max(geometry.block_size, facts.block_size);
  geometry.max_open = facts.max_open;
  geometry.max_active = facts.max_active;
  geometry.volatile_cache = facts.volatile_cache;
  ZENFS_RETURN_IF_ERROR(AddCommandLimits(path, facts, commands, geometry));
  return geometry;
}

// Before Linux 6.2 the kernel lets everybody ask for identify data who may open the node, but only root send commands.
Status Probe(ZoneControl& control) {
  std::array<ReportedZone, 1> zone;
  std::size_t count = 0;
  const CommandResult answered = control.Report(0, zone, count);
  if (answered.ok()) return {};
  return FailErrno(answered.os_errno, WithStatus("a command was refused", answered.status));
}

// Changes `parts` only if it succeeds.
Status AddCommands(const std::string& node, const BlockFacts& facts, BlockDevice::Parts& parts) {
  const int flags = parts.mode == OpenMode::kExclusive ? O_RDWR : O_RDONLY;
  ZENFS_ASSIGN_OR_RETURN(NvmeNamespace opened, OpenNamespace(node, flags));
  const auto name_space = std::make_shared<const NvmeNamespace>(std::move(opened));
  ZENFS_RETURN_IF_ERROR(Probe(*ControlByCommands(name_space, UniqueFd())));
  const auto commands = std::make_shared<const NvmePath>(name_space, facts.longest_command);
  ZENFS_RETURN_IF_ERROR(AddCommandLimits(node, name_space->facts, *commands, parts.geometry));
  parts.control = ControlBesideKernel(std::move(parts.control), name_space);
  parts.commands = commands;
  parts.appends = commands;
  parts.entries = RingPool::Entries::kBig;
  return {};
}

}  // namespace

std::vector<OptionText> NvmeOptionTexts() { return TextsOf(kOptions); }

Result<NvmeOptions> TakeNvmeOptions(const DeviceOptions& given, DeviceOptions* unclaimed) {
  return TakeOptions(kOptions, given, unclaimed);
}

Result<std::unique_ptr<ZonedDevice>> OpenNvmeDevice(const std::string& node, OpenMode mode,
                                                    const NvmeOptions& options) {
  const std::string path = BlockNodePath(node);
  ZENFS_ASSIGN_OR_RETURN(const BlockFacts facts, FactsBehind(path));
  ZENFS_RETURN_IF_ERROR(CheckModel("/dev/" + facts.name, facts));
  ZENFS_ASSIGN_OR_RETURN(UniqueFd held, HoldBlockDevice(facts, mode));
  ZENFS_ASSIGN_OR_RETURN(const std::shared_ptr<const NvmeNamespace> name_space, NamespaceAt(path, mode));
  const auto commands = std::make_shared<const NvmePath>(name_space, facts.longest_command);

  BlockDevice::Parts parts;
  parts.control = ControlByCommands(name_space, std::move(held));
  ZENFS_ASSIGN_OR_RETURN(const std::vector<ReportedZone> zones,
                         ReportZones(*parts.control, path, facts.zone_size, ZoneId(0), facts.zone_count));
  ZENFS_ASSIGN_OR_RETURN(const Geometry geometry, CheckedGeometry(path, facts, zones));
  ZENFS_ASSIGN_OR_RETURN(parts.geometry, GeometryOf(path, geometry, name_space->facts, *commands));
  parts.zones = std::make_unique<ZoneFacts>(zones);
  parts.name = "nvme:" + std::filesystem::path(path).filename().string();
  parts.identity = "dev:" + facts.identity;  // that of the block device, for buffers and locks of either
  struct stat node_status{};
  if (::fstat(parts.control->fd(), &node_status) == 0) parts.owner = DeviceOwner::Of(node_status);
  parts.mode = mode;
  parts.data = commands;
  parts.appends = commands;
  parts.io_uring = options.io_uring;
  parts.entries = RingPool::Entries::kBig;
  return std::make_unique<BlockDevice>(std::move(parts));
}

Result<std::unique_ptr<ZonedDevice>> OpenBlockDeviceWithCommands(const std::string& node, OpenMode mode,
                                                                 const BlockOptions& options) {
  if (!options.commands) return OpenBlockDevice(node, mode, options);
  ZENFS_ASSIGN_OR_RETURN(OpenedBlock opened, OpenBlockParts(node, mode, options));
  BlockDevice::Parts& parts = opened.parts;
  const std::string character_name = CharacterNodeOf(opened.facts.name);
  if (!character_name.empty()) {
    const Status added = AddCommands("/dev/" + character_name, opened.facts, parts);
    if (!added.ok() && mode == OpenMode::kExclusive) {
      parts.notices.push_back(
          fmt::format("{}: the log does without zone append: {}", parts.name, added.error().ToString()));
    }
  }
  return std::make_unique<BlockDevice>(std::move(parts));
}

}  // namespace zenfs
