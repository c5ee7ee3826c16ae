// An open block device and the calls that manage its zones. Implementations: with libzbd, with the kernel's ioctls
// (linux/blkzoned.h) for builds without an LGPL-3.0 library, and with NVMe commands (nvme/nvme_commands.h), alone or
// beside one of the others.
//
// Units: bytes. Threads: safe from any thread.
#pragma once

#include <cerrno>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "backends/host/plain_io.h"
#include "base/status.h"
#include "device/zone_info.h"

namespace zenfs {

// A zone in the kernel's report.
struct ReportedZone {
  ZoneInfo info;             // without its id
  std::uint64_t length = 0;  // bytes; the last zone of a device may be shorter than the others
};

class ZoneControl {
 public:
  // The implementations have tables in this order.
  enum class Command : std::uint8_t { kReset, kFinish, kOpen, kClose };

  virtual ~ZoneControl() = default;

  // The file descriptor of the block device. Closed with this object.
  virtual int fd() const = 0;

  // Fills `zones` from the zone at `start` on. Sets `count` to the number of zones filled; it is
  // less than zones.size() at the end of the device, or if the kernel returns its report in parts.
  [[nodiscard]] virtual CommandResult Report(std::uint64_t start, std::span<ReportedZone> zones,
                                             std::size_t& count) = 0;
  // Sends the command to the zone at `start`, which is `length` bytes long.
  [[nodiscard]] virtual CommandResult Send(Command command, std::uint64_t start, std::uint64_t length) = 0;
  // ZonedDevice::OpenRandom and CommitRandom. The kernel has no call for them.
  [[nodiscard]] virtual CommandResult OpenRandom(std::uint64_t /*start*/) { return {.os_errno = EOPNOTSUPP}; }
  [[nodiscard]] virtual CommandResult CommitRandom(std::uint64_t /*to*/) { return {.os_errno = EOPNOTSUPP}; }
};

// Returns exactly `count` zones of `zone_size` bytes from `first` on. Errors: by the errno, such as
// kIo; kCorruption if the device reports fewer zones.
[[nodiscard]] Result<std::vector<ReportedZone>> ReportZones(ZoneControl& control, const std::string& device,
                                                            std::uint64_t zone_size, ZoneId first,
                                                            std::uint32_t count);

// Opens the zoned device `path` with the flags of open(2). Returns nullptr and sets errno on
// failure.
[[nodiscard]] std::unique_ptr<ZoneControl> OpenByIoctl(const std::string& path, int flags);
// Returns nullptr and sets ENOTSUP if libzbd is not built in, or if this process has so many open
// files that libzbd would crash: it keeps descriptors in a table of 1024 and does not check its
// bounds (seen with 2.0.4).
[[nodiscard]] std::unique_ptr<ZoneControl> OpenByLibzbd(const std::string& path, int flags);

// The kernel's numbers for zone types and conditions (linux/blkzoned.h); libzbd and NVMe have the same.
struct KernelZone {
  std::uint64_t start = 0;  // in bytes, like the other members
  std::uint64_t length = 0;
  std::uint64_t capacity = 0;
  std::uint64_t write_pointer = 0;
  unsigned type = 0;
  unsigned condition = 0;
  bool random_area = false;  // only the drive tells it, not the kernel
};

// An unknown condition counts as offline, so that the zone is neither read nor written.
[[nodiscard]] ReportedZone FromKernel(const KernelZone& zone);

}  // namespace zenfs
