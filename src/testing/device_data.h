// Data for tests of devices: patterns that identify their place, and reading them back.
#pragma once

#include <cstdint>

#include "base/aligned_buffer.h"
#include "device/zoned_device.h"

namespace zenfs {

// `size` bytes that differ for every seed and for every 8 bytes.
[[nodiscard]] AlignedBuffer Pattern(std::size_t size, std::uint64_t seed);

// `size` bytes at `offset`, or the device's error.
[[nodiscard]] Result<AlignedBuffer> ReadBack(ZonedDevice& device, DeviceOffset offset, std::size_t size);

// True if length and bytes are equal.
[[nodiscard]] bool SameBytes(ByteView a, ByteView b);

// The report of one zone.
[[nodiscard]] ZoneInfo ReportOf(ZonedDevice& device, ZoneId zone);

}  // namespace zenfs
