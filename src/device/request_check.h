// Checks the ranges and alignment that device/zoned_device.h requires of a request. For devices without a kernel that
// checks them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/bytes.h"
#include "base/status.h"
#include "device/geometry.h"
#include "device/zoned_device.h"

namespace zenfs {

// kInvalidArgument unless `offset` is the start of a block of the device. `what` names the command in the message.
[[nodiscard]] Status CheckOffset(const std::string& name, const Geometry& geometry, std::string_view what,
                                 DeviceOffset offset);

// kInvalidArgument unless the length of `bytes` is a multiple of the block size and its address aligned to it
// (to at most AlignedBuffer::kAlignment).
[[nodiscard]] Status CheckBuffer(const std::string& name, const Geometry& geometry, std::string_view what,
                                 ByteView bytes);

// The zone in which CommitRandom(`to`) moves the write pointer: `to` may be its end, which is the start of the next one.
// kInvalidArgument unless `to` is the end of a block of the device.
[[nodiscard]] Result<ZoneId> CheckCommit(const std::string& name, const Geometry& geometry, DeviceOffset to);

// kNotSupported if the device can't copy; kInvalidArgument unless both ranges are blocks of the device that no end of a zone
// divides, and `length` is at most max_copy_bytes.
[[nodiscard]] Status CheckCopy(const std::string& name, const Geometry& geometry, DeviceOffset from,
                               DeviceOffset to, std::uint64_t length);

// kInvalidArgument unless the device has `zone`.
[[nodiscard]] Status CheckZoneId(const std::string& name, const Geometry& geometry, ZoneId zone);

// kInvalidArgument unless the device has `count` zones from `first`.
[[nodiscard]] Status CheckZoneRange(const std::string& name, const Geometry& geometry, ZoneId first,
                                    std::uint32_t count);

// A Copy for devices that exist only in this process or its files: checks the request, then reads and writes: the same effects, errors and outcomes as those of both.
// kNotSupported if device.geometry().max_copy_bytes is 0.
[[nodiscard]] Status CopyByHost(ZonedDevice& device, DeviceOffset from, DeviceOffset to,
                                std::uint64_t length);

}  // namespace zenfs
