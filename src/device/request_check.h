// What every device asks of a request before it looks at its zones: the alignment that device/zoned_device.h
// states. Shared by the devices that have no kernel to check it for them.
#pragma once

#include <string>
#include <string_view>

#include "base/bytes.h"
#include "base/status.h"
#include "device/geometry.h"

namespace zenfs {

// kInvalidArgument unless `offset` is a block's and on the device. `what` is the command, for the message.
[[nodiscard]] Status CheckOffset(const std::string& name, const Geometry& geometry, std::string_view what,
                                 DeviceOffset offset);

// kInvalidArgument unless the length of `bytes` is a multiple of the block size and its address aligned to it
// (to at most AlignedBuffer::kAlignment).
[[nodiscard]] Status CheckBuffer(const std::string& name, const Geometry& geometry, std::string_view what,
                                 ByteView bytes);

// kInvalidArgument unless the device has `zone`.
[[nodiscard]] Status CheckZoneId(const std::string& name, const Geometry& geometry, ZoneId zone);

// kInvalidArgument unless the device has `count` zones from `first` on.
[[nodiscard]] Status CheckZoneRange(const std::string& name, const Geometry& geometry, ZoneId first,
                                    std::uint32_t count);

}  // namespace zenfs
