#include "backends/block/zone_control.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/blkzoned.h>
#include <linux/types.h>
#include <sys/ioctl.h>

#include <algorithm>
#include <cerrno>
#include <vector>

#include "base/unique_fd.h"

#ifdef ZENFS_LIBZBD
#include <libzbd/zbd.h>
#endif

namespace zenfs {
namespace {

ZoneType TypeOf(unsigned type) {
  switch (type) {
    case BLK_ZONE_TYPE_CONVENTIONAL: return ZoneType::kConventional;
    case BLK_ZONE_TYPE_SEQWRITE_REQ: return ZoneType::kSequentialRequired;
    default: return ZoneType::kSequentialPreferred;
  }
}

ZoneCondition ConditionOf(unsigned condition) {
  switch (condition) {
    case BLK_ZONE_COND_NOT_WP: return ZoneCondition::kNotWritePointer;
    case BLK_ZONE_COND_EMPTY: return ZoneCondition::kEmpty;
    case BLK_ZONE_COND_IMP_OPEN: return ZoneCondition::kImplicitlyOpen;
    case BLK_ZONE_COND_EXP_OPEN: return ZoneCondition::kExplicitlyOpen;
    case BLK_ZONE_COND_CLOSED: return ZoneCondition::kClosed;
    case BLK_ZONE_COND_FULL: return ZoneCondition::kFull;
    case BLK_ZONE_COND_READONLY: return ZoneCondition::kReadOnly;
    default: return ZoneCondition::kOffline;
  }
}

}  // namespace

ReportedZone FromKernel(const KernelZone& zone) {
  return {.info = {.type = TypeOf(zone.type),
                   .condition = ConditionOf(zone.condition),
                   .start = DeviceOffset(zone.start),
                   .capacity = zone.capacity,
                   .write_pointer = DeviceOffset(zone.write_pointer),
                   .random_area = zone.random_area},
          .length = zone.length};
}

Result<std::vector<ReportedZone>> ReportZones(ZoneControl& control, const std::string& device,
                                              std::uint64_t zone_size, ZoneId first, std::uint32_t count) {
  std::vector<ReportedZone> zones(count);
  std::size_t have = 0;
  while (have < count) {
    std::size_t more = 0;
    const std::uint64_t start = (first.value + have) * zone_size;
    const CommandResult result = control.Report(start, std::span(zones).subspan(have), more);
    if (!result.ok()) {
      return FailErrno(result.os_errno,
                       WithStatus(fmt::format("{}: the report of its zones, from zone {} on, failed", device,
                                              first.value + have),
                                  result.status));
    }
    if (more == 0) {
      return Fail(Code::kCorruption, fmt::format("{} reports {} zones from zone {} on, {} were expected",
                                                 device, have, first.value, count));
    }
    have += more;
  }
  for (std::uint32_t i = 0; i < count; ++i) zones[i].info.id = ZoneId(first.value + i);
  return zones;
}

namespace {

constexpr std::uint64_t kSector = 512;      // unit of the ioctls, in bytes
constexpr std::size_t kReportLimit = 4096;  // zones per call; 256 KiB of reports

class IoctlZoneControl final : public ZoneControl {
 public:
  explicit IoctlZoneControl(UniqueFd fd) : fd_(std::move(fd)) {}

  int fd() const override { return fd_.get(); }

  CommandResult Report(std::uint64_t start, std::span<ReportedZone> zones, std::size_t& count) override {
    const std::size_t wanted = std::min(zones.size(), kReportLimit);
    // An array of 64-bit words, for the alignment of the kernel's structures.
    std::vector<std::uint64_t> memory((sizeof(blk_zone_report) + wanted * sizeof(blk_zone)) /
                                      sizeof(std::uint64_t));
    auto* const report = reinterpret_cast<blk_zone_report*>(memory.data());
    report->sector = start / kSector;
    report->nr_zones = static_cast<__u32>(wanted);
    if (::ioctl(fd_.get(), BLKREPORTZONE, report) != 0) return {.os_errno = errno};
    count = std::min<std::size_t>(report->nr_zones, wanted);
    const bool has_capacity = (report->flags & BLK_ZONE_REP_CAPACITY) != 0;  // Linux 5.9
    for (std::size_t i = 0; i < count; ++i) {
      const blk_zone& zone = report->zones[i];
      zones[i] = FromKernel({.start = zone.start * kSector,
                             .length = zone.len * kSector,
                             .capacity = (has_capacity ? zone.capacity : zone.len) * kSector,
                             .write_pointer = zone.wp * kSector,
                             .type = zone.type,
                             .condition = zone.cond});
    }
    return {};
  }

  CommandResult Send(Command command, std::uint64_t start, std::uint64_t length) override {
    static constexpr unsigned long kRequests[] = {BLKRESETZONE, BLKFINISHZONE, BLKOPENZONE, BLKCLOSEZONE};
    blk_zone_range range{.sector = start / kSector, .nr_sectors = length / kSector};
    return {.os_errno =
                ::ioctl(fd_.get(), kRequests[static_cast<std::size_t>(command)], &range) == 0 ? 0 : errno};
  }

 private:
  const UniqueFd fd_;
};

}  // namespace

std::unique_ptr<ZoneControl> OpenByIoctl(const std::string& path, int flags) {
  UniqueFd fd = UniqueFd::Opened([&] { return ::open(path.c_str(), flags); });
  if (!fd.valid()) return nullptr;
  return std::make_unique<IoctlZoneControl>(std::move(fd));
}

#ifdef ZENFS_LIBZBD
namespace {

// Well below the 1024 entries of libzbd's table, so that descriptors that other threads open
// meanwhile do not exceed it.
constexpr int kDescriptorLimit = 768;

// True if the kernel's next descriptor, which is the lowest free number, is below the limit.
bool NextDescriptorIsLow() {
  const UniqueFd next(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  return next.valid() && next.get() < kDescriptorLimit;
}

// libzbd returns -1 or a negative errno, and leaves errno as the kernel set it.
int ErrnoOf(int answer) {
  if (answer == 0) return 0;
  if (answer < -1) return -answer;
  return errno == 0 ? EIO : errno;
}

class LibzbdZoneControl final : public ZoneControl {
 public:
  explicit LibzbdZoneControl(int fd) : fd_(fd) { DescriptorRegistry::Add(fd); }
  ~LibzbdZoneControl() override {
    const DescriptorRegistry::ForkBarrier barrier;
    DescriptorRegistry::Remove(fd_);
    zbd_close(fd_);
  }
  LibzbdZoneControl(const LibzbdZoneControl&) = delete;
  LibzbdZoneControl& operator=(const LibzbdZoneControl&) = delete;

  int fd() const override { return fd_; }

  CommandResult Report(std::uint64_t start, std::span<ReportedZone> zones, std::size_t& count) override {
    std::vector<zbd_zone> found(std::min(zones.size(), kReportLimit));
    auto number = static_cast<unsigned>(found.size());
    errno = 0;
    const int answer = zbd_report_zones(fd_, static_cast<off_t>(start), 0, ZBD_RO_ALL, found.data(), &number);
    if (answer != 0) return {.os_errno = ErrnoOf(answer)};
    count = std::min<std::size_t>(number, found.size());
    for (std::size_t i = 0; i < count; ++i) {
      const zbd_zone& zone = found[i];
      zones[i] = FromKernel({.start = zone.start,
                             .length = zone.len,
                             .capacity = zone.capacity,
                             .write_pointer = zone.wp,
                             .type = zone.type,
                             .condition = zone.cond});
    }
    return {};
  }

  CommandResult Send(Command command, std::uint64_t start, std::uint64_t length) override {
    static constexpr zbd_zone_op kOperations[] = {ZBD_OP_RESET, ZBD_OP_FINISH, ZBD_OP_OPEN, ZBD_OP_CLOSE};
    errno = 0;
    return {.os_errno = ErrnoOf(zbd_zones_operation(fd_, kOperations[static_cast<std::size_t>(command)],
                                                    static_cast<off_t>(start), static_cast<off_t>(length)))};
  }

 private:
  const int fd_;
};

}  // namespace

std::unique_ptr<ZoneControl> OpenByLibzbd(const std::string& path, int flags) {
  if (!NextDescriptorIsLow()) {
    errno = ENOTSUP;
    return nullptr;
  }
  // As a library inside another program, do not write to its standard error.
  zbd_set_log_level(ZBD_LOG_NONE);
  const DescriptorRegistry::ForkBarrier barrier;
  errno = 0;
  const int fd = zbd_open(path.c_str(), flags, nullptr);
  if (fd < 0) {
    errno = ErrnoOf(fd);
    return nullptr;
  }
  return std::make_unique<LibzbdZoneControl>(fd);
}
#else
std::unique_ptr<ZoneControl> OpenByLibzbd(const std::string&, int) {
  errno = ENOTSUP;
  return nullptr;
}
#endif

}  // namespace zenfs
