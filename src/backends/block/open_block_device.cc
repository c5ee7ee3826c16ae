#include "backends/block/open_block_device.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/blkzoned.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <utility>

#include "backends/host/data_path.h"
#include "backends/host/io_scheduler.h"
#include "backends/host/plain_io.h"
#include "base/file_lock.h"

namespace zenfs {
namespace {

constexpr BackendOption<BlockOptions> kOptions[] = {
    kIoOption<BlockOptions>,
    {{.key = "commands",
      .form = "commands:0",
      .meaning = "no NVMe commands, so no zone append (nvme/nvme_device.h)",
      .for_comparisons = true},
     [](BlockOptions& options, std::string_view key, std::string_view value) -> Status {
       ZENFS_ASSIGN_OR_RETURN(options.commands, ParseSwitch(key, value));
       return {};
     }},
};

std::unexpected<Error> Bad(std::string text) { return Fail(Code::kInvalidArgument, std::move(text)); }

namespace fs = std::filesystem;

std::string Mount(const std::string& root, const std::string& disk) {
  std::ifstream mounts(root + "/proc/self/mounts");
  for (std::string line; std::getline(mounts, line);) {
    std::istringstream words(line);
    std::string source, place;
    words >> source >> place;
    if (source == "/dev/" + disk) return "mounted at " + place;
  }
  return "";
}

enum class Opened { kAnyhow, kForWriting };

// The flags of an open file are in /proc/PID/fdinfo/FD, as "flags:\t0100002" in octal digits.
bool IsForWriting(const fs::path& info) {
  std::ifstream lines(info);
  for (std::string word; lines >> word;) {
    int flags = 0;
    if (word == "flags:" && lines >> std::oct >> flags) return (flags & O_ACCMODE) != O_RDONLY;
  }
  return false;
}

bool HasOpen(const fs::path& process, const fs::path& node, Opened how) {
  std::error_code none;
  for (const auto& fd : fs::directory_iterator(process / "fd", none)) {
    if (fs::read_symlink(fd.path(), none) != node) continue;
    if (how == Opened::kAnyhow || IsForWriting(process / "fdinfo" / fd.path().filename())) return true;
  }
  return false;
}

// "process 1234 (db_bench)", or "" if none is seen.
std::string Process(const std::string& root, const std::string& disk, Opened how) {
  std::error_code none;
  for (const auto& process : fs::directory_iterator(root + "/proc", none)) {
    const std::string pid = process.path().filename();
    if (!std::all_of(pid.begin(), pid.end(), [](char c) { return c >= '0' && c <= '9'; })) continue;
    if (!HasOpen(process.path(), "/dev/" + disk, how)) continue;
    std::ifstream file(process.path() / "comm");
    std::string command;
    std::getline(file, command);
    return fmt::format("process {} ({})", pid, command);
  }
  return "";
}

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

}  // namespace

std::vector<OptionText> BlockOptionTexts() { return TextsOf(kOptions); }

Result<BlockOptions> TakeBlockOptions(const DeviceOptions& given, DeviceOptions* unclaimed) {
  return TakeOptions(kOptions, given, unclaimed);
}

std::string BlockNodePath(const std::string& node) {
  const std::filesystem::path path = std::filesystem::path("/dev") / node;  // or `node`, if absolute
  std::error_code error;
  const std::filesystem::path resolved = std::filesystem::canonical(path, error);
  return error ? path.string() : resolved.string();
}

Status CheckModel(const std::string& path, const BlockFacts& facts) {
  if (facts.partition) {
    return Bad(fmt::format("{} is a partition; zones belong to the whole device, {}", path, facts.disk));
  }
  switch (facts.model) {
    case ZonedModel::kHostManaged: return {};
    case ZonedModel::kHostAware:
      return Bad(fmt::format(
          "{} is a host-aware disk, whose zones may be written anywhere; ZenFS needs a host-managed one",
          path));
    case ZonedModel::kNotZoned: break;
  }
  return Bad(
      fmt::format("{} is a regular disk, not a zoned one; `zenfs devices` lists the zoned devices, "
                  "`zenfs emu create` makes an emulated one",
                  path));
}

std::string DescribeDeviceUsers(const BlockFacts& facts, const std::string& root) {
  if (!facts.holders.empty()) return "part of " + facts.holders.front();
  const std::string place = Mount(root, facts.name);
  if (!place.empty()) return place;
  const std::string process = Process(root, facts.name, Opened::kAnyhow);
  return process.empty() ? "" : "open in " + process;
}

std::string DescribeDeviceWriter(const BlockFacts& facts, const std::string& root) {
  return Process(root, facts.name, Opened::kForWriting);
}

Status OpenError(int error, const std::string& path, const BlockFacts& facts, OpenMode mode) {
  if (error == EBUSY) {
    const std::string user = DescribeDeviceUsers(facts);
    return Fail(Code::kBusy,
                fmt::format("{} is in use{}", path, user.empty() ? " by somebody else" : ": " + user), error);
  }
  if (error == EACCES || error == EPERM) {
    return Fail(ErrnoError(error, fmt::format("{}: can't be opened to {} it", path,
                                              mode == OpenMode::kReadOnly ? "read" : "write"))
                    .Advise("join the group of the device node or have it changed "
                            "(packaging/udev/60-zenfs.rules shows how)"));
  }
  return FailErrno(error, path);
}

Result<Geometry> CheckedGeometry(const std::string& path, const BlockFacts& facts,
                                 const std::vector<ReportedZone>& zones) {
  for (std::size_t i = 0; i < zones.size(); ++i) {
    const bool last = i + 1 == zones.size();
    const std::uint64_t start = i * facts.zone_size;
    const std::uint64_t length = zones[i].length;
    if (zones[i].info.start.value != start || length > facts.zone_size ||
        (!last && length != facts.zone_size)) {
      return Fail(Code::kCorruption,
                  fmt::format("{}: zone {} is reported from {}, {} bytes long; by the kernel's zone size "
                              "of {} it begins at {}",
                              path, i, zones[i].info.start.value, length, facts.zone_size, start));
    }
    if (zones[i].info.type == ZoneType::kSequentialPreferred) {
      return Bad(
          fmt::format("{}: zone {} is one of a host-aware disk; ZenFS needs a host-managed one", path, i));
    }
  }
  return Geometry{.block_size = facts.write_granularity,
                  .zone_size = facts.zone_size,
                  .zone_count = static_cast<std::uint32_t>(zones.size()),
                  .max_open = facts.max_open,
                  .max_active = facts.max_active,
                  .max_append_bytes = 0,
                  .volatile_cache = facts.volatile_cache};
}

std::unique_ptr<ZoneControl> OpenControl(const std::string& path, int flags) {
  auto control = OpenByLibzbd(path, flags);
  // libzbd does not accept a node with another name than in sysfs, as under /dev/mapper without udev.
  const bool unknown = errno == ENOTSUP || errno == ENOENT || errno == ENXIO;
  if (control != nullptr || !unknown) return control;
  return OpenByIoctl(path, flags);  // the same commands, without the library
}

Result<OpenedBlock> OpenBlockParts(const std::string& node, OpenMode mode, const BlockOptions& options,
                                   decltype(&OpenControl) control) {
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
  errno = RetryWhileBusy(EBUSY, [&] {
    parts.control = control(path, flags);
    return parts.control != nullptr ? 0 : errno;
  });
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
  SkipAccessTimes(parts.control->fd());
  parts.data = PathOfNode(parts.control->fd(), LongestWrite(facts, release));
  parts.kernel_pointers = KernelPlugsZoneWrites(release);
  // The writer of an NVMe drive may use commands, and that of a device with another one on top may write through that: this
  // node's cache does not learn of either.
  const bool unseen_writes = !exclusive && (facts.name.starts_with("nvme") || !facts.holders.empty());
  if (!unseen_writes && PagesFit(parts.geometry.block_size)) {
    if (auto buffered = OpenBuffered(parts.control->fd())) parts.buffered = *std::move(buffered);
  }
  parts.scheduler = facts.scheduler.value_or("none") != "none";
  parts.io_uring = options.io_uring;
  return OpenedBlock{facts, std::move(parts)};
}

Result<std::unique_ptr<ZonedDevice>> OpenBlockDevice(const std::string& node, OpenMode mode,
                                                     const BlockOptions& options) {
  ZENFS_ASSIGN_OR_RETURN(OpenedBlock opened, OpenBlockParts(node, mode, options));
  return std::make_unique<BlockDevice>(std::move(opened.parts));
}

}  // namespace zenfs
