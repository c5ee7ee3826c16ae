#include <fcntl.h>
#include <linux/blkzoned.h>
#include <linux/types.h>
#include <sys/ioctl.h>

#include <algorithm>
#include <cerrno>
#include <vector>

#include "backends/block/kernel_zone.h"
#include "backends/block/zone_control.h"
#include "base/unique_fd.h"

namespace zenfs {
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

  CommandResult Reset(std::uint64_t start, std::uint64_t length) override {
    return Send(BLKRESETZONE, start, length);
  }
  CommandResult Finish(std::uint64_t start, std::uint64_t length) override {
    return Send(BLKFINISHZONE, start, length);
  }
  CommandResult Open(std::uint64_t start, std::uint64_t length) override {
    return Send(BLKOPENZONE, start, length);
  }
  CommandResult Close(std::uint64_t start, std::uint64_t length) override {
    return Send(BLKCLOSEZONE, start, length);
  }

 private:
  CommandResult Send(unsigned long command, std::uint64_t start, std::uint64_t length) {
    blk_zone_range range{.sector = start / kSector, .nr_sectors = length / kSector};
    return {.os_errno = ::ioctl(fd_.get(), command, &range) == 0 ? 0 : errno};
  }

  const UniqueFd fd_;
};

}  // namespace

std::unique_ptr<ZoneControl> OpenByIoctl(const std::string& path, int flags) {
  UniqueFd fd = UniqueFd::Opened([&] { return ::open(path.c_str(), flags); });
  if (!fd.valid()) return nullptr;
  return std::make_unique<IoctlZoneControl>(std::move(fd));
}

}  // namespace zenfs
