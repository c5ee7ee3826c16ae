// The checksum of an extent that is cut.
#pragma once

#include <optional>
#include <span>

#include "device/zoned_device.h"
#include "model/file_record.h"

namespace zenfs {

// A cut that takes more than this from an extent reads nothing and leaves the rest without a checksum: a file that is
// deleted piece by piece must not be read for it.
inline constexpr std::uint64_t kReadForCutMax = 256 << 10;

// Of the first `length` bytes of `extent`, 0 < length <= extent.length: from the extent's own, and from what the device
// has behind them, which is read for it. So it fits the bytes that stay exactly if the extent's fitted all of them:
// damage that a scrub would have found before the cut, it finds behind it. Not known if the extent has no checksum, if more
// than kReadForCutMax bytes go, or if they can't be read.
//
// Do not call this under a lock. Whoever can tell the checksum of what goes without reading, uses Crc32cFront.
[[nodiscard]] KnownCrc CrcOfFront(ZonedDevice& device, const Extent& extent, std::uint64_t length);

// Reads all of `extent`. True if it has no checksum; false if it can't be read.
[[nodiscard]] bool FitsChecksum(ZonedDevice& device, const Extent& extent);

// What stays of the one of `extents` that a cut at file offset `end` divides, with its checksum as above.
[[nodiscard]] std::optional<Extent> FrontOfDivided(ZonedDevice& device, std::span<const Extent> extents,
                                                   std::uint64_t end);

}  // namespace zenfs
