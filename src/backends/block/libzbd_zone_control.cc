#include <cerrno>

#include "backends/block/kernel_zone.h"
#include "backends/block/zone_control.h"

#ifdef ZENFS_LIBZBD
#include <fcntl.h>
#include <libzbd/zbd.h>

#include <algorithm>
#include <vector>

#include "base/unique_fd.h"
#endif

namespace zenfs {

#ifdef ZENFS_LIBZBD
namespace {

constexpr std::size_t kReportLimit = 4096;  // zones per call
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

  CommandResult Reset(std::uint64_t start, std::uint64_t length) override {
    return Send(ZBD_OP_RESET, start, length);
  }
  CommandResult Finish(std::uint64_t start, std::uint64_t length) override {
    return Send(ZBD_OP_FINISH, start, length);
  }
  CommandResult Open(std::uint64_t start, std::uint64_t length) override {
    return Send(ZBD_OP_OPEN, start, length);
  }
  CommandResult Close(std::uint64_t start, std::uint64_t length) override {
    return Send(ZBD_OP_CLOSE, start, length);
  }

 private:
  CommandResult Send(zbd_zone_op command, std::uint64_t start, std::uint64_t length) {
    errno = 0;
    return {.os_errno = ErrnoOf(
                zbd_zones_operation(fd_, command, static_cast<off_t>(start), static_cast<off_t>(length)))};
  }

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
