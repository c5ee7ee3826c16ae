// What a write that the kernel reports as failed has come to, told from the zone's report.
//
// Threads: no state.
#pragma once

#include <cstdint>
#include <string>

#include "base/status.h"
#include "device/zone_info.h"

namespace zenfs {

struct FailedWrite {
  DeviceOffset offset;
  std::uint64_t length = 0;  // bytes
  DeviceOffset pointer;      // the zone's write pointer before it
  int os_errno = 0;          // 0: the kernel wrote less than asked and gave no reason
};

// Whether the write pointer stands as if all of `write` had been carried out: the driver may have repeated a command
// that had landed, which then fails (device-assumptions 5). Only the bytes themselves can tell.
[[nodiscard]] bool MayHaveLanded(const FailedWrite& write, const ZoneInfo& zone);

// The error of a write that has not landed. `zone` is reported after it. Errors: kBusy, kZoneFull, kReadOnly, kNotFound
// (offline), kInvalidArgument (not at the write pointer), kIo.
[[nodiscard]] Error DescribeFailedWrite(const std::string& device, const FailedWrite& write,
                                        const ZoneInfo& zone);

// A limit of open or active zones was reached (block layer: BLK_STS_ZONE_OPEN_RESOURCE, BLK_STS_ZONE_ACTIVE_RESOURCE).
[[nodiscard]] bool IsZoneLimit(int os_errno);

}  // namespace zenfs
