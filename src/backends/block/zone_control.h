// The five calls that manage the zones of a block device, and the open device that they go to. Two implementations:
// libzbd, and the kernel's ioctls (linux/blkzoned.h) for builds that must do without an LGPL-3.0 library.
//
// Units: bytes. Commands return 0 or an errno. Threads: safe from any thread.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "device/zone_info.h"

namespace zenfs {

// A zone as the kernel reports it.
struct ReportedZone {
  ZoneInfo info;             // without its id
  std::uint64_t length = 0;  // bytes; the last zone of a device may be shorter than the others
};

class ZoneControl {
 public:
  virtual ~ZoneControl() = default;

  // The open device, for its data. Closed with this object.
  virtual int fd() const = 0;

  // Fills `zones` from the zone at `start` on; `count` gets how many there are, fewer than asked for where the device
  // ends or the kernel gives them in parts.
  [[nodiscard]] virtual int Report(std::uint64_t start, std::span<ReportedZone> zones,
                                   std::size_t& count) = 0;
  [[nodiscard]] virtual int Reset(std::uint64_t start, std::uint64_t length) = 0;
  [[nodiscard]] virtual int Finish(std::uint64_t start, std::uint64_t length) = 0;
  [[nodiscard]] virtual int Open(std::uint64_t start, std::uint64_t length) = 0;
  [[nodiscard]] virtual int Close(std::uint64_t start, std::uint64_t length) = 0;
};

// Open the zoned device `path` with the flags of open(2); nullptr and errno set if that fails.
[[nodiscard]] std::unique_ptr<ZoneControl> OpenByIoctl(const std::string& path, int flags);
// nullptr and ENOTSUP where libzbd is not built in, or this process has so many files open that libzbd would crash: it
// keeps descriptors in a table of 1024 and does not look at its end (seen with 2.0.4).
[[nodiscard]] std::unique_ptr<ZoneControl> OpenByLibzbd(const std::string& path, int flags);

}  // namespace zenfs
