// Determines from the zone's report what happened to a write that the kernel reported as failed.
//
// Threads: no state.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/status.h"
#include "device/zone_info.h"

namespace zenfs {

struct FailedWrite {
  DeviceOffset offset;
  std::uint64_t length = 0;            // bytes
  DeviceOffset pointer;                // the zone's write pointer before the write
  int os_errno = 0;                    // 0: a short write without an error
  const char* status = nullptr;        // of a failed NVMe command: its name, a static string
  std::string_view command = "write";  // for messages
};

// True if the write pointer is where it would be after a complete write. The driver may have
// repeated a command that had succeeded, and the repetition failed (device-assumptions 5). Then
// compare the bytes.
[[nodiscard]] bool MayHaveLanded(const FailedWrite& write, const ZoneInfo& zone);

// True if the write failed with an I/O error at the write pointer and moved nothing. From Linux 6.10 on the kernel refuses a
// write so if its own idea of the write pointer is stale, because commands of the drive have moved it since; the refusal
// makes it ask the drive. So a repetition succeeds.
[[nodiscard]] bool WasRefusedUnwritten(const FailedWrite& write, const ZoneInfo& zone);

// The error for a write whose data is not on the device. `zone` was reported after the write.
// Errors: kBusy, kZoneFull, kReadOnly, kNotFound (offline), kInvalidArgument (not at the write
// pointer), kIo.
[[nodiscard]] Error DescribeFailedWrite(const std::string& device, const FailedWrite& write,
                                        const ZoneInfo& zone);

// The error of a write or append to a zone that takes none in its present condition; none if it takes some. `what` failed, with
// `os_errno`; `zone` was reported after it.
[[nodiscard]] std::optional<Error> ClosedToWrites(const std::string& what, int os_errno,
                                                  const ZoneInfo& zone);

// True for a limit of open or active zones (block layer: BLK_STS_ZONE_OPEN_RESOURCE,
// BLK_STS_ZONE_ACTIVE_RESOURCE).
[[nodiscard]] bool IsZoneLimit(int os_errno);

}  // namespace zenfs
