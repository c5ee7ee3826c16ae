#include "backends/zonefs/zonefs_device.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>

#include <cerrno>
#include <filesystem>
#include <optional>

#include "backends/host/block_facts.h"
#include "backends/host/io_scheduler.h"
#include "backends/zonefs/zone_file_device.h"
#include "backends/zonefs/zone_files.h"
#include "backends/zonefs/zonefs_mount.h"

namespace zenfs {
namespace {

constexpr BackendOption<ZonefsOptions> kOptions[] = {kIoOption<ZonefsOptions>};

// ZONEFS_MAGIC of linux/magic.h since Linux 5.6: "ZOFS".
constexpr std::uint64_t kZonefsMagic = 0x5a4f4653;

std::unexpected<Error> Bad(std::string text) { return Fail(Code::kInvalidArgument, std::move(text)); }

// A hint for the message: "; zonefs is mounted at /mnt/z", or how to mount one.
std::string WhereInstead() {
  std::string list;
  for (const ZonefsMount& mount : ZonefsMounts()) {
    if (mount.whole) list += (list.empty() ? "" : ", ") + mount.mountpoint;
  }
  if (!list.empty()) return "; zonefs is mounted at " + list;
  return "; mount one with: mount -t zonefs -o explicit-open,errors=repair /dev/NAME MOUNTPOINT";
}

// The mount point, absolute and without symbolic links. Errors: kNotFound; kInvalidArgument if it
// is not a zonefs.
Result<std::string> FindMountpoint(const std::string& mountpoint) {
  std::error_code error;
  const std::filesystem::path path = std::filesystem::canonical(mountpoint, error);
  if (error == std::errc::no_such_file_or_directory) {
    return Fail(Code::kNotFound,
                fmt::format("zonefs:{}: there is no such directory{}", mountpoint, WhereInstead()));
  }
  if (error) return FailErrno(error.value(), fmt::format("zonefs:{}", mountpoint));
  struct statfs fs{};
  if (::statfs(path.c_str(), &fs) != 0) return FailErrno(errno, fmt::format("zonefs:{}", mountpoint));
  if (static_cast<std::uint32_t>(fs.f_type) != kZonefsMagic || !std::filesystem::is_directory(path, error)) {
    return Bad(fmt::format("zonefs:{}: no zonefs is mounted there{}", mountpoint, WhereInstead()));
  }
  return path.string();
}

Result<std::unique_ptr<ZoneDirectory>> OpenDirectory(const std::string& name, const std::string& mountpoint) {
  Result<std::unique_ptr<ZoneDirectory>> directory = ZoneDirectory::Open(mountpoint + "/seq");
  if (directory) return directory;
  if (directory.error().code() != Code::kNotFound) return Fail(directory.error().With(name));
  return Bad(fmt::format("{}: this zonefs has no sequential zones (no directory seq at its root)", name));
}

// Checks that only matter for writing.
Status CheckForWriting(const std::string& name, const std::string& path, const ZoneDirectory& directory) {
  if (directory.MountedReadOnly()) {
    return Fail(Code::kReadOnly,
                fmt::format("{} is mounted read-only, by option or by zonefs after an error; as root: "
                            "mount -o remount,rw,explicit-open,errors=repair {}",
                            name, path));
  }
  if ((directory.granted() & 0222) == 0) {
    return Fail(
        Code::kPermission,
        fmt::format(
            "{}: no zone file may be written by anybody (mode {:03o}); make the zonefs with mkzonefs "
            "-o perm=660, or chmod its files until the next mount; else the whole device is read-only",
            name, directory.granted()));
  }
  ZENFS_RETURN_IF_ERROR(directory.CheckPermission(true));
  Status locked = directory.Lock();
  return locked.ok() ? Status{} : Fail(locked.error().With(name));
}

// Debian's Linux 6.1 fails every synchronous direct write to a zone file ("Corrupted write
// pointer") and then makes the mount read-only. Writes through io_uring take another path and work.
bool SpoilsPlainWrites(const std::string& release) { return release.starts_with("6.1."); }

Status CheckWrites(const std::string& name, bool io_uring, const std::string& release) {
  if (!SpoilsPlainWrites(release)) return {};
  RingPool rings(io_uring ? RingPool::Use::kAllowed : RingPool::Use::kForbidden);
  if (rings.Acquire(1) != nullptr) return {};
  return Fail(
      Code::kNotSupported,
      fmt::format("{}: zonefs of Linux {} is broken for writes other than by io_uring, which {}; use a newer "
                  "kernel, dev:, or io_uring",
                  name, release, io_uring ? "this host refuses" : "io:plain rules out"));
}

// Notices about a mount that works, but not as it should.
std::vector<std::string> Notices(const std::string& name, const std::string& path, const ZoneFiles& files,
                                 const ZonefsLimits& limits, const std::string& disk) {
  std::vector<std::string> notices;
  // zonefs ignores the option if the device has no limits.
  const bool limited = limits.kept_by_zonefs && (limits.max_open != 0 || limits.max_active != 0);
  const auto active = [&disk] { return ActiveZoneFiles(disk); };
  if (limited && IsExplicitOpen(files, active, limits.max_active) == false) {
    notices.push_back(
        fmt::format("{} is mounted without explicit-open: a write that exceeds the limit of zones then makes "
                    "zonefs read-only instead of waiting; as root: mount -o remount,explicit-open {}",
                    name, path));
  }
  if (!limits.known) {
    notices.push_back(fmt::format(
        "{}: the kernel does not report the limits of open and active zones; {} of each are assumed", name,
        ZonefsLimits::kDefault));
  }
  return notices;
}

}  // namespace

std::vector<OptionText> ZonefsOptionTexts() { return TextsOf(kOptions); }

Result<ZonefsOptions> TakeZonefsOptions(const DeviceOptions& given, DeviceOptions* unclaimed) {
  return TakeOptions(kOptions, given, unclaimed);
}

Result<std::unique_ptr<ZonedDevice>> OpenZonefs(const std::string& mountpoint, OpenMode mode,
                                                const ZonefsOptions& options) {
  ZENFS_ASSIGN_OR_RETURN(const std::string path, FindMountpoint(mountpoint));
  ZoneFileDevice::Parts parts;
  parts.name = "zonefs:" + path;
  parts.mode = mode;
  parts.io_uring = options.io_uring;
  ZENFS_ASSIGN_OR_RETURN(std::unique_ptr<ZoneDirectory> directory, OpenDirectory(parts.name, path));
  const dev_t device = directory->device();
  const auto facts = ReadBlockFacts(device);
  parts.identity = "zonefs:" + (facts ? facts->identity : fmt::format("{}:{}", major(device), minor(device)));
  parts.owner = directory->owner();
  parts.volatile_cache = !facts || facts->volatile_cache;
  const std::string disk = facts ? facts->name : "";
  const ZonefsLimits limits = ReadZonefsLimits(disk, facts ? &*facts : nullptr);
  parts.limits = {.open = limits.max_open, .active = limits.max_active};
  if (mode == OpenMode::kReadOnly) {
    ZENFS_RETURN_IF_ERROR(directory->CheckPermission(false));
  } else {
    ZENFS_RETURN_IF_ERROR(CheckForWriting(parts.name, path, *directory));
    ZENFS_RETURN_IF_ERROR(CheckWrites(parts.name, options.io_uring, KernelRelease()));
    parts.plain_writes = !SpoilsPlainWrites(KernelRelease());
    if (facts) ZENFS_RETURN_IF_ERROR(CheckWriteOrder(parts.name, *facts));
    if (facts) parts.longest_write = LongestWrite(*facts);
    parts.notices = Notices(parts.name, path, *directory, limits, disk);
  }
  parts.files = std::move(directory);
  return ZoneFileDevice::Create(std::move(parts));
}

}  // namespace zenfs
