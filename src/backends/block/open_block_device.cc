#include <fcntl.h>
#include <fmt/format.h>
#include <linux/blkzoned.h>
#include <sys/stat.h>

#include <cerrno>
#include <filesystem>
#include <utility>

#include "backends/block/block_device.h"
#include "backends/block/block_device_impl.h"
#include "backends/block/node_path.h"
#include "backends/block/open_steps.h"
#include "backends/block/zone_report.h"
#include "backends/host/io_scheduler.h"
#include "base/file_lock.h"

namespace zenfs {
namespace {

Result<BlockFacts> FactsOf(const std::string& path) {
  struct stat node{};
  if (::stat(path.c_str(), &node) != 0) {
    if (errno == ENOENT) {
      return Fail(Code::kNotFound,
                  fmt::format("{}: there is no such device; `zenfs devices` lists those there are", path));
    }
    return FailErrno(errno, path);
  }
  if (!S_ISBLK(node.st_mode)) {
    return Fail(
        Code::kInvalidArgument,
        fmt::format("{} is not a block device; an emulated device is named emu:PATH, a zonefs zonefs:MOUNT",
                    path));
  }
  return ReadBlockFacts(node.st_rdev);
}

std::unique_ptr<ZoneControl> TryControl(const std::string& path, int flags, BlockOptions::ZoneCommands wish) {
  using enum BlockOptions::ZoneCommands;
  if (wish != kIoctl) {
    auto control = OpenByLibzbd(path, flags);
    // libzbd does not accept a node with another name than in sysfs, as under /dev/mapper without
    // udev.
    const bool unknown = errno == ENOTSUP || errno == ENOENT || errno == ENXIO;
    if (control != nullptr || wish == kLibzbd || !unknown) return control;
  }
  return OpenByIoctl(path, flags);  // the same commands, without the library
}

// Returns null and sets errno on failure.
std::unique_ptr<ZoneControl> OpenControl(const std::string& path, int flags,
                                         BlockOptions::ZoneCommands wish) {
  std::unique_ptr<ZoneControl> control;
  errno = RetryWhileBusy(EBUSY, [&] {
    control = TryControl(path, flags, wish);
    return control != nullptr ? 0 : errno;
  });
  return control;
}

}  // namespace

std::string BlockNodePath(const std::string& node) {
  const std::filesystem::path path = std::filesystem::path("/dev") / node;  // or `node`, if absolute
  std::error_code error;
  const std::filesystem::path resolved = std::filesystem::canonical(path, error);
  return error ? path.string() : resolved.string();
}

Result<OpenedBlock> OpenBlockParts(const std::string& node, OpenMode mode, const BlockOptions& options) {
  const std::string path = BlockNodePath(node);
  ZENFS_ASSIGN_OR_RETURN(const BlockFacts facts, FactsOf(path));
  ZENFS_RETURN_IF_ERROR(CheckModel(path, facts));
  const bool exclusive = mode == OpenMode::kExclusive;
  const std::string release = KernelRelease();
  if (exclusive) ZENFS_RETURN_IF_ERROR(CheckWriteOrder(path, facts, release));
  if (facts.zone_size == 0 || facts.zone_count == 0) {
    return Fail(Code::kCorruption, fmt::format("{}: the kernel gives it {} zones of {} bytes", path,
                                               facts.zone_count, facts.zone_size));
  }
  const int flags = (exclusive ? O_RDWR | O_EXCL : O_RDONLY) | O_DIRECT | O_CLOEXEC;
  BlockDevice::Parts parts;
  parts.control = OpenControl(path, flags, options.zone_commands);
  if (parts.control == nullptr) return Fail(OpenError(errno, path, facts, mode).error());
  ZENFS_ASSIGN_OR_RETURN(const std::vector<ReportedZone> zones,
                         ReportZones(*parts.control, path, facts.zone_size, ZoneId(0), facts.zone_count));
  ZENFS_ASSIGN_OR_RETURN(parts.geometry, CheckedGeometry(path, facts, zones));
  parts.zones = std::make_unique<ZoneFacts>(zones);
  parts.name = "dev:" + facts.name;
  parts.identity = "dev:" + facts.identity;
  struct stat node_status{};
  if (::fstat(parts.control->fd(), &node_status) == 0) parts.owner = DeviceOwner::Of(node_status);
  parts.mode = mode;
  parts.data = PathOfNode(parts.control->fd(), LongestWrite(facts, release));
  parts.kernel_pointers = KernelPlugsZoneWrites(release);
  // The writer of an NVMe drive may use commands, and that of a device with another one on top may write through that: this
  // node's cache does not learn of either.
  const bool unseen_writes = !exclusive && (facts.name.starts_with("nvme") || !facts.holders.empty());
  if (!unseen_writes && PagesFit(parts.geometry.block_size)) {
    if (auto buffered = OpenBuffered(parts.control->fd())) parts.buffered = *std::move(buffered);
  }
  parts.io_uring = options.io_uring;
  return OpenedBlock{facts, std::move(parts)};
}

Result<std::unique_ptr<ZonedDevice>> OpenBlockDevice(const std::string& node, OpenMode mode,
                                                     const BlockOptions& options) {
  ZENFS_ASSIGN_OR_RETURN(OpenedBlock opened, OpenBlockParts(node, mode, options));
  return std::make_unique<BlockDevice>(std::move(opened.parts));
}

}  // namespace zenfs
