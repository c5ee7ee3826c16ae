#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <cerrno>
#include <filesystem>
#include <utility>

#include "backends/block/block_device.h"
#include "backends/block/block_device_impl.h"
#include "backends/block/open_block_device.h"
#include "backends/block/zone_control.h"
#include "backends/nvme/command_limits.h"
#include "backends/nvme/nvme_device.h"
#include "backends/nvme/nvme_namespace.h"
#include "backends/nvme/nvme_path.h"
#include "backends/nvme/nvme_zone_control.h"
#include "base/file_lock.h"

namespace zenfs {
namespace {

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

}  // namespace

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

}  // namespace zenfs
